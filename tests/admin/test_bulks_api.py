"""The routes of many actions: filters, groups, exports, bulks; and repeated actions."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest

from admin.client import OF_OTHER, OF_TENANT, Parcel, admin_of, client_of, problem, sent_by
from duetime import Duetime, Identity, Retry
from duetime.testing import FakeClock


@dataclass(frozen=True)
class Visit:
    """Of somebody, whom the error of its handler names."""

    name: str


async def found(client: httpx.AsyncClient, **query: Any) -> list[int]:
    response = await client.get("/api/actions", params=query)
    assert response.status_code == 200, response.text
    return [item["payload"]["order"] for item in response.json()["items"]]


async def test_actions_are_filtered_and_sorted(
    client: httpx.AsyncClient, app: Duetime, clock: FakeClock
) -> None:
    await app.schedule(Parcel(1), delay=300, priority="high", correlation_id="a", by="ann")
    await app.schedule(Parcel(2), delay=100, queue="slow")
    cancelled = await app.schedule(Parcel(3), delay=200)
    await app.cancel(cancelled.id)
    assert await found(client, state=["scheduled"]) == [2, 1]
    assert await found(client, state=["scheduled"], sort="due_at") == [2, 1]
    assert await found(client, state=["scheduled"], sort="-due_at") == [1, 2]
    assert await found(client, state=["scheduled", "cancelled"], kind=["parcel"]) == [3, 2, 1]
    assert await found(client, priority="high", by="ann", q="a") == [1]
    assert await found(client, overdue=True) == []
    assert await found(client, q=str(cancelled.id)[:8], state=["cancelled"]) == [3]
    due_before = (clock.now() + timedelta(seconds=150)).isoformat()
    assert await found(client, due_before=due_before, queue="slow") == [2]


async def test_groups_and_exports(client: httpx.AsyncClient, app: Duetime) -> None:
    newest = [await app.schedule(Parcel(number), delay=60) for number in range(3)][-1]
    groups = (await client.get("/api/actions/groups", params={"by": "kind"})).json()
    [group] = groups["groups"]
    assert (group["value"], group["count"], group["capped"]) == ("parcel", 3, False)
    assert group["newest_id"] == str(newest.id)
    exported = await client.get("/api/actions/export", params={"kind": "parcel"})
    assert exported.headers["content-type"] == "application/jsonl"
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert [line["payload"]["order"] for line in lines] == [2, 1, 0]


async def test_without_payload_read_errors_are_grouped_by_class(memory_app: Duetime) -> None:
    @memory_app.handler(kind="visit", retry=Retry(attempts=1))
    async def visit(of: Visit) -> None:
        raise ConnectionError(f"no road to {of.name}")

    for name in ("ann", "ann", "bob"):
        await memory_app.schedule(Visit(name))
    await memory_app.testing.drain()
    await memory_app.grants.set("support", "actions.read")
    counted = {}
    for reads in (False, True):
        await memory_app.grants.set("support", "payload.read", allowed=reads)
        asgi = memory_app.admin(identify=lambda _: Identity("sue", {"support"}))
        async with client_of(asgi, sender=None) as client:
            groups = (await client.get("/api/actions/groups", params={"by": "error"})).json()
            listed = (await client.get("/api/actions")).json()["items"]
        counted[reads] = {group["value"]: group["count"] for group in groups["groups"]}
        assert {item["error_group"] for item in listed} == counted[reads].keys()
    assert counted[False] == {"ConnectionError": 3}
    assert sorted(counted[True].values()) == [1, 2]
    assert "ann" in str(counted[True])


async def test_a_bulk_is_tried_dry_and_then_done(client: httpx.AsyncClient, app: Duetime) -> None:
    actions = [await app.schedule(Parcel(number), delay=60) for number in range(3)]
    body = {"verb": "cancel", "filter": {"kind": ["parcel"]}, "note": "over"}
    dry = (await client.post("/api/actions/bulk", json=body | {"dry_run": True})).json()
    assert (dry["count"], dry["capped"], len(dry["sample"])) == (3, False, 3)
    done = (await client.post("/api/actions/bulk", json=body)).json()
    assert (done["changed"], done["skipped"]) == (3, 0)
    assert {(await app.get(action.id)).state for action in actions} == {"cancelled"}
    entries = list(await app.audit.find(verb="cancel", by="root"))
    assert entries
    assert {(entry.source, entry.note) for entry in entries} == {("api", "over")}


async def test_a_bulk_needs_the_permission_of_its_verb(memory_app: Duetime) -> None:
    for permission in ("actions.bulk", "actions.cancel"):
        await memory_app.grants.set("till", permission)
    action = await memory_app.schedule(Parcel(), delay=60)
    asgi = memory_app.admin(identify=lambda request: Identity("till", {"till"}))
    async with client_of(asgi, sender=None) as client:
        for verb, allowed in (("cancel", True), ("retry", False), ("reschedule", False)):
            body = {"verb": verb, "ids": [str(action.id)], "dry_run": True}
            if verb == "reschedule":
                body["at"] = "2130-01-01T00:00:00Z"
            response = await client.post("/api/actions/bulk", json=body)
            assert (response.status_code == 200) == allowed, response.text
            if not allowed:
                assert (response.status_code, problem(response)) == (403, "permission-denied")


async def test_ids_of_other_tenants_in_a_bulk_are_none(memory_app: Duetime) -> None:
    own = await memory_app.schedule(Parcel(), delay=60, tenant="acme")
    async with client_of(admin_of(memory_app)) as client:
        body = {"verb": "cancel", "ids": [str(own.id)], "dry_run": True}
        other = await client.post("/api/actions/bulk", json=body, headers=sent_by(OF_OTHER))
        mine = await client.post("/api/actions/bulk", json=body, headers=sent_by(OF_TENANT))
        assert (other.json()["count"], other.json()["sample"]) == (0, [])
        assert mine.json()["count"] == 1
        await client.post(
            "/api/actions/bulk", json=body | {"dry_run": False}, headers=sent_by(OF_OTHER)
        )
        named = {"verb": "cancel", "filter": {"tenant": "acme"}}
        refused = await client.post("/api/actions/bulk", json=named, headers=sent_by(OF_OTHER))
        assert refused.status_code == 422
    assert (await memory_app.get(own.id, tenant="acme")).state == "scheduled"


async def test_a_finished_action_is_repeated_once(client: httpx.AsyncClient, app: Duetime) -> None:
    action = await app.schedule(Parcel(7), delay=60)
    path = f"/api/actions/{action.id}/repeat"
    early = await client.post(path)
    assert (early.status_code, problem(early)) == (409, "illegal-state")
    await app.cancel(action.id)
    headers = {"idempotency-key": "k"}
    first, again = [
        await client.post(path, json={"delay": 5, "note": "a mistake"}, headers=headers)
        for _ in range(2)
    ]
    assert (first.status_code, again.content) == (201, first.content)
    assert first.json()["payload"]["order"] == 7
    assert first.headers["location"] == f"/api/actions/{first.json()['id']}"
    changed = await client.post(path, json={"payload": {"order": 8}})
    assert changed.json()["payload"]["order"] == 8
    wrong = await client.post(path, json={"payload": {"order": "x"}})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "#/payload/order")


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "erase"},
        {"verb": "cancel"},
        {"verb": "cancel", "ids": ["x"]},
        {"verb": "cancel", "ids": [], "filter": {}},
        {"verb": "cancel", "filter": {"state": ["done"]}},
        {"verb": "cancel", "filter": {"colour": "red"}},
        {"verb": "reschedule", "filter": {"kind": ["parcel"]}},
        {"verb": "shift", "filter": {"kind": ["parcel"]}, "seconds": "60"},
        {"verb": "cancel", "filter": {"kind": ["parcel"]}, "cursor": "x"},
    ],
    ids=str,
)
async def test_what_is_no_bulk(memory_client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    response = await memory_client.post("/api/actions/bulk", json=body)
    assert response.status_code == 422, response.text
    problem(response)
