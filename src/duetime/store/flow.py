"""Flows: a store verb written once, for blocking and async connections alike.

A flow is a generator that yields statements, receives their rows and returns a value. Its driver
owns the connection and the transaction; the flow knows neither. A flow also yields wakes: hints to
sleeping workers, sent after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

from duetime.model.jobs.job import JobRecord
from duetime.model.lane import job_lane

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")

Row = Sequence[object]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Statement:
    """The name of a `.sql` file, and its parameters."""

    name: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Statements that do not depend on each other's results.

    Where the connection can pipeline, each statement is built, together with any other work of the
    iterable, while the server executes the ones before it. The rows of all statements are
    concatenated. The statements are prepared, and need no pinned plans.
    """

    statements: Iterable[Statement]


@dataclass(frozen=True, slots=True)
class Wake:
    """An action became due in a lane: wake sleeping workers after the commit."""

    lane: str
    due_at: int
    now: int


Step = Statement | Pipeline | Wake
Steps = Generator[Step, Rows, T]


class Mode(Enum):
    """The kind of transaction that a flow needs."""

    read = "one or more reads"
    search = "reads with pinned plans, each a transaction by itself"
    single = "one writing statement, which is a transaction by itself"
    write = "one transaction"
    pinned = "one transaction with pinned plans"
    hot = "one statement with a pinned plan; later steps may follow its commit"
    claim = "like hot, with a commit that need not wait for the disk"

    @property
    def reads_only(self) -> bool:
        return self in (Mode.read, Mode.search)


def transaction_mode(mode: Mode) -> Mode:
    """Return the mode of a flow to whose transaction more steps are added."""
    return Mode.pinned if mode in (Mode.pinned, Mode.hot, Mode.claim) else Mode.write


@dataclass(frozen=True, slots=True)
class Batchable(Generic[T]):
    """An item that may share a transaction with independent items of concurrent calls, and the verb
    that processes several such items at once."""

    item: Any
    batch_verb: Callable[[Sequence[Any]], Flow[Sequence[T]]]
    # The approximate number of characters sent for the item.
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Flow(Generic[T]):
    """A verb ready to be performed. It may be started again until it was committed.

    `resend` marks verbs that recognise by id and token whether they already took effect, so that
    after a lost reply they may be performed again: as `replay`, if recognising takes more than
    the first sending did. After `deadline` seconds the result is of no use. A `patient` flow waits
    for locks only briefly, and is tried again for long.
    """

    start: Callable[[], Steps[T]]
    mode: Mode = Mode.write
    resend: bool = False
    replay: Flow[T] | None = None
    deadline: float | None = None
    batchable: Batchable[T] | None = None
    patient: bool = False


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


def then(flow: Flow[T], more: Callable[[T], Steps[U]], mode: Mode | None = None) -> Flow[U]:
    """Return a flow that runs `more` after `flow` in the same transaction, also when replayed.

    The result is not batchable: a batch would skip the added steps.
    """

    def steps() -> Steps[U]:
        return (yield from more((yield from flow.start())))

    resent = None if flow.replay is None else then(flow.replay, more)
    return Flow(steps, mode or transaction_mode(flow.mode), flow.resend, resent, flow.deadline)


def and_then(first: Flow[T], second: Callable[[T], Flow[U]]) -> Flow[tuple[T, U]]:
    """Return a flow of two verbs in one transaction. The second gets the first one's result, and
    must be safe to resend if the first is."""

    def more(value: T) -> Steps[tuple[T, U]]:
        return value, (yield from second(value).start())

    return then(first, more, Mode.write)


def immediate(verb: Callable[P, T]) -> Callable[P, Flow[T]]:
    """Wrap a method as a verb without statements, for stores that keep their data in memory."""

    @wraps(verb)
    def in_memory(*args: P.args, **kwargs: P.kwargs) -> Flow[T]:
        def steps() -> Steps[T]:
            return verb(*args, **kwargs)
            yield  # makes this function a generator

        return Flow(steps, Mode.write, resend=True)

    return in_memory


def run_in_memory(flow: Flow[T], wakes: list[Wake]) -> T:
    """Run a flow that yields no statements, collect its wakes and return its value."""
    steps = flow.start()
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if not isinstance(step, Wake):
            raise TypeError(f"{step!r} needs a SQL store; this store runs no statements")
        wakes.append(step)


def wake(due: Iterable[tuple[str | None, int | None]], now: int) -> Steps[None]:
    """Yield a wake for each lane, with the earliest due time of its (lane, due_at) pairs.

    Children that wait for a parent have no due time, and cause no wake.
    """
    earliest: dict[str, int] = {}
    for lane, due_at in due:
        if lane is not None and due_at is not None:
            earliest[lane] = min(due_at, earliest.get(lane, due_at))
    for lane, due_at in earliest.items():
        yield Wake(lane, due_at, now)


def wake_jobs(jobs: Iterable[JobRecord], now: int) -> Steps[None]:
    """Yield a wake for each app, with its earliest tick."""
    yield from wake([(job_lane(job.app), job.next_due_at) for job in jobs], now)
