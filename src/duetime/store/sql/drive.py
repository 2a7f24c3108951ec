"""The drivers: they run a flow's steps on a connection. Nothing else exists twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from duetime.store.flow import Rows, Statement, Steps, Wake

T = TypeVar("T")


def drive(steps: Steps[T], fetch: Callable[[Statement], Rows]) -> tuple[T, list[Wake]]:
    """Run a flow to its end: its value, and whom to wake once it is committed."""
    wakes: list[Wake] = []
    try:
        step = next(steps)
        while True:
            if isinstance(step, Wake):
                wakes.append(step)
                step = next(steps)
            else:
                step = steps.send(fetch(step))
    except StopIteration as end:
        return cast("T", end.value), wakes
    finally:
        steps.close()


async def adrive(
    steps: Steps[T], fetch: Callable[[Statement], Awaitable[Rows]]
) -> tuple[T, list[Wake]]:
    """The same on an async connection."""
    wakes: list[Wake] = []
    try:
        step = next(steps)
        while True:
            if isinstance(step, Wake):
                wakes.append(step)
                step = next(steps)
            else:
                step = steps.send(await fetch(step))
    except StopIteration as end:
        return cast("T", end.value), wakes
    finally:
        steps.close()
