"""The routes of jobs, and of recurrences."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest

from admin.client import OF_OTHER, Parcel, admin_of, client_of, problem
from duetime import Duetime, Every
from duetime.admin import rule_preview
from duetime.testing import FakeClock

DAILY: dict[str, Any] = {
    "kind": "parcel",
    "payload": {"order": 7},
    "recurrence": "30 2 * * *",
    "tz": "Europe/Paris",
}
PATH = "/api/jobs/shop-daily"


async def test_a_journey_of_a_job(client: httpx.AsyncClient, app: Duetime) -> None:
    made = await client.put(PATH, json=DAILY | {"note": "asked for"})
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    read = await client.get(PATH)
    assert read.json() == made.json()
    assert read.json()["payload"] == {"order": 7, "text": ""}
    assert read.headers["etag"] == '"1"'

    without_payload = {name: DAILY[name] for name in DAILY if name != "payload"}
    edit = without_payload | {"recurrence": "0 6 * * 1"}
    edited = await client.put(PATH, json=edit, headers={"if-match": '"1"'})
    assert (edited.status_code, edited.headers["etag"]) == (200, '"2"')
    assert edited.json()["payload"] == {"order": 7, "text": ""}
    assert edited.json()["recurrence"] == "0 6 * * 1"

    assert (await client.post(f"{PATH}/pause", json={"note": "flood"})).status_code == 204
    paused = (await client.get(PATH)).json()
    assert (paused["state"], paused["paused_by"], paused["pause_note"]) == (
        "paused",
        "root",
        "flood",
    )
    assert (await client.post(f"{PATH}/resume")).status_code == 204
    assert (await client.get(PATH)).json()["enabled"] is True

    triggered = await client.post(f"{PATH}/trigger", json={"note": "now"})
    assert triggered.status_code == 202
    action = await client.get(triggered.headers["location"])
    assert action.json()["job"] == "shop-daily"
    runs = (await client.get(f"{PATH}/runs")).json()["items"]
    assert [run["action_id"] for run in runs] == [action.json()["id"]]

    assert (await client.delete(PATH, params={"note": "over"})).status_code == 204
    assert (await client.get(PATH)).status_code == 404
    removed = (await client.get("/api/jobs", params={"removed": True})).json()["items"]
    assert [job["name"] for job in removed] == ["shop-daily"]
    assert (await client.post(f"{PATH}/restore")).status_code == 204
    assert (await client.get(PATH)).status_code == 200

    acts = list(reversed((await app.audit.find(subject="shop-daily")).items))
    assert [act.verb for act in acts] == [
        *("put", "put", "pause", "resume", "trigger", "remove", "restore")
    ]
    assert {(act.by, act.source) for act in acts} == {("root", "api")}
    assert [act.note for act in acts][:3] == ["asked for", None, "flood"]


async def test_a_backfill_is_tried_dry_first(client: httpx.AsyncClient, clock: FakeClock) -> None:
    await client.put(PATH, json=DAILY | {"recurrence": "0 * * * *", "tz": "UTC"})
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    span = {"start": (now - timedelta(hours=2)).isoformat(), "end": now.isoformat()}
    dry = await client.post(f"{PATH}/backfill", json=span)
    assert (dry.status_code, len(dry.json()["ticks"]), dry.json()["dry_run"]) == (200, 2, True)
    assert (await client.get(f"{PATH}/runs")).json()["items"] == []
    wet = await client.post(f"{PATH}/backfill", json=span | {"dry_run": False})
    assert (wet.status_code, wet.json()["ticks"]) == (202, dry.json()["ticks"])
    assert len((await client.get(f"{PATH}/runs")).json()["items"]) == 2


async def test_jobs_are_filtered_and_sorted(client: httpx.AsyncClient, app: Duetime) -> None:
    for name in ("shop-a", "shop-b", "till-a"):
        await app.jobs.put(name, "0 3 * * *", payload=Parcel())
    paused = await client.post(
        "/api/jobs/bulk", json={"verb": "pause", "names": ["shop-a", "shop-no"], "note": "x"}
    )
    assert paused.json() == {
        "changed": ["shop-a"],
        "unchanged": [],
        "not_found": ["shop-no"],
        "unreadable": [],
    }

    async def names(**query: Any) -> list[str]:
        found = await client.get("/api/jobs", params=query)
        return [job["name"] for job in found.json()["items"]]

    assert await names(q="shop", sort="-name") == ["shop-b", "shop-a"]
    assert await names(state="paused") == ["shop-a"]
    assert await names(enabled=True, kind="parcel") == ["shop-b", "till-a"]
    [act] = (await app.audit.find(subject="shop-a", verb="pause")).items
    assert (act.by, act.source, act.note) == ("root", "api", "x")


async def test_a_job_has_a_retry_and_a_timeout_of_its_own(client: httpx.AsyncClient) -> None:
    body = DAILY | {"retry": {"attempts": 3, "delay": 10}, "timeout": 90}
    made = await client.put(PATH, json=body)
    assert made.status_code == 201, made.text
    assert "attempts=3" in made.json()["retry"]
    assert made.json()["timeout"] == 90
    wrong = await client.put("/api/jobs/shop-other", json=body | {"retry": {"attempts": 0}})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "#/retry/attempts")


@pytest.mark.parametrize(
    ("if_match", "status", "name"),
    [
        (None, 428, "precondition-required"),
        ('"7"', 412, "stale-version"),
        ('W/"1"', 412, "stale-version"),
        ("1", 412, "stale-version"),
        ("x" * 5000, 412, "stale-version"),
        ('"1"', 200, None),
        ('"9", "1"', 200, None),
        ("*", 200, None),
    ],
)
async def test_an_edit_names_the_version_that_it_is_of(
    memory_client: httpx.AsyncClient, if_match: str | None, status: int, name: str | None
) -> None:
    await memory_client.put(PATH, json=DAILY)
    headers = {} if if_match is None else {"if-match": if_match}
    response = await memory_client.put(PATH, json=DAILY | {"priority": "high"}, headers=headers)
    assert response.status_code == status
    job = (await memory_client.get(PATH)).json()
    assert job["priority"] == ("normal" if name else "high")
    if name:
        assert problem(response) == name


async def test_a_job_that_is_not_there_has_no_version(memory_client: httpx.AsyncClient) -> None:
    for if_match in ('"1"', "*"):
        response = await memory_client.put(PATH, json=DAILY, headers={"if-match": if_match})
        assert (response.status_code, problem(response)) == (412, "stale-version")


async def test_names_of_jobs_are_global(memory_app: Duetime) -> None:
    memory_app.job("0 3 * * *", name="shop-coded")(_nothing)
    await memory_app.jobs.put("shop-acme", "0 3 * * *", payload=Parcel(), tenant="acme")
    async with client_of(admin_of(memory_app), OF_OTHER) as client:
        for name in ("shop-acme", "shop-coded"):
            response = await client.put(f"/api/jobs/{name}", json=DAILY)
            assert (response.status_code, problem(response)) == (409, "job-name-taken")
            assert "acme" not in response.json()["detail"].replace(name, "")
        for path in ("", "/runs", "/preview"):
            response = await client.get(f"/api/jobs/shop-acme{path}")
            assert (response.status_code, problem(response)) == (404, "job-not-found")


async def _nothing() -> None: ...


@pytest.mark.parametrize("name", ["x-health", "shop-ready", "api-static", "my-openapi-json"])
async def test_a_name_exempts_no_path(memory_app: Duetime, name: str) -> None:
    async with client_of(admin_of(memory_app), sender=None) as client:
        for path in ("", "/runs", "/health"):
            assert (await client.get(f"/api/jobs/{name}{path}")).status_code == 401


@pytest.mark.parametrize("name", ["a", "A-B", "a_b-c", "a--b", "x" * 300, "é-b"])
async def test_names_that_no_job_can_have(memory_client: httpx.AsyncClient, name: str) -> None:
    made = await memory_client.put(f"/api/jobs/{name}", json=DAILY)
    assert made.status_code == 422
    assert made.json()["errors"][0]["parameter"] == "name"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"recurrence": "61 * * * *"}, "#/recurrence"),
        ({"recurrence": "0 0 30 2 *"}, "#/recurrence"),
        ({"recurrence": "1--100000000 * * * *"}, "#/recurrence"),
        ({"recurrence": "0 " * 600}, "#/recurrence"),
        ({"recurrence": {"every": "x"}}, "#/recurrence"),
        ({"recurrence": {"any_of": []}}, "#/recurrence"),
        ({"recurrence": '{"every": 1'}, "#/recurrence"),
        ({"recurrence": 60}, "#/recurrence"),
        ({"tz": "Mars/Olympus"}, "#/tz"),
        ({"tz": "../../etc/passwd"}, "#/tz"),
        ({"starts_at": "9999-12-31T23:59:59-14:00"}, "#/starts_at"),
        ({"ends_at": "0001-01-01T00:00:00+14:00"}, "#/ends_at"),
        ({"misfire": "never"}, "#/misfire"),
        ({"overlap": "merge"}, "#/overlap"),
        ({"jitter": 1e9}, "#/jitter"),
        ({"alert_after": 0}, "#/alert_after"),
        ({"alert_after": 2.5}, "#/alert_after"),
        ({"payload": {"order": "x"}}, "#/payload/order"),
        ({"kind": "letter"}, "#/kind"),
    ],
)
async def test_what_is_no_job(
    memory_client: httpx.AsyncClient, change: dict[str, Any], pointer: str
) -> None:
    response = await memory_client.put(PATH, json=DAILY | change)
    assert response.status_code == 422, response.text
    problem(response)
    pointers = [error["pointer"] for error in response.json()["errors"]]
    assert any(found.startswith(pointer) for found in pointers), pointers
    assert (await memory_client.get(PATH)).status_code == 404


async def test_a_new_job_needs_a_payload(memory_client: httpx.AsyncClient) -> None:
    body = {name: DAILY[name] for name in DAILY if name != "payload"}
    response = await memory_client.put(PATH, json=body)
    assert (response.status_code, problem(response)) == (422, "invalid-payload")


RULES: list[Any] = [
    "*/5 * * * *",
    {"every": 90},
    '{"every":90}',
    {"instants": ["2130-01-01T00:00:00+00:00"]},
    {"any_of": [{"cron": "0 1 * * *", "tz": "UTC"}, {"every": 3600}]},
    {"rule": {"every": 3600}, "without": {"dates": ["2030-01-01"]}},
]


@pytest.mark.parametrize("rule", RULES, ids=str)
async def test_rules_come_back_as_they_are_shown(
    memory_client: httpx.AsyncClient, rule: Any
) -> None:
    body = {"kind": "parcel", "payload": {}, "recurrence": rule}
    made = await memory_client.put(PATH, json=body)
    assert made.status_code == 201, made.text
    again = body | {"recurrence": made.json()["recurrence"]}
    same = await memory_client.put(PATH, json=again, headers={"if-match": '"1"'})
    assert (same.status_code, same.headers["etag"]) == (200, '"1"')
    shown = await memory_client.get(f"{PATH}/preview", params={"count": 1})
    assert len(shown.json()["ticks"]) == 1


async def test_a_preview_tells_of_clock_changes(
    memory_client: httpx.AsyncClient, clock: FakeClock
) -> None:
    body = {"recurrence": "30 2 29 3 *", "tz": "Europe/Paris", "count": 50}
    preview = (await memory_client.post("/api/recurrences/preview", json=body)).json()
    assert preview["words"]
    noted = [tick for tick in preview["ticks"] if tick["note"]]
    assert noted
    assert all("gap" in tick["note"] for tick in noted)
    assert all(tick["local"][11:16] == "03:00" for tick in noted)


@pytest.mark.parametrize("count", [0, 51, 1e9, "5", True, None])
async def test_a_preview_has_its_limits(memory_client: httpx.AsyncClient, count: Any) -> None:
    body = {"recurrence": "* * * * *", "count": count}
    response = await memory_client.post("/api/recurrences/preview", json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "#/count"


# Every second without every second but one in 25 hours: a search for one tick asks 90,000 times.
RARE = {"rule": {"every": 1}, "without": {"rules": [{"every": 90_000}]}}
SPARSE = {"rule": {"every": 1}, "without": {"rules": [RARE]}}


async def test_a_preview_ends_even_if_nothing_is_found(
    memory_client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at the time after every few checks: here each look takes 20 ms."""
    checks, looks = count(), count()
    latest = Every.latest

    def counted(rule: Every, after: datetime, until: datetime) -> datetime | None:
        next(checks)
        return latest(rule, after, until)

    monkeypatch.setattr(Every, "latest", counted)
    monkeypatch.setattr(rule_preview, "perf_counter", lambda: next(looks) / 50)
    made = await memory_client.put(PATH, json=DAILY | {"recurrence": SPARSE, "tz": "UTC"})
    assert made.status_code == 201
    for method, path in (("POST", "/api/recurrences/preview"), ("GET", f"{PATH}/preview")):
        before = next(checks)
        body = {"recurrence": SPARSE} if method == "POST" else None
        shown = await memory_client.request(method, path, json=body)
        assert (shown.status_code, shown.json()["ticks"]) == (200, [])
        assert next(checks) - before < 10_000
