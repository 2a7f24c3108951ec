"""Requests with an `Idempotency-Key`: done once, answered again."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from admin.client import OF_OTHER, OF_TENANT, Parcel, admin_of, client_of, problem, sent_by
from duetime import ANY, Duetime, Identity
from duetime.model.answer import AnswerKey
from duetime.testing import FakeClock

BODY = {"kind": "parcel", "payload": {"order": 1}, "delay": 60}
CLERK = Identity("clerk", {"clerks"})
KEY = {"idempotency-key": "k1"}


async def test_a_repeated_request_gets_the_first_answer(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    first = await client.post("/api/actions", json=BODY, headers=KEY)
    assert first.status_code == 201
    await app.cancel(first.json()["id"])
    again = await client.post("/api/actions", json=BODY, headers=KEY)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len(await app.find()) == 1


async def test_requests_at_the_same_time_act_once(client: httpx.AsyncClient, app: Duetime) -> None:
    answers = await asyncio.gather(
        *(client.post("/api/actions", json=BODY, headers=KEY) for _ in range(8))
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(await app.find()) == 1


async def test_another_request_with_the_key_is_refused(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    await client.post("/api/actions", json=BODY, headers=KEY)
    other = await client.post("/api/actions", json=BODY | {"delay": 61}, headers=KEY)
    assert (other.status_code, problem(other)) == (422, "idempotency-key-reused")
    assert len(await app.find()) == 1


async def test_a_key_belongs_to_its_sender(app: Duetime) -> None:
    async with client_of(admin_of(app)) as client:
        for sender in (None, OF_TENANT, OF_OTHER):
            headers = KEY | sent_by(sender)
            assert (
                await client.post("/api/actions", json=BODY, headers=headers)
            ).status_code == 201
    assert len(await app.find(tenant=ANY)) == 3


@pytest.mark.parametrize("path", ["", "/many"])
async def test_a_repeated_answer_shows_what_its_sender_may_still_see(
    memory_app: Duetime, path: str
) -> None:
    for permission in ("actions.schedule", "payload.read"):
        await memory_app.grants.set("clerks", permission)
    body = {"actions": [BODY]} if path else BODY
    answers = []
    async with client_of(memory_app.admin(identify=lambda _: CLERK)) as client:
        for allowed in (True, False, True):
            await memory_app.grants.set("clerks", "payload.read", allowed=allowed)
            response = await client.post(f"/api/actions{path}", json=body, headers=KEY)
            assert response.status_code == 201
            answers.append(response)
    first, masked, last = (item for answer in answers for item in items(answer.json()))
    assert first["payload"] == {"order": 1, "text": ""}
    hidden = {"payload", "result", "progress"}
    assert masked == {name: value for name, value in first.items() if name not in hidden}
    assert (last, answers[2].content) == (first, answers[0].content)


@pytest.mark.parametrize("path", ["", "/many"])
async def test_what_is_erased_is_in_no_stored_answer(
    client: httpx.AsyncClient, app: Duetime, path: str
) -> None:
    personal = BODY | {"payload": {"text": "ann"}, "correlation_id": "ann"}
    body = {"actions": [personal]} if path else personal
    first = await client.post(f"/api/actions{path}", json=body, headers=KEY)
    assert "ann" in str(first.json())
    await app.erase(correlation_id="ann")
    again = await client.post(f"/api/actions{path}", json=body, headers=KEY)
    assert again.status_code == 201
    [before], [now] = items(first.json()), items(again.json())
    assert now["payload"] is None
    assert now == before | {"payload": None}


async def test_a_stored_answer_has_no_data_of_actions(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    personal = BODY | {"payload": {"text": "ann"}}
    await client.post("/api/actions", json=personal, headers=KEY)
    route = AnswerKey(None, "root", "POST /api/actions", "k1", "")
    store = app.runtime.store
    stored = await store.perform(store.take_key(route))
    assert stored is not None
    assert "ann" not in stored.document


async def test_an_answer_is_given_again_after_its_action_is_pruned(
    client: httpx.AsyncClient, app: Duetime, clock: FakeClock
) -> None:
    first = await client.post("/api/actions", json=BODY, headers=KEY)
    await app.cancel(first.json()["id"])
    clock.advance(timedelta(seconds=1))
    store = app.runtime.store
    assert await store.perform(store.prune(keep=0, keep_failed=0, limit=10)) == 1
    again = await client.post("/api/actions", json=BODY, headers=KEY)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
    assert again.json() == first.json() | {"payload": None}


def items(document: Any) -> list[Any]:
    found: list[Any] = document.get("items", [document])
    return found


async def test_a_refused_act_leaves_its_key_free(client: httpx.AsyncClient, app: Duetime) -> None:
    held = await app.schedule(Parcel(), delay=60, key="k")
    body = BODY | {"key": "k", "if_exists": "raise"}
    refused = await client.post("/api/actions", json=body, headers=KEY)
    assert (refused.status_code, problem(refused)) == (409, "duplicate-key")
    await app.cancel(held.id)
    assert (await client.post("/api/actions", json=body, headers=KEY)).status_code == 201


async def test_a_key_is_free_after_a_day(
    client: httpx.AsyncClient, app: Duetime, clock: FakeClock
) -> None:
    await client.post("/api/actions", json=BODY, headers=KEY)
    clock.advance(timedelta(days=1))
    await client.post("/api/actions", json=BODY, headers=KEY)
    assert len(await app.find()) == 1
    clock.advance(timedelta(seconds=1))
    await client.post("/api/actions", json=BODY, headers=KEY)
    assert len(await app.find()) == 2


async def test_many_actions_trigger_and_backfill_act_once(
    client: httpx.AsyncClient, app: Duetime, clock: FakeClock
) -> None:
    many = {"actions": [BODY, BODY | {"payload": {"order": 2}}]}
    first, second = [
        await client.post("/api/actions/many", json=many, headers=KEY) for _ in range(2)
    ]
    assert (first.status_code, second.content) == (201, first.content)
    assert [item["payload"]["order"] for item in first.json()["items"]] == [1, 2]
    assert len(await app.find()) == 2

    await app.jobs.put("shop-hourly", "0 * * * *", payload=Parcel(3))
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    span = {"start": (now - timedelta(hours=3)).isoformat(), "end": now.isoformat()}
    for path, body in (("trigger", {}), ("backfill", span | {"dry_run": False})):
        path = f"/api/jobs/shop-hourly/{path}"
        first, second = [await client.post(path, json=body, headers=KEY) for _ in range(2)]
        assert (first.status_code, second.content) == (202, first.content)
    assert len(await app.jobs.runs("shop-hourly")) == 4


async def test_an_act_for_another_job_is_another_request(
    memory_app: Duetime, memory_client: httpx.AsyncClient
) -> None:
    for name in ("shop-a", "shop-b"):
        await memory_app.jobs.put(name, "0 * * * *", payload=Parcel())
    first = await memory_client.post("/api/jobs/shop-a/trigger", headers=KEY)
    other = await memory_client.post("/api/jobs/shop-b/trigger", headers=KEY)
    assert (first.status_code, other.status_code) == (202, 422)


@pytest.mark.parametrize("key", ["", " ", "x" * 256])
async def test_keys_that_cannot_be(memory_client: httpx.AsyncClient, key: str) -> None:
    response = await memory_client.post("/api/actions", json=BODY, headers={"idempotency-key": key})
    assert (response.status_code, problem(response)) == (422, "invalid-argument")


async def test_an_invalid_item_is_pointed_at(memory_client: httpx.AsyncClient) -> None:
    body = {"actions": [BODY, BODY | {"payload": {"order": "x"}}]}
    response = await memory_client.post("/api/actions/many", json=body)
    assert (response.status_code, problem(response)) == (422, "invalid-payload")
    assert response.json()["errors"][0]["pointer"] == "#/actions/1/payload/order"
    too_many = await memory_client.post("/api/actions/many", json={"actions": [BODY] * 1001})
    assert (too_many.status_code, problem(too_many)) == (422, "invalid-argument")
