"""Acts on jobs with `If-Match`: done only to what their sender has read."""

import asyncio
from typing import Any

import httpx
import pytest

from admin.client import OF_OTHER, Parcel, admin_of, client_of, problem
from duetime import Duetime

PATH = "/api/jobs/shop-daily"
SPAN = {"start": "2029-12-01T00:00:00Z", "end": "2029-12-03T00:00:00Z", "dry_run": False}
ACTS: list[tuple[str, str, dict[str, Any] | None, int]] = [
    ("DELETE", "", None, 204),
    ("POST", "/pause", {}, 204),
    ("POST", "/resume", {}, 204),
    ("POST", "/restore", {}, 204),
    ("POST", "/trigger", {}, 202),
    ("POST", "/backfill", SPAN, 202),
]
every_act = pytest.mark.parametrize(
    ("method", "path", "body", "status"), ACTS, ids=[act[0] + act[1] for act in ACTS]
)


@every_act
async def test_an_act_is_refused_if_the_job_was_changed(
    client: httpx.AsyncClient,
    app: Duetime,
    method: str,
    path: str,
    body: dict[str, Any] | None,
    status: int,
) -> None:
    await app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel())
    read = (await client.get(PATH)).headers["etag"]
    await app.jobs.put("shop-daily", "0 7 * * *", payload=Parcel())
    before = await client.get(PATH)
    for stale in (read, 'W/"2"', "2", "x" * 5000):
        response = await client.request(method, PATH + path, json=body, headers={"if-match": stale})
        assert (response.status_code, problem(response)) == (412, "stale-version")
    assert (await client.get(PATH)).content == before.content
    assert [entry.verb for entry in await app.audit.find(subject="shop-daily")] == ["put", "put"]
    current = {"if-match": before.headers["etag"]}
    response = await client.request(method, PATH + path, json=body, headers=current)
    assert response.status_code == status, response.text


@every_act
async def test_nothing_is_said_of_the_version_of_an_absent_job(
    app: Duetime, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    """That of another tenant is one that never was."""
    await app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel(), tenant="acme")
    async with client_of(admin_of(app), OF_OTHER) as client:
        for place in (PATH, "/api/jobs/shop-never"):
            headers = {"if-match": '"7"'}
            response = await client.request(method, place + path, json=body, headers=headers)
            assert (response.status_code, problem(response)) == (404, "job-not-found")


async def test_of_acts_at_the_same_time_one_is_done(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    await app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel())
    answers = await asyncio.gather(
        *(
            client.post(f"{PATH}/pause", json={"note": str(number)}, headers={"if-match": '"1"'})
            for number in range(8)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [204, *([412] * 7)]


async def test_a_repeated_trigger_gets_the_first_answer(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    """Although the job was changed since."""
    await app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel())
    headers = {"if-match": '"1"', "idempotency-key": "k1"}
    first = await client.post(f"{PATH}/trigger", headers=headers)
    await app.jobs.pause("shop-daily")
    again = await client.post(f"{PATH}/trigger", headers=headers)
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content
