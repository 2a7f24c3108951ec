"""Times of day of a cron expression: which seconds of a day match."""

from __future__ import annotations

from typing import NamedTuple

FULL = (1 << 60) - 1
ALL_DAY = (1 << 24) - 1


class Times(NamedTuple):
    """Bit n of each mask says whether n matches."""

    hours: int
    minutes: int
    seconds: int

    @property
    def earliest(self) -> int:
        """The first second of a day that matches."""
        return lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)

    @property
    def newest(self) -> int:
        """The last second of a day that matches."""
        return highest(self.hours) * 3600 + highest(self.minutes) * 60 + highest(self.seconds)

    def whole(self, step: int) -> int | None:
        """How many seconds around a match it has every `step`th of, a second or a minute: those
        of a day, an hour, or a minute."""
        full = self.seconds == FULL if step == 1 else self.seconds & 1
        if not full:
            return None
        if self.minutes != FULL:
            return 60 if step == 1 else None
        return 86_400 if self.hours == ALL_DAY else 3600

    def first(self, second: int) -> int | None:
        """The first match at or after this second of the day."""
        hour, rest = divmod(second, 3600)
        minute, second = divmod(rest, 60)
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1 and (later := self.seconds >> second):
                return hour * 3600 + minute * 60 + second + lowest(later)
            if later := self.minutes >> minute + 1:
                minute += 1 + lowest(later)
                return hour * 3600 + minute * 60 + lowest(self.seconds)
        if later := self.hours >> hour + 1:
            hour += 1 + lowest(later)
            return hour * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        return None

    def last(self, second: int) -> int | None:
        """The last match at or before this second of the day."""
        hour, rest = divmod(second, 3600)
        minute, second = divmod(rest, 60)
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1 and (earlier := upto(self.seconds, second)):
                return hour * 3600 + minute * 60 + highest(earlier)
            if earlier := upto(self.minutes, minute - 1):
                return hour * 3600 + highest(earlier) * 60 + highest(self.seconds)
        if earlier := upto(self.hours, hour - 1):
            hour = highest(earlier)
            return hour * 3600 + highest(self.minutes) * 60 + highest(self.seconds)
        return None


def lowest(mask: int) -> int:
    """The number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


def highest(mask: int) -> int:
    return mask.bit_length() - 1


def upto(mask: int, number: int) -> int:
    """The bits 0 to `number`, inclusive."""
    return mask & ((2 << number) - 1) if number >= 0 else 0


def bits(mask: int) -> list[int]:
    """The numbers of all bits that are set, in order."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
