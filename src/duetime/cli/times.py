"""Parses and formats times and durations for the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import typer

from duetime.model.clock import SystemClock
from duetime.model.validation import amount

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
DELAY_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
MAX_DELAY_SECONDS = 365_250 * 86_400.0


def parse_delay(text: str) -> float:
    """Return the seconds of `90s`, `5m`, `2h`, `1d`, `1h30m`, or of a bare number."""
    compact = text.strip().lower().replace(" ", "")
    if re.fullmatch(r"\d+(\.\d+)?", compact):
        compact += "s"
    if not re.fullmatch(f"({DELAY_PART.pattern})+", compact):
        raise typer.BadParameter(f"{text!r} is not a delay: write 90s, 5m, 2h, 1d or 1h30m")
    seconds = sum(float(number) * UNITS[unit] for number, unit in DELAY_PART.findall(compact))
    if seconds > MAX_DELAY_SECONDS:
        raise typer.BadParameter(f"{text!r} is more than a thousand years")
    return seconds


def parse_instant(text: str) -> datetime:
    """Parse an instant in ISO 8601, which must include its zone."""
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a date: write ISO 8601 with a zone, such as 2030-01-31T09:00:00+01:00"
        ) from None
    if instant.tzinfo is None:
        raise typer.BadParameter(
            f"{text!r} has no time zone: add Z for UTC, or an offset such as +01:00"
        )
    return instant


def now() -> datetime:
    return SystemClock().now()


def shown(instant: datetime | None, at: datetime, between: str = ", ") -> str:
    """Local time with its zone and its distance from `at`; with the date unless it is today."""
    if instant is None:
        return "-"
    local = instant.astimezone()
    form = "%H:%M:%S %Z" if local.date() == at.astimezone().date() else "%Y-%m-%d %H:%M:%S %Z"
    return f"{local.strftime(form)}{between}{relative(instant - at)}"


def relative(distance: timedelta) -> str:
    """`in 3 m`, `2 h ago`, `now`."""
    seconds = distance.total_seconds()
    size = amount(round(abs(seconds)))
    if abs(seconds) < 0.5:
        return "now"
    return f"in {size}" if seconds > 0 else f"{size} ago"


def milliseconds(distance: timedelta) -> str:
    """`1,234 ms`; below 100 ms with a decimal, since lateness is typically that small."""
    number = distance / timedelta(milliseconds=1)
    return f"{number:,.1f} ms" if abs(number) < 100 else f"{number:,.0f} ms"


def iso(instant: datetime) -> str:
    """ISO 8601 in UTC, with Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
