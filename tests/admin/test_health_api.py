"""The routes of the API itself, of figures and kinds, and of the audit log."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from admin.client import ADMINISTRATOR, NOBODY, OF_TENANT, Parcel, admin_of, client_of, sent_by
from duetime import Duetime
from duetime.model.access.permissions import PERMISSIONS, STORE_WIDE


async def test_the_process_answers_to_everybody(app: Duetime) -> None:
    async with client_of(admin_of(app), sender=None) as client:
        for path in ("/api/health", "/api/ready"):
            response = await client.get(path)
            assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_everybody_learns_who_they_are(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app)) as client:
        root = (await client.get("/api/me")).json()
        assert (root["user"], root["tenant"], root["administrator"]) == ("root", None, True)
        assert root["permissions"] == list(PERMISSIONS)
        tina = (await client.get("/api/me", headers=sent_by(OF_TENANT))).json()
        assert (tina["user"], tina["tenant"], tina["administrator"]) == ("tina", "acme", False)
        assert set(tina["permissions"]) == set(PERMISSIONS) - STORE_WIDE
        nobody = (await client.get("/api/me", headers=sent_by(NOBODY))).json()
        assert nobody["permissions"] == []


async def test_figures(client: httpx.AsyncClient, app: Duetime) -> None:
    await app.schedule(Parcel(), delay=60)
    stats = (await client.get("/api/stats")).json()
    assert (stats["scheduled"], stats["overdue"], stats["workers"]) == (1, 0, [])


async def test_kinds_have_their_schemas(memory_client: httpx.AsyncClient) -> None:
    [kind] = (await memory_client.get("/api/kinds")).json()["items"]
    assert (kind["kind"], kind["version"], kind["queue"]) == ("parcel", 1, "default")
    assert kind["payload"]["properties"]["order"]["type"] == "integer"


@dataclass(frozen=True)
class Hook:
    """Has a part of which there is no JSON Schema."""

    call: Callable[[], int] | None = None


async def test_a_kind_without_a_schema_leaves_those_of_others(
    memory_app: Duetime, memory_client: httpx.AsyncClient
) -> None:
    memory_app.payload(Hook, kind="hook")
    hook, parcel = (await memory_client.get("/api/kinds")).json()["items"]
    assert (hook["kind"], hook["payload"]) == ("hook", {})
    assert parcel["payload"]["properties"]


async def test_the_audit_log_is_found_and_exported(client: httpx.AsyncClient, app: Duetime) -> None:
    actions = [await app.schedule(Parcel(), delay=60) for _ in range(3)]
    for action in actions:
        await client.delete(f"/api/actions/{action.id}", params={"note": "x"})
    page = (await client.get("/api/audit", params={"limit": 2, "by": "root"})).json()
    rest = await client.get(
        "/api/audit", params={"limit": 2, "by": "root", "cursor": page["next_cursor"]}
    )
    entries = page["items"] + rest.json()["items"]
    assert [entry["subject_id"] for entry in entries] == [str(a.id) for a in reversed(actions)]
    assert {(entry["verb"], entry["source"], entry["note"]) for entry in entries} == {
        ("cancel", "api", "x")
    }
    exported = await client.get("/api/audit/export", params={"by": "root"})
    assert exported.headers["content-type"] == "application/jsonl"
    assert [json.loads(line) for line in exported.text.splitlines()] == entries
    other = await client.get("/api/audit", params={"verb": "cancel", "cursor": page["next_cursor"]})
    assert other.status_code == 422


async def test_the_audit_log_is_of_the_tenant(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app), ADMINISTRATOR) as client:
        for tenant in ("acme", "other", None):
            action = await memory_app.schedule(Parcel(), delay=60, tenant=tenant)
            await client.delete(f"/api/actions/{action.id}")
        seen = (await client.get("/api/audit", headers=sent_by(OF_TENANT))).json()["items"]
        assert [entry["tenant"] for entry in seen] == ["acme"]
        assert "address" not in seen[0]
        all_entries = (await client.get("/api/audit")).json()["items"]
        assert [entry["tenant"] for entry in all_entries] == [None, "other", "acme"]
        assert all(entry["address"] for entry in all_entries)
