"""When all work is finished, as the store shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from duetime.app import Duetime
from duetime.bench.processes import Crew
from duetime.bench.work import Noop
from duetime.model.state import State
from duetime.model.tenant import ANY

# Between two looks: short against what is measured, and hardly any work for the store.
PAUSE = 0.01
PAGE = 200


async def until_finished(app: Duetime, workers: Crew) -> None:
    """Until no action is unfinished."""
    for state in (State.scheduled, State.running, State.scheduled):
        while await app.find(state=state, limit=1, tenant=ANY):
            workers.check()
            await asyncio.sleep(PAUSE)


async def until_at_work(app: Duetime, workers: Crew) -> None:
    """Until the crew has begun and has run something."""
    workers.go()
    action = await app.schedule(Noop(0))
    while not (await app.get(action.id)).state.finished:
        workers.check()
        await asyncio.sleep(PAUSE)


async def results(app: Duetime, kind: str) -> Sequence[tuple[UUID, float]]:
    """What handlers of a kind returned, newest action first."""
    found: list[tuple[UUID, float]] = []
    cursor: str | None = None
    while True:
        page = await app.find(kind=kind, limit=PAGE, cursor=cursor, tenant=ANY)
        found += [(action.id, _number(action.result)) for action in page]
        cursor = page.next_cursor
        if cursor is None:
            return found


def _number(result: object) -> float:
    assert isinstance(result, float | int), f"a handler returned {result!r}"
    return float(result)
