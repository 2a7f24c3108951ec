"""Quiet hours of a subscription: what is not critical waits for their end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from duetime.errors import InvalidArgument
from duetime.model.clock import from_micros, to_micros
from duetime.words.phrase import phrase

FORM = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of day until another, which may be that of the next morning."""

    start: time
    end: time

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"

    def end_after(self, now: int, zone: tzinfo) -> int | None:
        """Return the instant at which quiet hours that last now are over, in microseconds; None if
        it is not quiet now."""
        local = from_micros(now).astimezone(zone)
        if not self._contains(local.time()):
            return None
        days = 1 if self.start > self.end and local.time() >= self.start else 0
        end = datetime.combine(local.date() + timedelta(days=days), self.end, zone)
        # An end in the gap of a clock change, or in a repeated hour, must not lie before now.
        return max(to_micros(end.astimezone(UTC)), now + 1)

    def _contains(self, moment: time) -> bool:
        if self.start < self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end


def to_quiet_hours(value: str | None) -> QuietHours | None:
    """Return quiet hours written as `22:00-07:00`."""
    if value is None:
        return None
    found = FORM.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[0][:5] == found[0][6:]:
        remedy = phrase("give two different times of day, such as 22:00-07:00")
        raise InvalidArgument("quiet", value, remedy)
    first, second, third, fourth = (int(part) for part in found.groups())
    return QuietHours(time(first, second), time(third, fourth))
