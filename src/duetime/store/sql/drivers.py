"""Drivers run a flow's steps on a blocking or an async connection, so each verb is written once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import TypeVar, cast

from duetime.store.flow import Pipeline, Row, Rows, Statement, Steps, Wake

T = TypeVar("T")
S = TypeVar("S")
Driven = Generator[S, Rows, T]


@dataclass(frozen=True, slots=True)
class Command:
    """SQL text that is sent as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class StatementWithSettings:
    """Settings and a statement that are sent in one message: the server performs both while this
    process does other things."""

    settings: Command
    statement: Statement


COMMIT, ROLLBACK = Command("COMMIT"), Command("ROLLBACK")


def messages(steps: Steps[T]) -> Driven[Statement | Pipeline, tuple[T, list[Wake]]]:
    """Yield a flow's statements and pipelines. The flow sees the errors with which they end.

    Returns the flow's value, and the wakes to send once it is committed.
    """
    wakes: list[Wake] = []
    try:
        step = next(steps)
        while True:
            if isinstance(step, Wake):
                wakes.append(step)
                step = next(steps)
                continue
            try:
                rows = yield step
            except Exception as error:  # noqa: BLE001 - the flow decides
                step = steps.throw(error)
            else:
                step = steps.send(rows)
    except StopIteration as end:
        return cast("T", end.value), wakes


def statements(steps: Steps[T]) -> Driven[Statement, tuple[T, list[Wake]]]:
    """Yield a flow's statements one by one, those of pipelines too.

    Returns the flow's value, and its wakes.
    """
    driven = messages(steps)
    try:
        step = next(driven)
        while True:
            rows = (yield from _statements_of(step)) if isinstance(step, Pipeline) else (yield step)
            step = driven.send(rows)
    except StopIteration as end:
        return cast("tuple[T, list[Wake]]", end.value)


def _statements_of(pipeline: Pipeline) -> Driven[Statement, Rows]:
    rows: list[Row] = []
    for statement in pipeline.statements:
        rows += yield statement
    return rows


def drive(driven: Driven[S, T], fetch: Callable[[S], Rows]) -> T:
    """Run a flow to its end on a blocking connection; `fetch` sends a step and returns its rows."""
    try:
        step = next(driven)
        while True:
            try:
                rows = fetch(step)
            except BaseException as error:  # noqa: BLE001 - the flow decides
                step = driven.throw(error)
            else:
                step = driven.send(rows)
    except StopIteration as end:
        return cast("T", end.value)


async def adrive(driven: Driven[S, T], fetch: Callable[[S], Awaitable[Rows]]) -> T:
    """Run a flow to its end on an async connection; `fetch` sends a step and returns its rows."""
    try:
        step = next(driven)
        while True:
            try:
                rows = await fetch(step)
            except BaseException as error:  # noqa: BLE001 - the flow decides
                step = driven.throw(error)
            else:
                step = driven.send(rows)
    except StopIteration as end:
        return cast("T", end.value)
