"""Retry policies: when a failed attempt is repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from duetime.errors import InvalidArgument
from duetime.model.validation import check_count, seconds

MAX_ATTEMPTS = 30_000
MAX_DELAY_SECONDS = 366 * 24 * 3600.0


@dataclass(frozen=True, slots=True, init=False)
class Retry:
    """Exponential backoff up to `max_delay`, or explicit delays; `attempts` includes the first."""

    attempts: int
    delay: float
    factor: float
    max_delay: float
    jitter: bool
    delays: tuple[float, ...] | None

    def __init__(
        self,
        attempts: int | None = None,
        delay: float | timedelta = 1.0,
        factor: float = 2.0,
        max_delay: float | timedelta = 300,
        jitter: bool = True,
        *,
        delays: Sequence[float | timedelta] | None = None,
    ) -> None:
        if delays is not None and attempts is not None:
            raise InvalidArgument(
                "attempts", attempts, "give either attempts= or delays=, one for each retry"
            )
        explicit = None if delays is None else tuple(_delay_seconds("delays", d) for d in delays)
        tries = check_count("attempts", 3 if attempts is None else attempts, MAX_ATTEMPTS)
        _set(self, "attempts", tries if explicit is None else len(explicit) + 1)
        _set(self, "delay", _delay_seconds("delay", delay))
        _set(self, "factor", _factor(factor))
        _set(self, "max_delay", _delay_seconds("max_delay", max_delay))
        _set(self, "jitter", jitter and explicit is None)
        _set(self, "delays", explicit)

    @classmethod
    def none(cls) -> Retry:
        """One attempt, no retry."""
        return cls(attempts=1)

    def pause(self, tries: int, chance: float) -> float | None:
        """Return the seconds to wait after failed try number `tries`, or None after the last one.

        `chance` in [0, 1) is the jitter: it only adds to the pause, by up to half of it.
        """
        if tries >= self.attempts:
            return None
        if self.delays is not None:
            return self.delays[tries - 1]
        pause = min(_grown(self.delay, self.factor, tries - 1), self.max_delay)
        return min(pause * (1 + chance / 2), self.max_delay) if self.jitter else pause


def _set(retry: Retry, name: str, value: object) -> None:
    object.__setattr__(retry, name, value)


def _delay_seconds(argument: str, value: float | timedelta) -> float:
    return seconds(argument, value, maximum=MAX_DELAY_SECONDS)


def _factor(factor: float) -> float:
    number = isinstance(factor, int | float) and not isinstance(factor, bool)
    if not number or not math.isfinite(factor) or factor < 1:
        raise InvalidArgument("factor", factor, "give a finite number of at least 1")
    return float(factor)


def _grown(delay: float, factor: float, exponent: int) -> float:
    """Return the delay grown exponentially, infinity instead of an overflow."""
    if delay == 0:
        return 0.0
    try:
        return float(delay * factor**exponent)
    except OverflowError:
        return math.inf
