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


ExceptionTypes = type[BaseException] | tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Retry:
    """Exponential backoff up to `max_delay`, or explicit delays; `attempts` includes the first.

    Only exceptions of the types `on` are retried (all of them if it is None), and none of the types
    `never`, which wins where both apply. Subclasses count.
    """

    attempts: int
    delay: float
    factor: float
    max_delay: float
    jitter: bool
    delays: tuple[float, ...] | None
    on: tuple[type[BaseException], ...] | None
    never: tuple[type[BaseException], ...]

    def __init__(
        self,
        attempts: int | None = None,
        delay: float | timedelta = 1.0,
        factor: float = 2.0,
        max_delay: float | timedelta = 300,
        jitter: bool = True,
        *,
        delays: Sequence[float | timedelta] | None = None,
        on: ExceptionTypes | None = None,
        never: ExceptionTypes = (),
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
        _set(self, "on", None if on is None else _exception_types("on", on))
        _set(self, "never", _exception_types("never", never))
        if self.on == ():
            raise InvalidArgument("on", on, "name at least one; Retry.none() retries nothing")

    @classmethod
    def none(cls) -> Retry:
        """One attempt, no retry."""
        return cls(attempts=1)

    def exhausted(self, tries: int) -> bool:
        """Return whether try number `tries` is the last one."""
        return tries >= self.attempts

    def pause(self, tries: int, chance: float) -> float | None:
        """Return the seconds to wait after failed try number `tries`, or None after the last one.

        `chance` in [0, 1) is the jitter: it only adds to the pause, by up to half of it.
        """
        if self.exhausted(tries):
            return None
        if self.delays is not None:
            return self.delays[tries - 1]
        pause = min(_grown(self.delay, self.factor, tries - 1), self.max_delay)
        return min(pause * (1 + chance / 2), self.max_delay) if self.jitter else pause

    def for_exceptions_of(self, other: Retry) -> Retry:
        """Return this policy for the exceptions that another one retries."""
        if self.delays is not None:
            return Retry(delays=self.delays, on=other.on, never=other.never)
        numbers = (self.attempts, self.delay, self.factor, self.max_delay, self.jitter)
        return Retry(*numbers, on=other.on, never=other.never)

    def covers(self, error: BaseException) -> bool:
        """Return whether an attempt that ended with this error may be followed by another."""
        return (self.on is None or isinstance(error, self.on)) and not isinstance(error, self.never)

    def __repr__(self) -> str:
        """Return the text that jobs store and show. The exceptions are only named: what is stored
        is never imported."""
        fields = ("attempts", "delay", "factor", "max_delay", "jitter", "delays")
        parts = [f"{name}={getattr(self, name)!r}" for name in fields]
        for name, types in (("on", self.on), ("never", self.never)):
            parts += [f"{name}={_names(types)}"] if types else []
        return f"Retry({', '.join(parts)})"


def _set(retry: Retry, name: str, value: object) -> None:
    object.__setattr__(retry, name, value)


def _delay_seconds(argument: str, value: float | timedelta) -> float:
    return seconds(argument, value, maximum=MAX_DELAY_SECONDS)


def _exception_types(argument: str, given: ExceptionTypes) -> tuple[type[BaseException], ...]:
    """Return the types, each once, in the order given."""
    types = given if isinstance(given, tuple) else (given,)
    for type_ in types:
        if not (isinstance(type_, type) and issubclass(type_, BaseException)):
            remedy = "give an exception class, or a tuple of them, such as (ConnectionError,)"
            raise InvalidArgument(argument, type_, remedy)
    return tuple(dict.fromkeys(types))


def _names(types: tuple[type[BaseException], ...]) -> str:
    names = [
        type_.__qualname__
        if type_.__module__ == "builtins"
        else f"{type_.__module__}.{type_.__qualname__}"
        for type_ in types
    ]
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


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
