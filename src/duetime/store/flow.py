"""Flows: a store verb written once, for blocking and async connections alike.

A flow is a generator that yields statements, receives their rows and returns a value.
Whoever drives it owns the connection and the transaction; the flow knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")

Row = Sequence[object]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Statement:
    """One `.sql` file by name, and its parameters."""

    name: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Series:
    """Statements of which none needs the answer to another: where it can be, each is made while
    the server works on those before it, and so is whatever else is done between them. Their rows
    come one after the other. Their plan is worth keeping, and needs no pins."""

    statements: Iterable[Statement]


@dataclass(frozen=True, slots=True)
class Wake:
    """Work became due in a lane: tell sleeping workers once this has committed."""

    lane: str
    due_at: int
    now: int


Step = Statement | Series | Wake
Steps = Generator[Step, Rows, T]


class Mode(Enum):
    """What a flow needs around it."""

    read = "one or more reads"
    single = "one statement that changes anything, a transaction by itself"
    write = "one transaction"
    pinned = "one transaction with pinned plans"
    hot = "one statement with a pinned plan; what follows it may come after its commit"
    claim = "as hot, and its commit need not wait for the disk"


def extended(mode: Mode) -> Mode:
    """What a flow needs if more is done in its transaction."""
    return Mode.pinned if mode in (Mode.pinned, Mode.hot, Mode.claim) else Mode.write


@dataclass(frozen=True, slots=True)
class Together(Generic[T]):
    """What a verb asks for, and the verb that does the same for many such items at once: those
    that are asked for at the same time may share a transaction. None has to do with another."""

    item: Any
    many: Callable[[Sequence[Any]], Flow[Sequence[T]]]
    # How many characters are sent for it, more or less.
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Flow(Generic[T]):
    """A verb ready to be performed. Starting it again is safe until it was committed.

    `resend` marks verbs that settle by id and token whether they already happened, so
    that a lost reply may be answered by performing them again: as `resent`, where settling
    takes more than the first sending. After `within` seconds its answer is of no use.
    """

    start: Callable[[], Steps[T]]
    mode: Mode = Mode.write
    resend: bool = False
    resent: Flow[T] | None = None
    within: float | None = None
    together: Together[T] | None = None


def flow(
    mode: Mode = Mode.write, *, resend: bool = False
) -> Callable[[Callable[P, Steps[T]]], Callable[P, Flow[T]]]:
    """Turn a generator function into a verb that returns a Flow."""

    def make(steps: Callable[P, Steps[T]]) -> Callable[P, Flow[T]]:
        @wraps(steps)
        def verb(*args: P.args, **kwargs: P.kwargs) -> Flow[T]:
            return Flow(lambda: steps(*args, **kwargs), mode, resend)

        return verb

    return make


def continued(flow: Flow[T], more: Callable[[T], Steps[U]], mode: Mode | None = None) -> Flow[U]:
    """The same verb with more after it, in its transaction, however often it is sent. It is no
    longer done together with others: nobody would do for them what is added here."""

    def steps() -> Steps[U]:
        return (yield from more((yield from flow.start())))

    resent = None if flow.resent is None else continued(flow.resent, more)
    return Flow(steps, mode or extended(flow.mode), flow.resend, resent, flow.within)


def followed(first: Flow[T], then: Callable[[T], Flow[U]]) -> Flow[tuple[T, U]]:
    """Two verbs in one transaction; the second knows what the first returned, and may be sent
    again wherever the first may."""

    def more(value: T) -> Steps[tuple[T, U]]:
        return value, (yield from then(value).start())

    return continued(first, more, Mode.write)


def immediate(verb: Callable[P, T]) -> Callable[P, Flow[T]]:
    """A flow without statements: for stores that hold their data in memory."""

    @wraps(verb)
    def ready(*args: P.args, **kwargs: P.kwargs) -> Flow[T]:
        def steps() -> Steps[T]:
            return verb(*args, **kwargs)
            yield  # what makes this a generator

        return Flow(steps, Mode.write, resend=True)

    return ready


def played(flow: Flow[T], wakes: list[Wake]) -> T:
    """The value of a flow without statements, or of one that a caller made of several."""
    steps = flow.start()
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if not isinstance(step, Wake):
            raise TypeError(f"{step!r} belongs to another store than this one")
        wakes.append(step)
