"""What a worker does about children: nothing where none wait, and all of it where some do."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from api.apps import Note, Other
from duetime import Duetime, Fail, State
from duetime.errors import StoreUnavailable
from duetime.model.actions.action import Record
from duetime.store.flow import Flow, Steps
from duetime.store.memory.store import MemoryStore


class Settling(MemoryStore):
    """Notes for which parents it is asked to settle, and is away the first `away` times."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[UUID] = []
        self.away = 0

    def settle(self, parents: Sequence[UUID], limit: int) -> Flow[list[Record]]:
        self.asked += parents
        if len(self.asked) > self.away:
            return super().settle(parents, limit)

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


async def test_work_without_children_asks_for_none() -> None:
    store = Settling()
    async with Duetime(store=store) as app:
        declare(app)
        far = await app.schedule(Note(), delay=3600)
        await app.schedule(Other(), after=far)
        store.asked.clear()
        async with app.worker(), asyncio.timeout(20):
            made = await app.schedule_many(app.request(Note(str(i))) for i in range(50))
            for one in made:
                await app.wait(one.id)
    assert store.asked == []


async def test_an_outage_between_a_parents_end_and_its_children_is_survived() -> None:
    store = Settling()
    async with Duetime(store=store) as app:
        declare(app)
        parent = await app.schedule(Note(), delay=3600)
        child = await app.schedule(Other(), after=parent)
        store.asked.clear()
        store.away = 2
        async with app.worker(), asyncio.timeout(20):
            await app.reschedule(parent.id, delay=0)
            assert (await app.wait(child.id)).state is State.succeeded
    assert store.asked[:3] == [parent.id] * 3


async def test_a_worker_that_stops_settles_what_it_ended() -> None:
    """Also what it could not settle at once."""
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
        store.asked.clear()
        store.away = 1
        async with app.worker(), asyncio.timeout(20):
            await started.wait()
            asyncio.get_running_loop().call_soon(go_on.set)
        assert (await app.get(child.id)).state is State.cancelled
