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


def parse_shift(text: str) -> float:
    """Return the seconds of `2h`, later, or of `-30m`, earlier."""
    compact = text.strip()
    if compact.startswith("-"):
        return -parse_delay(compact[1:])
    return parse_delay(compact.removeprefix("+"))


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


def parse_past(text: str) -> datetime:
    """Parse an instant in ISO 8601, or a time ago such as `2h`."""
    try:
        return now() - timedelta(seconds=parse_delay(text))
    except (typer.BadParameter, OverflowError):
        return parse_instant(text)


def parse_coming(text: str) -> datetime:
    """Parse an instant in ISO 8601, a time to come such as `2h` or `in 2h`, or `2h ago`."""
    distance = re.fullmatch(r"(in )?(.+?)( ago)?", text.strip(), re.IGNORECASE)
    if distance is None or (distance[1] and distance[3]):
        raise typer.BadParameter(f"{text!r} is no time: write 2h, in 2h, 2h ago, or an instant")
    try:
        seconds = parse_delay(distance[2])
        return now() + timedelta(seconds=-seconds if distance[3] else seconds)
    except (typer.BadParameter, OverflowError):
        return parse_instant(text)


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
    """`1,234 ms`; below 100 ms with a decimal, since lateness is typically that small. `5 m` from
    a minute on."""
    number = distance / timedelta(milliseconds=1)
    if abs(number) >= 60_000:
        return f"{'-' * (number < 0)}{amount(abs(distance.total_seconds()))}"
    return f"{number:,.1f} ms" if abs(number) < 100 else f"{number:,.0f} ms"


def iso(instant: datetime) -> str:
    """ISO 8601 in UTC, with Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
