"""`jobs.list` filters and sorts at the store; its cursors serve only the list they came from."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from api.apps import Note, Other, case_id
from api.hourly_job import at, clock
from duetime import ANY, Duetime, JobState, Retry
from duetime.errors import InvalidArgument, NaiveDatetime
from duetime.testing import FakeClock

__all__ = ["clock"]


@pytest.fixture
async def shop(app: Duetime, clock: FakeClock) -> Duetime:
    """Four jobs: one of them declared, paused, failing, or of a tenant."""
    app.handler(retry=Retry.none())(fail)
    app.handler()(work)

    @app.job("30 * * * *", name="shop-declared")
    async def declared() -> None: ...

    await app.jobs.put("shop-failing", "0 * * * *", payload=Note(), alert_after=1)
    await app.jobs.put("shop-paused", "15 * * * *", payload=Other(), queue="slow")
    await app.jobs.put("bank-mail", "45 * * * *", payload=Other(), tenant="bank")
    await app.jobs.pause("shop-paused", by="ann")
    await app.testing.advance(hours=1)
    return app


async def fail(payload: Note) -> None:
    raise ConnectionError


async def work(payload: Other) -> None: ...


async def names(app: Duetime, **wanted: Any) -> list[str]:
    return [job.name for job in await app.jobs.list(**wanted)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["shop-declared", "shop-failing", "shop-paused"]),
        ({"state": "paused"}, ["shop-paused"]),
        ({"state": JobState.scheduled}, ["shop-declared", "shop-failing"]),
        ({"state": "retired"}, []),
        ({"enabled": False}, ["shop-paused"]),
        ({"enabled": True, "declared": True}, ["shop-declared"]),
        ({"failing": True}, ["shop-failing"]),
        ({"failing": False}, ["shop-declared", "shop-paused"]),
        ({"declared": False}, ["shop-failing", "shop-paused"]),
        ({"kind": "note"}, ["shop-failing"]),
        ({"queue": "slow"}, ["shop-paused"]),
        ({"due_before": at(2)}, ["shop-declared"]),
        ({"q": "pau"}, ["shop-paused"]),
        ({"q": "SHOP-D"}, ["shop-declared"]),
        ({"q": "_"}, []),
        ({"tenant": "bank"}, ["bank-mail"]),
        ({"tenant": "bank", "q": "shop"}, []),
        ({"tenant": ANY, "kind": "other"}, ["bank-mail", "shop-paused"]),
        ({"sort": "-name"}, ["shop-paused", "shop-failing", "shop-declared"]),
        ({"sort": "next_due_at"}, ["shop-declared", "shop-failing", "shop-paused"]),
        ({"sort": "-next_due_at"}, ["shop-failing", "shop-declared", "shop-paused"]),
        ({"sort": "-consecutive_failures"}, ["shop-failing", "shop-declared", "shop-paused"]),
        ({"sort": "consecutive_failures"}, ["shop-declared", "shop-paused", "shop-failing"]),
    ],
    ids=case_id,
)
async def test_what_is_listed(shop: Duetime, wanted: dict[str, Any], expected: list[str]) -> None:
    assert await names(shop, **wanted) == expected


async def test_a_job_shows_whether_it_is_failing(shop: Duetime) -> None:
    assert [job.failing for job in await shop.jobs.list()] == [False, True, False]


@pytest.mark.parametrize("sort", ["name", "-name", "next_due_at", "-consecutive_failures"])
async def test_pages_show_each_job_once(shop: Duetime, sort: Any) -> None:
    everything = await names(shop, tenant=ANY, sort=sort)
    found: list[str] = []
    page = await shop.jobs.list(tenant=ANY, sort=sort, limit=1)
    while page.next_cursor is not None:
        found += [job.name for job in page]
        page = await shop.jobs.list(tenant=ANY, sort=sort, limit=1, cursor=page.next_cursor)
    assert [*found, *(job.name for job in page)] == everything
    assert len(found) == 3


@pytest.mark.parametrize(
    "other",
    [
        {"sort": "-name"},
        {"sort": "next_due_at"},
        {"tenant": "bank"},
        {"tenant": None},
        {"enabled": True},
        {"q": "shop"},
        {"removed": True},
    ],
    ids=repr,
)
async def test_a_cursor_serves_no_other_list(shop: Duetime, other: dict[str, Any]) -> None:
    cursor = (await shop.jobs.list(limit=1, tenant=ANY)).next_cursor
    arguments: dict[str, Any] = {"limit": 1, "tenant": ANY, "cursor": cursor} | other
    with pytest.raises(InvalidArgument, match="another filter, sort or tenant"):
        await shop.jobs.list(**arguments)


async def test_a_page_may_have_another_size(shop: Duetime) -> None:
    cursor = (await shop.jobs.list(limit=1)).next_cursor
    assert await names(shop, limit=9, cursor=cursor) == ["shop-failing", "shop-paused"]


async def test_a_cursor_that_was_changed_is_refused(shop: Duetime) -> None:
    cursor = (await shop.jobs.list(limit=1)).next_cursor or ""
    data = base64.urlsafe_b64decode(cursor)
    for place in range(len(data)):
        changed = bytes([*data[:place], data[place] ^ 1, *data[place + 1 :]])
        with pytest.raises(InvalidArgument):
            await shop.jobs.list(limit=1, cursor=base64.urlsafe_b64encode(changed).decode())


@pytest.mark.parametrize(
    "cursor", ["", "nonsense", "shop-declared", 7, b"x", "é", "\x00", "\ud800", "A" * 9999]
)
async def test_what_is_no_cursor_is_refused(memory_app: Duetime, cursor: Any) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await memory_app.jobs.list(cursor=cursor)
    assert refused.value.argument == "cursor"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("state", "stopped"),
        ("state", 3),
        ("state", ["paused"]),
        ("enabled", 1),
        ("enabled", "yes"),
        ("failing", "no"),
        ("declared", 0),
        ("removed", "false"),
        ("kind", ""),
        ("kind", 7),
        ("kind", "\x00"),
        ("queue", "\ud800"),
        ("queue", "x" * 201),
        ("due_before", "tomorrow"),
        ("due_before", 5),
        ("q", ""),
        ("q", 5),
        ("q", "\x00"),
        ("sort", ""),
        ("sort", "created_at"),
        ("sort", "--name"),
        ("sort", "name; DROP TABLE duetime_jobs"),
        ("sort", None),
        ("sort", ["name"]),
        ("limit", 0),
        ("limit", 201),
        ("limit", True),
        ("limit", "5"),
        ("tenant", 5),
        ("tenant", ""),
    ],
)
async def test_bad_input_names_the_argument(memory_app: Duetime, argument: str, value: Any) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await memory_app.jobs.list(**{argument: value})
    assert refused.value.argument == argument


async def test_an_instant_without_a_zone_is_refused(memory_app: Duetime) -> None:
    with pytest.raises(NaiveDatetime):
        await memory_app.jobs.list(due_before=at(1).replace(tzinfo=None))


def test_without_await(memory_app: Duetime) -> None:
    memory_app.handler()(work)
    memory_app.sync.jobs.put("shop-a", "0 * * * *", payload=Other())
    assert [job.name for job in memory_app.sync.jobs.list(enabled=True, kind="other")] == ["shop-a"]
