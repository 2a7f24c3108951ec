"""The page about workers: who is alive, and who has stopped reporting."""

import re
from collections.abc import Callable

from duetime import Duetime
from duetime.model.actions.claim import WorkerInfo
from duetime.model.health.worker import SlotUse, WorkerHealth
from duetime.testing import FakeClock
from pages.browser import ShownPage
from pages.readers import administrator_of, reader_of


async def sweep(app: Duetime, name: str, **how: object) -> None:
    """Let a worker of this name say that it is alive."""
    pools = (SlotUse(None, 10, 4),)
    worker = WorkerInfo(
        name,
        "shop",
        "host-1",
        7,
        ["mail", "sms"],
        [],
        10,
        version="9.8.7",
        pools=pools,
        **how,  # type: ignore[arg-type]
    )
    await app.store.perform(app.store.sweep(worker, 0, 1))


def rows(page: ShownPage) -> list[str]:
    """The rows of the table, without tags."""
    found = re.findall(r'<tr data-row=".*?</tr>', page.response.text, re.S)
    return [" ".join(re.sub(r"<title>.*?</title>|<[^>]*>", " ", row).split()) for row in found]


async def test_what_a_worker_tells(app: Duetime) -> None:
    await sweep(app, "w1", health=WorkerHealth(("no <b> room",), 3))
    async with reader_of(app, "workers.read") as browser:
        page = await browser.open("/workers")
    [row] = rows(page)
    for text in ("w1", "4 / 10", "9.8.7", "all", "mail, sms", "shop", "process 7 on host-1"):
        assert text in row
    assert "reports a problem no &lt;b&gt; room wakes refused: 3" in row
    assert "/actions" not in page.response.text


async def test_stalled_workers_stand_first(memory_app: Duetime, clock: FakeClock) -> None:
    await sweep(memory_app, "b")
    clock.advance(seconds=21)
    await sweep(memory_app, "a")
    async with administrator_of(memory_app) as browser:
        page, now = await browser.open("/workers"), await browser.open("/")
    stalled, well = rows(page)
    assert (stalled[:2], "stalled" in stalled) == ("b ", True)
    assert (well[:2], "stalled" in well) == ("a ", False)
    assert "The worker “b” has stopped reporting, last" in now.response.text


async def test_many_kinds_are_folded(memory_app: Duetime) -> None:
    kinds = [f"kind-{number}" for number in range(9)]
    worker = WorkerInfo("w", "shop", "host", 1, kinds, ["q"], 1)
    await memory_app.store.perform(memory_app.store.sweep(worker, 0, 1))
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/workers")
    assert "and 5 more" in page.texts["summary"]
    assert "kind-8" in page.response.text
    assert "older" in rows(page)[0]


async def test_live(memory_app: Duetime, moving: Callable[..., None]) -> None:
    async with administrator_of(memory_app) as browser:
        first = await browser.client.get("/live?view=workers")
        assert "No worker is alive" in first.text
        await sweep(memory_app, "w1")
        moving()
        tag = {"if-none-match": first.headers["etag"]}
        second = await browser.client.get("/live?view=workers", headers=tag)
        assert (second.status_code, 'data-row="w1"' in second.text) == (200, True)


async def test_workers_are_not_of_a_tenant(memory_app: Duetime) -> None:
    await sweep(memory_app, "w1")
    async with reader_of(memory_app, "workers.read", tenant="acme") as browser:
        for address in ("/workers", "/live?view=workers"):
            page = await browser.open(address)
            assert (page.response.status_code, "w1" in page.response.text) == (403, False)


async def test_without_workers_it_says_what_starts_one(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/workers")
        french = await browser.open("/workers?lang=fr")
    assert "No worker is alive" in page.texts["p"]
    assert "async with app.worker(" in page.response.text
    assert "Aucun worker n'est actif" in french.texts["p"]
