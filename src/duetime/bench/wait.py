"""Wait until actions are finished, as the store shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from duetime.app import Duetime
from duetime.bench.processes import WorkerProcesses
from duetime.bench.work import Noop
from duetime.model.state import State
from duetime.model.tenant import ANY

# Pause between two queries: short compared with the measurement, and little load for the store.
POLL_SECONDS = 0.01
PAGE_SIZE = 200


async def until_finished(app: Duetime, workers: WorkerProcesses) -> None:
    """Wait until every action is finished."""
    for state in (State.scheduled, State.running, State.scheduled):
        while await app.find(state=state, limit=1, tenant=ANY):
            workers.check()
            await asyncio.sleep(POLL_SECONDS)


async def until_working(app: Duetime, workers: WorkerProcesses) -> None:
    """Start the workers, and wait until they have run an action."""
    workers.begin()
    action = await app.schedule(Noop(0))
    while not (await app.get(action.id)).state.finished:
        workers.check()
        await asyncio.sleep(POLL_SECONDS)


async def results(app: Duetime, kind: str) -> Sequence[tuple[UUID, float]]:
    """Return the results of a kind's actions, newest action first."""
    found: list[tuple[UUID, float]] = []
    cursor: str | None = None
    while True:
        page = await app.find(kind=kind, limit=PAGE_SIZE, cursor=cursor, tenant=ANY)
        found += [(action.id, _number(action.result)) for action in page]
        cursor = page.next_cursor
        if cursor is None:
            return found


def _number(result: object) -> float:
    assert isinstance(result, float | int), f"a handler returned {result!r}"
    return float(result)
