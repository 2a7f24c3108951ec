"""The drivers: they run a flow's steps on a connection, so that no verb exists twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import TypeVar, cast

from duetime.store.flow import Row, Rows, Series, Statement, Steps, Wake

T = TypeVar("T")
S = TypeVar("S")
Driven = Generator[S, Rows, T]


@dataclass(frozen=True, slots=True)
class Command:
    """Text for the database as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Pinned:
    """Settings and a statement, sent in one message: the server is done with it while our side
    has other things to do."""

    settings: Command
    statement: Statement


COMMIT, ROLLBACK = Command("COMMIT"), Command("ROLLBACK")


def messages(steps: Steps[T]) -> Driven[Statement | Series, tuple[T, list[Wake]]]:
    """What a flow sends: its statements, and series of them; with its value come those to wake once
    it is committed."""
    wakes: list[Wake] = []
    try:
        step = next(steps)
        while True:
            if isinstance(step, Wake):
                wakes.append(step)
                step = next(steps)
            else:
                step = steps.send((yield step))
    except StopIteration as end:
        return cast("T", end.value), wakes


def statements(steps: Steps[T]) -> Driven[Statement, tuple[T, list[Wake]]]:
    """The same, with each series taken apart."""
    driven = messages(steps)
    try:
        step = next(driven)
        while True:
            found = (yield from _in_turn(step)) if isinstance(step, Series) else (yield step)
            step = driven.send(found)
    except StopIteration as end:
        return cast("tuple[T, list[Wake]]", end.value)


def _in_turn(series: Series) -> Driven[Statement, Rows]:
    found: list[Row] = []
    for statement in series.statements:
        found += yield statement
    return found


def drive(driven: Driven[S, T], fetch: Callable[[S], Rows]) -> T:
    """Run it to its end on a blocking connection."""
    try:
        step = next(driven)
        while True:
            try:
                found = fetch(step)
            except BaseException as error:  # noqa: BLE001 - whoever asked decides
                step = driven.throw(error)
            else:
                step = driven.send(found)
    except StopIteration as end:
        return cast("T", end.value)


async def adrive(driven: Driven[S, T], fetch: Callable[[S], Awaitable[Rows]]) -> T:
    """Run it to its end on an async connection."""
    try:
        step = next(driven)
        while True:
            try:
                found = await fetch(step)
            except BaseException as error:  # noqa: BLE001 - whoever asked decides
                step = driven.throw(error)
            else:
                step = driven.send(found)
    except StopIteration as end:
        return cast("T", end.value)
