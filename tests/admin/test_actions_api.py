"""The routes of actions."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest

from admin.client import Parcel, problem
from duetime import Duetime, Retry
from duetime.testing import FakeClock

BIG = 10**40


async def test_a_journey_of_an_action(
    client: httpx.AsyncClient, app: Duetime, clock: FakeClock
) -> None:
    body = {"kind": "parcel", "payload": {"order": BIG}, "delay": 90, "correlation_id": "c"}
    body["note"] = "by phone"
    made = await client.post("/api/actions", json=body)
    assert made.status_code == 201
    document = made.json()
    assert document["payload"] == {"order": BIG, "text": ""}
    assert document["created"] is True
    assert document["created_by"] == "root"
    due = datetime.fromisoformat(document["due_at"])
    assert due == clock.now() + timedelta(seconds=90)
    path = made.headers["location"]
    assert path == f"/api/actions/{document['id']}"

    read = (await client.get(path)).json()
    assert read == {name: document[name] for name in document if name != "created"}
    at = (due + timedelta(days=1)).isoformat()
    moved = await client.put(f"{path}/reschedule", json={"at": at, "note": "later"})
    assert moved.status_code == 200
    assert datetime.fromisoformat(moved.json()["due_at"]) == due + timedelta(days=1)

    gone = await client.delete(path, params={"note": "not needed"})
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await client.get(path)).json()["state"] == "cancelled"
    again = await client.delete(path)
    assert (again.status_code, problem(again)) == (409, "illegal-state")
    assert again.json()["state"] == "cancelled"

    acts = (await app.audit.find(subject=document["id"])).items
    assert [(act.verb, act.by, act.source, act.note) for act in acts] == [
        ("cancel", "root", "api", "not needed"),
        ("reschedule", "root", "api", "later"),
        ("schedule", "root", "api", "by phone"),
    ]


async def test_a_failed_action_is_retried(client: httpx.AsyncClient, app: Duetime) -> None:
    @app.handler(kind="broken", retry=Retry(attempts=1))
    async def fail(parcel: Broken) -> None:
        raise RuntimeError("no bridge")

    action = await app.schedule(Broken())
    await app.testing.drain()
    path = f"/api/actions/{action.id}"
    found = (await client.get(path)).json()
    assert (found["state"], found["error"]) == ("failed", "RuntimeError: no bridge")
    runs = (await client.get(f"{path}/runs")).json()["items"]
    assert [(run["attempt"], run["outcome"]) for run in runs] == [(1, "failed")]
    retried = await client.post(f"{path}/retry", json={"note": "the bridge is back"})
    assert (retried.status_code, retried.json()["state"]) == (202, "scheduled")
    without_body = await client.post(f"{path}/retry")
    assert (without_body.status_code, without_body.json()["state"]) == (409, "scheduled")


class Broken(Parcel):
    """Of a kind whose handler raises."""


async def test_a_key_returns_the_action_that_holds_it(client: httpx.AsyncClient) -> None:
    body = {"kind": "parcel", "payload": {}, "delay": 60, "key": "k"}
    first, second = [await client.post("/api/actions", json=body) for _ in range(2)]
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["id"] == first.json()["id"]
    assert second.json()["created"] is False
    assert second.headers["location"] == first.headers["location"]


async def test_pages_show_each_action_once(client: httpx.AsyncClient, app: Duetime) -> None:
    made = [await app.schedule(Parcel(number), delay=60) for number in range(5)]
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": 2, "kind": "parcel"}
    while True:
        page = (await client.get("/api/actions", params=query)).json()
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == [str(action.id) for action in reversed(made)]


async def test_waiting_ends_with_the_action(
    memory_client: httpx.AsyncClient, memory_app: Duetime
) -> None:
    action = await memory_app.schedule(Parcel(), delay=60)
    early = await memory_client.get(f"/api/actions/{action.id}", params={"wait": 0.01})
    assert (early.status_code, early.json()["state"]) == (200, "scheduled")
    await memory_app.cancel(action.id)
    ended = await memory_client.get(f"/api/actions/{action.id}", params={"wait": 30})
    assert ended.json()["state"] == "cancelled"


async def test_a_child_waits_for_its_parent(client: httpx.AsyncClient, app: Duetime) -> None:
    parent = await app.schedule(Parcel(), delay=60)
    body = {"kind": "parcel", "payload": {}, "after": str(parent.id), "on": "finished"}
    made = await client.post("/api/actions", json=body)
    assert (made.json()["after"], made.json()["due_at"]) == (str(parent.id), None)
    orphan = await client.post("/api/actions", json=body | {"after": str(UUID(int=7))})
    assert (orphan.status_code, problem(orphan)) == (404, "action-not-found")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"at": "2030-01-01T00:00:00"}, "#/at"),
        ({"at": 1_900_000_000}, "#/at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "#/at"),
        ({"at": "9999-12-31T23:59:59-14:00"}, "#/at"),
        ({"delay": -1}, "#/delay"),
        ({"delay": "60"}, "#/delay"),
        ({"delay": True}, "#/delay"),
        ({"delay": 1e300}, "#/delay"),
        ({"delay": 1, "at": "2030-01-01T00:00:00Z"}, "#/delay"),
        ({"priority": "urgent"}, "#/priority"),
        ({"queue": ""}, "#/queue"),
        ({"queue": "a\x00b"}, "#/queue"),
        ({"key": "x" * 501}, "#/key"),
        ({"after": "parent"}, "#/after"),
        ({"on": "failed"}, "#/on"),
        ({"kind": 7}, "#/kind"),
        ({"kind": "parcels"}, "#/kind"),
        ({"payload": None}, "#/payload"),
        ({"payload": []}, "#/payload"),
        ({"if_exists": "ignore"}, "#/if_exists"),
        ({"note": "x" * 501}, "#/note"),
        ({"tenant": "acme"}, "#/tenant"),
        ({"by": "system"}, "#/by"),
    ],
)
async def test_what_cannot_be_scheduled(
    memory_client: httpx.AsyncClient, memory_app: Duetime, change: dict[str, object], pointer: str
) -> None:
    body = {"kind": "parcel", "payload": {}} | change
    response = await memory_client.post("/api/actions", json=body)
    assert response.status_code == 422, response.text
    problem(response)
    assert response.json()["errors"][0]["pointer"] == pointer
    assert len(await memory_app.find()) == 0


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": "x"},
        {"limit": "1e9"},
        {"cursor": "x"},
        {"cursor": "' OR 1=1 --"},
        {"cursor": ""},
        {"state": "done"},
        {"kind": "a\x00"},
        {"due_from": "yesterday"},
        {"due_from": "2030-01-01"},
        {"due_before": "0001-01-01T00:00:00+14:00"},
        {"sort": "payload"},
    ],
)
async def test_filters_that_mean_nothing(
    memory_client: httpx.AsyncClient, query: dict[str, object]
) -> None:
    response = await memory_client.get("/api/actions", params=query)  # type: ignore[arg-type]
    assert response.status_code == 422, response.text
    problem(response)
    named = response.json()["errors"][0]["parameter"]
    assert named.partition(".")[0] == next(iter(query))


NO_SUCH_PATHS = [
    "..%2f..",
    "%00",
    "a%2fb",
    "%ff",
    "x" * 5000,
    "00000000-0000-0000-0000-00000000000",
]


@pytest.mark.parametrize("name", NO_SUCH_PATHS)
async def test_ids_that_name_nothing(memory_client: httpx.AsyncClient, name: str) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("GET", "/runs")):
        response = await memory_client.request(method, f"/api/actions/{name}{path}")
        assert response.status_code == 404, response.text
        problem(response)


async def test_now_is_the_clock_of_the_store(client: httpx.AsyncClient, clock: FakeClock) -> None:
    made = await client.post("/api/actions", json={"kind": "parcel", "payload": {}})
    assert datetime.fromisoformat(made.json()["due_at"]) == clock.now().astimezone(UTC)
