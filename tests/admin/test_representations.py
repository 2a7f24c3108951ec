"""What was changed, for those who prefer it to an empty answer; what problems say of errors."""

from typing import Any

import httpx
import pytest

from admin.client import NOBODY, Parcel, admin_of, client_of, sent_by
from admin.test_jobs_api import DAILY, PATH
from admin.test_openapi import current
from duetime import Duetime
from duetime.admin.declarations import declaration_of
from duetime.admin.router import all_endpoints
from duetime.errors import InvalidRecurrence, StaleVersion
from duetime.model.problem import problem_members

PREFER = {"prefer": "return=representation"}


async def paths_to_change(app: Duetime) -> dict[tuple[str, str], tuple[str, str]]:
    """A path for each route that answers 204 or 200, and a field that its document has."""
    action = await app.schedule(Parcel(), delay=60)
    job = (await app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel())).name
    grant = await app.grants.set("till", "jobs.read")
    key = await app.api_keys.create("till", ["till"])
    muted = await app.notifications.add("*", in_app=True)
    return {
        ("DELETE", "/api/actions/{id}"): (f"/api/actions/{action.id}", "state"),
        ("POST", "/api/jobs/{name}/pause"): (f"/api/jobs/{job}/pause", "paused_at"),
        ("POST", "/api/jobs/{name}/resume"): (f"/api/jobs/{job}/resume", "state"),
        ("POST", "/api/jobs/{name}/restore"): (f"/api/jobs/{job}/restore", "removed"),
        ("POST", "/api/queues/{name:path}/pause"): ("/api/queues/letters/pause", "ignored_by"),
        ("POST", "/api/queues/{name:path}/resume"): ("/api/queues/letters/resume", "resumed"),
        ("DELETE", "/api/grants/{id}"): (f"/api/grants/{grant.id}", "permission"),
        ("DELETE", "/api/api-keys/{id}"): (f"/api/api-keys/{key.id}", "roles"),
        ("POST", "/api/subscriptions/{id}/mute"): (f"/api/subscriptions/{muted.id}/mute", "state"),
        ("POST", "/api/notifications/read"): ("/api/notifications/read", "read"),
    }


def body_for(path: str) -> dict[str, str] | None:
    return {"until": "2131-01-01T00:00:00Z"} if path.endswith("/mute") else None


@pytest.mark.parametrize("prefer", ["return=representation", "wait=5, Return=Representation"])
async def test_what_was_changed_is_answered_to_those_who_prefer_it(
    client: httpx.AsyncClient, app: Duetime, prefer: str
) -> None:
    for (method, _), (path, field) in (await paths_to_change(app)).items():
        response = await client.request(
            method, path, json=body_for(path), headers={"prefer": prefer}
        )
        assert response.status_code == 200, response.text
        assert response.headers["preference-applied"] == "return=representation"
        assert field in response.json()


@pytest.mark.parametrize("prefer", [None, "return=minimal", "respond-async"])
async def test_others_get_an_empty_answer(
    memory_client: httpx.AsyncClient, memory_app: Duetime, prefer: str | None
) -> None:
    headers = {} if prefer is None else {"prefer": prefer}
    for (method, _), (path, _) in (await paths_to_change(memory_app)).items():
        response = await memory_client.request(method, path, json=body_for(path), headers=headers)
        assert (response.status_code, response.content) == (204, b"")


async def test_every_such_route_is_documented_and_tried(memory_app: Duetime) -> None:
    tried = {*await paths_to_change(memory_app)}
    assert tried == {
        (route.method, route.path)
        for route in map(declaration_of, all_endpoints())
        if route.represents
    }
    paths = (await current())["paths"]
    for method, path in tried:
        operation = paths[path.replace(":path", "")][method.lower()]
        assert {"200", "204"} <= operation["responses"].keys()
        assert "Prefer" in {item["name"] for item in operation["parameters"]}


async def test_data_stay_hidden_from_those_who_may_not_read_them(memory_app: Duetime) -> None:
    action = await memory_app.schedule(Parcel(text="private"), delay=60)
    await memory_app.grants.set("visitors", "actions.cancel")
    async with client_of(admin_of(memory_app)) as client:
        headers = PREFER | sent_by(NOBODY)
        response = await client.delete(f"/api/actions/{action.id}", headers=headers)
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")
    assert "private" not in response.text


async def test_a_problem_tells_the_attributes_of_its_error(
    memory_client: httpx.AsyncClient, memory_app: Duetime
) -> None:
    held = await memory_app.schedule(Parcel(), key="k", delay=60)
    body = {"kind": "parcel", "payload": {}, "key": "k", "if_exists": "raise"}
    taken = (await memory_client.post("/api/actions", json=body)).json()
    assert (taken["key"], taken["kind"], taken["action_id"]) == ("k", "parcel", str(held.id))
    failed = (await memory_client.post(f"/api/actions/{held.id}/retry")).json()
    named = (failed["verb"], failed["action_id"], failed["state"])
    assert named == ("retry", str(held.id), "scheduled")
    unknown = await memory_client.post("/api/actions", json={"kind": "parcle", "payload": {}})
    assert unknown.json()["kind"] == "parcle"
    denied = await memory_client.get("/api/jobs", headers=sent_by(NOBODY))
    assert denied.json()["permission"] == "jobs.read"


def test_a_subclass_tells_what_its_base_class_does_unless_it_says_more() -> None:
    assert problem_members(StaleVersion("shop-daily", 1, 2)) == {
        "verb": "edit",
        "name": "shop-daily",
        "given": 1,
        "found": 2,
    }
    wrong = InvalidRecurrence("recurrence", "61 * * * *", "no such minute", field="minute")
    assert problem_members(wrong) == {
        "argument": "recurrence",
        "remedy": "no such minute",
        "field": "minute",
    }


@pytest.mark.parametrize(
    ("retry", "shown"),
    [
        ({"delays": [1, 20.5]}, "delays=(1.0, 20.5)"),
        ({"attempts": 4, "jitter": False}, "jitter=False"),
    ],
)
async def test_a_job_takes_every_retry_that_a_store_keeps(
    memory_client: httpx.AsyncClient, retry: dict[str, Any], shown: str
) -> None:
    made = await memory_client.put(PATH, json=DAILY | {"retry": retry})
    assert made.status_code == 201, made.text
    assert shown in made.json()["retry"]


async def test_a_job_takes_the_misfire_that_it_shows(memory_client: httpx.AsyncClient) -> None:
    every = '{"all": {"limit": 7, "window": 3600.0}}'
    made = await memory_client.put(PATH, json=DAILY | {"misfire": every})
    assert (made.status_code, made.json()["misfire"]) == (201, every)


@pytest.mark.parametrize(
    "misfire", ["sometimes", "{", '{"all": 1}', '{"all": {"limit": 0}}', '{"all":' + "[" * 9000]
)
async def test_a_misfire_that_cannot_be(memory_client: httpx.AsyncClient, misfire: str) -> None:
    refused = await memory_client.put(PATH, json=DAILY | {"misfire": misfire})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith("#/misfire")
