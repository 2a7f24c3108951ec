"""PostgreSQL has lost the long values of a row: operators see it with its id, its neighbours run,
and it ends as failed, with the reason, whatever it was doing."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import redirect_stdout
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note
from damaged_rows import execute, long_text, lose_long_texts
from duetime import ANY, ActionFailed, Context, Duetime, Every, Retry, Snooze, State
from duetime.cli.commands import cli
from duetime.errors import UnreadableRow
from polling import until

SETTINGS: dict[str, Any] = {"lease": 2, "sweep": 0.3, "poll": 0.3}


class Shop:
    """An app whose handler says when it has begun, and waits until the test lets it end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.app = Duetime(url, **SETTINGS)
        self.begun, self.end = asyncio.Event(), asyncio.Event()
        self.outcome: object = "done"

        @self.app.handler(kind="note", retry=Retry(attempts=2, delay=0.01))
        async def note(payload: Note, ctx: Context) -> object:
            if len(payload.text) < 100:
                return payload.text
            self.begun.set()
            await self.end.wait()
            if isinstance(self.outcome, Exception):
                raise self.outcome
            return self.outcome

    async def schedule_long(self, **options: Any) -> UUID:
        return (await self.app.schedule(Note(long_text()), **options)).id

    async def run_neighbour(self) -> None:
        action = await self.app.schedule(Note("neighbour"))
        assert (await self.app.wait(action.id, timeout=15)).state is State.succeeded

    async def has_failed(self, action_id: UUID) -> bool:
        return (await self.app.get(action_id, tenant=ANY)).state is State.failed


@pytest.fixture
async def shop(postgres_url: str) -> AsyncIterator[Shop]:
    shop = Shop(postgres_url)
    async with shop.app:
        yield shop


async def test_operators_see_the_row_and_its_neighbours(shop: Shop) -> None:
    first = await shop.app.schedule(Note("first"), delay=60)
    bad = await shop.schedule_long(delay=60, tenant="acme", correlation_id="c", key="k")
    last = await shop.app.schedule(Note("last"), delay=60)
    lose_long_texts(shop.url)
    page = await shop.app.find(tenant=ANY)
    assert [action.id for action in page] == [last.id, bad, first.id]
    assert [action.payload for action in page] == [Note("last"), None, Note("first")]
    for seen in (page.items[1], await shop.app.get(bad, tenant=ANY)):
        assert (seen.state, seen.tenant, seen.key) == (State.scheduled, "acme", "k")
        assert seen.error is not None
        assert seen.error.startswith("unreadable: ")
        assert "missing chunk" in seen.error
    assert len(await shop.app.find(correlation_id="c", tenant="acme")) == 1
    assert await shop.app.runs(bad, tenant=ANY) == []
    for command in (["list"], ["list", "--json"], ["show", str(bad)], ["show", str(bad), "--json"]):
        output = printed(["actions", *command, "--any-tenant", "--url", shop.url])
        assert str(bad) in output
        assert "unreadable" in output


async def test_a_verb_on_the_row_says_what_is_wrong(shop: Shop) -> None:
    bad = await shop.schedule_long(delay=60)
    lose_long_texts(shop.url)
    for verb in (shop.app.cancel(bad), shop.app.reschedule(bad, delay=1)):
        with pytest.raises(UnreadableRow, match="missing chunk"):
            await verb


async def test_a_scheduled_one_fails_alone(shop: Shop) -> None:
    bad = await shop.schedule_long(tenant="acme")
    lose_long_texts(shop.url)
    async with shop.app.worker():
        await shop.run_neighbour()
        await until(lambda: shop.has_failed(bad))
    action = await shop.app.get(bad, tenant=ANY)
    assert (action.tenant, action.payload) == ("acme", None)
    assert "missing chunk" in str(action.error)


@pytest.mark.parametrize("outcome", ["done", ValueError("broken"), Snooze(0.01)])
async def test_a_running_one_fails_when_it_ends(shop: Shop, outcome: object) -> None:
    shop.outcome = outcome
    failed: list[UUID] = []
    shop.app.on(ActionFailed, lambda event: failed.append(event.action_id))
    async with shop.app.worker():
        bad = await shop.schedule_long()
        child = await shop.app.schedule(Note("child"), after=bad, on="failed")
        await shop.begun.wait()
        lose_long_texts(shop.url)
        assert (await shop.app.get(bad)).state is State.running
        shop.end.set()
        await until(lambda: has_more_neighbours(shop, bad))
        ended = await shop.app.wait(child.id, timeout=15)
    action = await shop.app.get(bad)
    assert (action.state, ended.state) == (State.failed, State.succeeded)
    assert "missing chunk" in str(action.error)
    assert "the outcome of its run, " in str(action.error)
    if isinstance(outcome, ValueError):
        assert str(action.error).startswith("ValueError: broken; its row")
    assert failed == [bad]


async def has_more_neighbours(shop: Shop, bad: UUID) -> bool:
    """A row is blamed only while others can be claimed."""
    await shop.run_neighbour()
    return await shop.has_failed(bad)


@pytest.mark.parametrize("losses", [0, 4])
async def test_one_whose_worker_vanished_fails(shop: Shop, losses: int) -> None:
    bad = await shop.schedule_long()
    lose_long_texts(shop.url)
    execute(
        shop.url,
        f"UPDATE duetime_actions SET losses = {losses}, token = gen_random_uuid(), lease_until = 1",
    )
    async with shop.app.worker():
        await until(lambda: shop.has_failed(bad))
    action = await shop.app.get(bad)
    assert (action.losses, action.payload) == (losses + 1, None)
    assert "its lease ran out, and its row is damaged" in str(action.error)
    assert not shop.begun.is_set()


async def test_a_finished_one_is_shown(shop: Shop) -> None:
    shop.end.set()
    async with shop.app.worker():
        bad = await shop.schedule_long()
        await shop.app.wait(bad, timeout=15)
        neighbour = await shop.app.schedule(Note("neighbour"))
        await shop.app.wait(neighbour.id, timeout=15)
    lose_long_texts(shop.url, "duetime_history")
    assert [action.id for action in await shop.app.find()] == [neighbour.id, bad]
    action = await shop.app.get(bad)
    assert (action.state, action.payload, action.result) == (State.succeeded, None, None)
    assert "unreadable" in str(action.error)
    [run] = await shop.app.runs(bad)
    assert run.outcome == "succeeded"


async def test_an_occurrence_that_is_lost_is_shown_among_the_runs_of_its_job(shop: Shop) -> None:
    await shop.app.jobs.put("shop-mail", Every(hours=1), payload=Note(long_text()))
    await shop.app.jobs.trigger("shop-mail")
    lose_long_texts(shop.url)
    [occurrence] = await shop.app.jobs.runs("shop-mail")
    assert occurrence.action_id is not None


def printed(command: list[str]) -> str:
    output = io.StringIO()
    with redirect_stdout(output):
        cli(command, standalone_mode=False)
    return output.getvalue()
