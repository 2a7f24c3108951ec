"""The routes of queues, workers and reasons."""

import httpx
import pytest

from admin.client import OF_TENANT, Parcel, admin_of, client_of, problem
from duetime import Duetime


@pytest.mark.parametrize("name", ["letters", "a/b", "ünï", "pause", "a b"])
async def test_a_queue_is_paused_and_resumed(
    client: httpx.AsyncClient, app: Duetime, name: str
) -> None:
    action = await app.schedule(Parcel(), queue=name)
    path = f"/api/queues/{name}"
    until = "2130-01-31T09:00:00+01:00"
    paused = await client.post(f"{path}/pause", json={"note": "flood", "until": until})
    assert paused.status_code == 204
    [queue] = (await client.get("/api/queues")).json()["items"]
    assert (queue["name"], queue["paused_by"], queue["pause_note"]) == (name, "root", "flood")
    assert (queue["scheduled"], queue["paused_until"]) == (1, "2130-01-31T08:00:00Z")
    why = (await client.get(f"/api/actions/{action.id}/why")).json()["reasons"]
    assert "queue-paused" in [reason["code"] for reason in why]
    assert all(reason["text"] for reason in why)

    assert (await client.post(f"{path}/resume")).status_code == 204
    [queue] = (await client.get("/api/queues")).json()["items"]
    assert queue["paused_at"] is None
    acts = (await app.audit.find(subject=name)).items
    assert [(act.verb, act.by, act.source) for act in acts] == [
        ("resume", "root", "api"),
        ("pause", "root", "api"),
    ]


async def test_a_pause_must_end_later(memory_client: httpx.AsyncClient) -> None:
    body = {"until": "2001-01-01T00:00:00Z"}
    response = await memory_client.post("/api/queues/letters/pause", json=body)
    assert (response.status_code, problem(response)) == (422, "invalid-argument")
    assert response.json()["errors"][0]["pointer"] == "#/until"


async def test_workers_are_listed(client: httpx.AsyncClient, app: Duetime) -> None:
    async with app.worker() as worker:
        [found] = (await client.get("/api/workers")).json()["items"]
        assert found["id"] == worker.id
        assert found["kinds"] == ["parcel"]


async def test_what_is_of_all_tenants_is_not_for_those_of_one(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app), OF_TENANT) as client:
        for method, path in (
            *(("GET", "/api/queues"), ("GET", "/api/workers"), ("GET", "/api/transitions")),
            *(("POST", "/api/queues/x/pause"), ("POST", "/api/queues/x/resume")),
            *(("GET", "/api/transitions/pending"), ("POST", "/api/transitions/sweep")),
        ):
            response = await client.request(method, path)
            assert (response.status_code, problem(response)) == (403, "permission-denied")
        stats = (await client.get("/api/stats")).json()
        assert "workers" not in stats
