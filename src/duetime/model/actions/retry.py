"""When a failed attempt is tried again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from duetime.errors import InvalidArgument
from duetime.model.validation import check_count, seconds

MOST = 30_000
LONGEST = 366 * 24 * 3600.0


@dataclass(frozen=True, slots=True, init=False)
class Retry:
    """Backoff that saturates, or explicit delays. `attempts` counts the first try."""

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
                "attempts", attempts, "give either delays= or attempts=, the delays count them"
            )
        explicit = None if delays is None else tuple(_pause("delays", d) for d in delays)
        tries = check_count("attempts", 3 if attempts is None else attempts, MOST)
        _set(self, "attempts", tries if explicit is None else len(explicit) + 1)
        _set(self, "delay", _pause("delay", delay))
        _set(self, "factor", _factor(factor))
        _set(self, "max_delay", _pause("max_delay", max_delay))
        _set(self, "jitter", jitter and explicit is None)
        _set(self, "delays", explicit)

    @classmethod
    def none(cls) -> Retry:
        """One attempt, no retry."""
        return cls(attempts=1)

    def pause(self, tries: int, chance: float) -> float | None:
        """Seconds to wait after failed try number `tries`, or None when all are spent.

        `chance` in [0, 1) spreads the herd: jitter only ever adds, up to half the pause.
        """
        if tries >= self.attempts:
            return None
        if self.delays is not None:
            return self.delays[tries - 1]
        pause = min(_grown(self.delay, self.factor, tries - 1), self.max_delay)
        return min(pause * (1 + chance / 2), self.max_delay) if self.jitter else pause


def _set(retry: Retry, name: str, value: object) -> None:
    object.__setattr__(retry, name, value)


def _pause(argument: str, value: float | timedelta) -> float:
    return seconds(argument, value, most=LONGEST)


def _factor(factor: float) -> float:
    number = isinstance(factor, int | float) and not isinstance(factor, bool)
    if not number or not math.isfinite(factor) or factor < 1:
        raise InvalidArgument("factor", factor, "give a finite number of at least 1")
    return float(factor)


def _grown(delay: float, factor: float, exponent: int) -> float:
    """Saturates instead of overflowing: attempt 5,000 is as late as max_delay allows."""
    if delay == 0:
        return 0.0
    try:
        return float(delay * factor**exponent)
    except OverflowError:
        return math.inf
