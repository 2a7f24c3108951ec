"""find and groups of an app: sorts, filters, cursors of other pages, and groups of failures."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from api.apps import Note
from duetime import ANY, Duetime, Retry, State
from duetime.errors import InvalidArgument
from duetime.testing import FakeClock

CAUSES = (
    lambda: ValueError(f"order {uuid4()} is not paid"),
    lambda: LookupError(f"no customer {uuid4().hex[:8]!r}"),
    lambda: TimeoutError(f"10.0.0.{uuid4().int % 250} did not answer within {uuid4().int % 90} s"),
    lambda: RuntimeError(json.dumps({"code": uuid4().int % 999, "why": "disk"})),
    lambda: KeyError(f"user-{uuid4().int % 10_000}"),
)


async def test_actions_are_sorted_by_due_time(app: Duetime) -> None:
    late = await app.schedule(Note(), delay=9)
    early = await app.schedule(Note(), delay=1)
    assert [a.id for a in await app.find(sort="due_at")] == [early.id, late.id]
    assert [a.id for a in await app.find(sort="-due_at")] == [late.id, early.id]


async def test_a_cursor_serves_no_other_page(app: Duetime) -> None:
    for n in range(4):
        await app.schedule(Note(), delay=n, tenant="acme")
    page = await app.find(tenant="acme", limit=2)
    others: list[dict[str, Any]] = [
        {"tenant": "evil"},
        {"tenant": ANY},
        {},
        {"tenant": "acme", "sort": "created_at"},
        {"tenant": "acme", "state": "scheduled"},
    ]
    for other in others:
        with pytest.raises(InvalidArgument, match="cursor"):
            await app.find(limit=2, cursor=page.next_cursor, **other)
    assert len(await app.find(tenant="acme", limit=2, cursor=page.next_cursor)) == 2


async def test_a_filter_says_nothing_of_other_tenants(app: Duetime) -> None:
    theirs = await app.schedule(Note(), tenant="acme", key="k", correlation_id="c")
    for arguments in ({"q": str(theirs.id)}, {"q": "k"}, {"key": "k"}, {"after": theirs.id}):
        page = await app.find(tenant="evil", **arguments)
        assert (len(page), page.next_cursor) == (0, None)
    assert len(await app.groups("kind", tenant="evil")) == 0


async def test_unknown_arguments_name_the_nearest(app: Duetime) -> None:
    with pytest.raises(InvalidArgument, match="did you mean 'state'"):
        await app.find(stat="failed")  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="did you mean 'kind'"):
        await app.groups("kinds")  # type: ignore[arg-type]


def test_two_thousand_failures_of_five_causes_fall_into_five_groups(
    app: Duetime, clock: FakeClock
) -> None:
    @app.handler(retry=Retry.none())
    async def fail(payload: Note) -> None:
        raise CAUSES[len(payload.text) % 5]()

    app.sync.schedule_many([(Note("x" * (n % 5)), clock.now()) for n in range(2000)])
    app.sync.testing.drain()
    groups = app.sync.groups("error")
    assert [(group.count, group.capped) for group in groups] == [(400, False)] * 5
    assert groups.examined_since is None
    for group in groups:
        page = app.sync.find(error_group=group.value, limit=200)
        assert page.items[0].id == group.newest_id
        assert {action.error_group for action in page} == {group.value}
        assert {action.state for action in page} == {State.failed}
    assert app.sync.find(finished_from=clock.now() + timedelta(seconds=1)).items == []
    chosen = groups.groups[2].value
    done = app.sync.bulk("retry", filter={"error_group": chosen})
    assert (done.changed, done.skipped, done.next_cursor) == (400, 0, None)
    assert {group.value for group in app.sync.groups("error")} == {
        group.value for group in groups if group.value != chosen
    }
    assert app.sync.stats().scheduled == 400
