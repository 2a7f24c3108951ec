"""Clocks and units of time. No other module reads the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# One second in microseconds, the unit of time in every store.
SECOND = 1_000_000


@runtime_checkable
class Clock(Protocol):
    """A source of the current time. Handlers may inject it by type; tests pass a FakeClock."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@runtime_checkable
class SettableClock(Clock, Protocol):
    """A clock that tests move. A store follows it instead of its own clock."""

    def on_change(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` whenever the time was moved; return a function that stops this."""
        ...


def to_micros(instant: datetime) -> int:
    """Return microseconds since 1970, the form in which every store keeps an instant."""
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


# The years of a datetime, 1 to 9999.
MIN_INSTANT = to_micros(datetime.min.replace(tzinfo=UTC))
MAX_INSTANT = to_micros(datetime.max.replace(tzinfo=UTC))
# What can be shown in every time zone: those years without their first and last day.
MIN_SHOWN_INSTANT = MIN_INSTANT + 86_400 * SECOND
MAX_SHOWN_INSTANT = MAX_INSTANT - 86_400 * SECOND


def nearest_micros(micros: int) -> int:
    """Return the instant, or the nearest that can be shown: a row may hold any number."""
    return min(max(micros, MIN_SHOWN_INSTANT), MAX_SHOWN_INSTANT)


def maybe_nearest(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(nearest_micros(micros))


def maybe_from_micros(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def maybe_micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def micros_of(seconds: float) -> int:
    """Return a duration in microseconds, rounded to the nearest."""
    return round(seconds * SECOND)


def seconds_of(micros: float) -> float:
    return micros / SECOND


def unix_micros() -> int:
    """Return this machine's time, for ids: they need to be ordered by time only roughly."""
    return time.time_ns() // 1000


def unix_nanos() -> int:
    """Return this machine's time, for spans, which others compare with spans of their own."""
    return time.time_ns()


# Seconds that never step; only differences mean anything.
monotonic = time.monotonic
