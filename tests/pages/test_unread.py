"""The number of unread notifications in the navigation: on every page, and read rarely."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from admin.client import Parcel
from duetime import ANY, Duetime
from duetime.admin.pages.unread import KEPT_SECONDS, MAX_KEPT, UnreadCounts
from pages.notified import failure, happen
from pages.readers import administrator_of, reader_of
from pages.test_alerts_page import read_form, unread


class Counted:
    """Notifications that say how often they were counted."""

    def __init__(self, app: Duetime) -> None:
        self.calls: list[tuple[object, str]] = []
        self._count = app.notifications.unread

    async def unread(self, *, reader: str, tenant: Any, most: int) -> int:
        self.calls.append((tenant, reader))
        return await self._count(reader=reader, tenant=tenant, most=most)


@pytest.fixture
def counted(memory_app: Duetime, monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted(memory_app)
    monkeypatch.setattr(memory_app.notifications, "unread", counted.unread, raising=False)
    return counted


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [0.0]
    counts = "duetime.admin.pages.unread.UnreadCounts.__init__.__defaults__"
    monkeypatch.setattr(counts, (lambda: now[0],))

    def passing(seconds: float) -> None:
        now[0] += seconds

    return passing


async def notified(app: Duetime, times: int = 1) -> None:
    if not await app.notifications.subscriptions(tenant=ANY):
        await app.notifications.add("*", in_app=True, tenant=ANY)
    for _ in range(times):
        await happen(app, failure())


async def test_it_stands_on_every_page(memory_app: Duetime) -> None:
    await notified(memory_app)
    async with administrator_of(memory_app) as browser:
        for path in ("/", "/jobs", "/settings", "/alerts/subscriptions", "/no-such-page"):
            page = await browser.open(path)
            expected = None if path == "/no-such-page" else "1"
            assert unread(page) == expected, path
        assert 'aria-describedby="unread"' in (await browser.open("/")).response.text


async def test_the_name_of_the_link_is_without_it(memory_app: Duetime) -> None:
    await notified(memory_app)
    async with administrator_of(memory_app) as browser:
        text = (await browser.open("/")).response.text
    assert 'id="unread" class="count" aria-hidden="true">1<span class="sr"> unread</span>' in text


async def test_more_than_two_digits_are_not_counted(memory_app: Duetime) -> None:
    await notified(memory_app, 101)
    async with administrator_of(memory_app) as browser:
        assert unread(await browser.open("/settings")) == "99+"


async def test_who_may_not_read_notifications_has_none(
    memory_app: Duetime, counted: Counted
) -> None:
    await notified(memory_app)
    async with reader_of(memory_app, "jobs.read") as browser:
        assert 'id="unread"' not in (await browser.open("/jobs")).response.text
    assert counted.calls == []


async def test_the_live_parts_of_pages_bring_it(
    memory_app: Duetime, passing: Callable[[float], None]
) -> None:
    await memory_app.schedule(Parcel(), delay=60, queue="mail")
    await notified(memory_app)
    async with administrator_of(memory_app) as browser:
        first = await browser.open("/live?view=queues")
        assert unread(first) == "1"
        await happen(memory_app, failure("a-2"))
        tag = first.response.headers["etag"]
        same = await browser.client.get("/live?view=queues", headers={"if-none-match": tag})
        assert same.status_code == 304
        passing(KEPT_SECONDS)
        assert unread(await browser.open("/live?view=queues")) == "2"


async def test_a_reader_sees_at_once_what_their_own_act_did(
    memory_app: Duetime, passing: Callable[[float], None]
) -> None:
    await notified(memory_app, 2)
    async with administrator_of(memory_app) as browser:
        await browser.send(read_form(await browser.open("/alerts")))
        assert unread(await browser.open("/settings")) == "1"


async def test_a_count_is_kept_for_a_while(
    memory_app: Duetime, counted: Counted, passing: Callable[[float], None]
) -> None:
    counts = UnreadCounts(memory_app)
    for _ in range(8):
        assert await counts.count(None, "ann") == 0
        passing(KEPT_SECONDS / 8)
    assert counted.calls == [(None, "ann")]
    await counts.count(None, "ann")
    assert len(counted.calls) == 2


async def test_many_readers_are_one_statement_a_second(
    memory_app: Duetime, counted: Counted, passing: Callable[[float], None]
) -> None:
    """Each is counted when they come; from then on, one a second, and everybody in turn."""
    counts = UnreadCounts(memory_app)
    readers = [f"reader {number}" for number in range(50)]
    await asyncio.gather(*(counts.count(None, reader) for reader in readers))
    counted.calls.clear()
    passing(KEPT_SECONDS)
    seconds = 100
    for second in range(seconds):
        await asyncio.gather(*(counts.count(None, reader) for reader in readers))
        assert len(counted.calls) <= second + 1
        passing(1)
    assert {reader for _, reader in counted.calls} == set(readers)


async def test_each_scope_is_counted_by_itself(
    memory_app: Duetime, counted: Counted, passing: Callable[[float], None]
) -> None:
    counts = UnreadCounts(memory_app)
    for scope in (None, "acme", ANY):
        await counts.count(scope, "ann")
    passing(KEPT_SECONDS)
    for scope in (None, "acme", ANY):
        await counts.count(scope, "ann")
    assert counted.calls == [(scope, "ann") for scope in (None, "acme", ANY)] * 2


async def test_what_it_keeps_is_bounded(memory_app: Duetime, counted: Counted) -> None:
    counts = UnreadCounts(memory_app)
    for number in range(MAX_KEPT + 10):
        await counts.count(None, f"reader {number}")
    assert len(counts._counts) == MAX_KEPT
