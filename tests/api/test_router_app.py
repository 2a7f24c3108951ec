"""A handler of a router asks for the app that runs it, since its module has none."""

from api.apps import Note, Other
from duetime import Duetime, Router
from duetime.testing import FakeClock


async def test_a_handler_of_a_router_schedules_in_the_app_that_runs_it(
    url: str, clock: FakeClock
) -> None:
    app, router = Duetime(url, clock=clock), Router()

    @router.handler(kind="note")
    async def note(payload: Note, due: Duetime) -> None:
        await due.schedule(Other(len(payload.text)))

    @router.handler(kind="other")
    def other(payload: Other, due: Duetime) -> str:
        return f"{payload.number} in {due.settings.name}"

    app.include(router)
    apart = Duetime("memory://", name="apart")
    apart.include(router)
    async with app, apart:
        await app.schedule(Note("hello"))
        assert await app.testing.drain() == 2
        [done] = (await app.find(kind="other")).items
        assert done.result == "5 in duetime"
        assert (await apart.find()).items == []
