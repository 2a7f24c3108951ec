"""Metrics by time and the timeline, over HTTP."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from admin.client import (
    OF_OTHER,
    OF_TENANT,
    Parcel,
    admin_of,
    client_of,
    problem,
    sent_by,
)
from duetime import Duetime, Identity
from duetime.testing import FakeClock

READER = Identity("reader", {"readers"})


async def ran(app: Duetime, tenant: str | None = None) -> None:
    """Run an action of a tenant, and let the worker store its figures."""
    async with app.worker():
        action = await app.schedule(Parcel(), tenant=tenant)
        await app.wait(action.id, tenant=tenant, timeout=20)


def hour(clock: FakeClock) -> dict[str, str]:
    now = clock.now()
    times = {"start": now - timedelta(minutes=30), "end": now + timedelta(minutes=30)}
    return {name: at.isoformat() for name, at in times.items()}


async def test_a_metric_by_time(client: httpx.AsyncClient, app: Duetime) -> None:
    await ran(app)
    series = (await client.get("/api/series", params={"metric": "executed", "by": "kind"})).json()
    [line] = series["lines"]
    assert (line["value"], sum(point["value"] for point in line["points"])) == ("parcel", 1)
    assert (series["metric"], series["by"], series["step"]) == ("executed", "kind", 60)
    assert len(line["points"]) == 60
    whole = {"metric": "executed", "since": series["since"], "until": series["until"]}
    by_half = (await client.get("/api/series", params=whole | {"step": "1800"})).json()
    assert [point["value"] for point in by_half["lines"][0]["points"]] == [0, 1]


async def test_the_timeline(client: httpx.AsyncClient, app: Duetime, clock: FakeClock) -> None:
    await ran(app)
    coming = await app.schedule(Parcel(), delay=600)
    await app.jobs.put("shop-daily", "* * * * *", payload=Parcel())
    timeline = (await client.get("/api/timeline", params=hour(clock))).json()
    assert [item["state"] for item in timeline["ran"]] == ["succeeded"]
    assert [item["id"] for item in timeline["scheduled"]] == [str(coming.id)]
    [job] = timeline["ticks"]
    assert (job["job"], len(job["ticks"])) == ("shop-daily", 29)


async def test_the_ticks_of_jobs_need_another_right(memory_app: Duetime, clock: FakeClock) -> None:
    await memory_app.jobs.put("shop-daily", "* * * * *", payload=Parcel())
    await memory_app.grants.set("readers", "actions.read")
    asgi = memory_app.admin(identify=lambda _: READER)
    async with client_of(asgi, READER) as client:
        without = (await client.get("/api/timeline", params=hour(clock))).json()
        await memory_app.grants.set("readers", "jobs.read")
        with_jobs = (await client.get("/api/timeline", params=hour(clock))).json()
    assert set(with_jobs) - set(without) == {"ticks", "ticks_capped"}
    assert "shop-daily" not in str(without)
    assert with_jobs["ticks"][0]["job"] == "shop-daily"


async def test_both_are_of_the_tenant(app: Duetime, clock: FakeClock) -> None:
    await ran(app, tenant="acme")
    await app.jobs.put("shop-daily", "* * * * *", payload=Parcel(), tenant="acme")
    async with client_of(admin_of(app)) as client:
        for sender, tenant, runs in (
            (OF_TENANT, None, 1),
            (OF_OTHER, None, 0),
            (None, "acme", 1),
            (None, "", 0),
        ):
            query = {} if tenant is None else {"tenant": tenant}
            headers = sent_by(sender)
            params: dict[str, Any] = {"metric": "executed"} | query
            series = (await client.get("/api/series", params=params, headers=headers)).json()
            assert sum(point["value"] for point in series["lines"][0]["points"]) == runs
            timeline = await client.get(
                "/api/timeline", params=hour(clock) | query, headers=headers
            )
            assert [len(timeline.json()[name]) for name in ("ran", "ticks")] == [runs, runs]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"metric": "rows"},
        {"metric": "executed", "by": "tenant"},
        {"metric": "executed", "step": "59"},
        {"metric": "executed", "step": "0"},
        {"metric": "executed", "step": "nan"},
        {"metric": "executed", "step": "inf"},
        {"metric": "executed", "step": "1e308"},
        {"metric": "executed", "step": "60", "since": "0001-01-01T00:00:00Z"},
        {"metric": "executed", "since": "9999-12-31T00:00:00Z"},
        {"metric": "executed", "since": "2030-01-01T00:00:00"},
        {"metric": "executed", "since": "0001-01-01T00:00:00+23:59"},
        {"metric": "executed", "until": "0001-01-01T00:00:00Z"},
        {"metric": "executed", "more": "1"},
    ],
)
async def test_series_that_cannot_be(
    memory_client: httpx.AsyncClient, query: dict[str, str]
) -> None:
    response = await memory_client.get("/api/series", params=query)
    assert (response.status_code, problem(response)) == (422, "invalid-argument")


SINCE = "2030-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"start": SINCE},
        {"start": SINCE, "end": SINCE},
        {"start": SINCE, "end": "2029-12-31T00:00:00Z"},
        {"start": SINCE, "end": "2031-01-03T00:00:00Z"},
        {"start": "0001-01-01T00:00:00Z", "end": "9999-12-31T23:59:59Z"},
        {"start": "0001-01-01T00:00:00+14:00", "end": "0001-01-02T00:00:00Z"},
        {"start": SINCE, "end": "2030-02-01T00:00:00Z", "limit": "501"},
        {"start": SINCE, "end": "2030-02-01T00:00:00Z", "limit": "0"},
        {"start": "1", "end": "2"},
    ],
)
async def test_timelines_that_cannot_be(
    memory_client: httpx.AsyncClient, query: dict[str, str]
) -> None:
    response = await memory_client.get("/api/timeline", params=query)
    assert (response.status_code, problem(response)) == (422, "invalid-argument")


async def test_a_timeline_of_a_year_is_shown(memory_client: httpx.AsyncClient) -> None:
    params = {"start": SINCE, "end": "2031-01-01T00:00:00Z", "limit": "500"}
    assert (await memory_client.get("/api/timeline", params=params)).status_code == 200
