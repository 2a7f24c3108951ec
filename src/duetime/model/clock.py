"""The one place that reads a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# In microseconds, as every store counts time.
SECOND = 1_000_000


@runtime_checkable
class Clock(Protocol):
    """What time it is. Handlers may ask for it by type; tests pass a FakeClock."""

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
        """Call `wake` whenever the time was moved; returns the way to stop that."""
        ...


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970: how every store keeps an instant."""
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def maybe_from_micros(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def maybe_micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def micros_of(seconds: float) -> int:
    """A length of time, to the nearest microsecond."""
    return round(seconds * SECOND)


def seconds_of(micros: float) -> float:
    return micros / SECOND


def unix_micros() -> int:
    """This machine's clock, for ids: they only need to be roughly in order of time."""
    return time.time_ns() // 1000


# Seconds that never step; only differences mean anything.
monotonic = time.monotonic
