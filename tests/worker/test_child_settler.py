"""Settlement by a worker: no statements without children, and complete settlement with them."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from api.apps import Note, Other
from duetime import Duetime, Fail, State
from duetime.errors import StoreUnavailable
from duetime.model.actions.action import Record
from duetime.model.actions.chain import NO_TRACES, RunTraces
from duetime.store.flow import Flow, Steps
from duetime.store.memory.store import MemoryStore


class Settling(MemoryStore):
    """Records the parents it settles, and is unavailable for the first `away` calls."""

    def __init__(self) -> None:
        super().__init__()
        self.settled_parents: list[UUID] = []
        self.away = 0

    def settle(
        self, parents: Sequence[UUID], limit: int, run_traces: RunTraces = NO_TRACES
    ) -> Flow[list[Record]]:
        self.settled_parents += parents
        if len(self.settled_parents) > self.away:
            return super().settle(parents, limit, run_traces)

        def steps() -> Steps[list[Record]]:
            raise StoreUnavailable("the store is away")
            yield

        return Flow(steps)


def declare(app: Duetime) -> None:
    @app.handler(kind="note")
    async def note(payload: Note) -> None:
        if payload.text == "fails":
            raise Fail("no")

    @app.handler(kind="other")
    async def other(payload: Other) -> None: ...


async def test_actions_without_children_cause_no_settlement() -> None:
    store = Settling()
    async with Duetime(store=store) as app:
        declare(app)
        far = await app.schedule(Note(), delay=3600)
        await app.schedule(Other(), after=far)
        store.settled_parents.clear()
        async with app.worker(), asyncio.timeout(20):
            made = await app.schedule_many(app.request(Note(str(i))) for i in range(50))
            for action in made:
                await app.wait(action.id)
    assert store.settled_parents == []


async def test_settlement_survives_an_outage_after_the_parent_finished() -> None:
    store = Settling()
    async with Duetime(store=store) as app:
        declare(app)
        parent = await app.schedule(Note(), delay=3600)
        child = await app.schedule(Other(), after=parent)
        store.settled_parents.clear()
        store.away = 2
        async with app.worker(), asyncio.timeout(20):
            await app.reschedule(parent.id, delay=0)
            assert (await app.wait(child.id)).state is State.succeeded
    assert store.settled_parents[:3] == [parent.id] * 3


async def test_a_worker_that_stops_settles_children_first() -> None:
    """Including settlements that had failed before."""
    store = Settling()
    app = Duetime(store=store)
    started, go_on = asyncio.Event(), asyncio.Event()

    @app.handler(kind="note")
    async def note(payload: Note) -> None:
        started.set()
        await go_on.wait()
        raise Fail("no")

    app.payload(Other, kind="other")
    async with app:
        parent = await app.schedule(Note())
        child = await app.schedule(Other(), after=parent)
        store.settled_parents.clear()
        store.away = 1
        async with app.worker(), asyncio.timeout(20):
            await started.wait()
            asyncio.get_running_loop().call_soon(go_on.set)
        assert (await app.get(child.id)).state is State.cancelled
