"""The routes of grants and API keys; rights as they follow from them."""

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from admin.client import ADMINISTRATOR, OF_TENANT, Parcel, admin_of, client_of, problem
from duetime import Duetime, Identity, Retry, Secret


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def make_key(client: httpx.AsyncClient, role: str, tenant: str | None = None) -> str:
    body = {"name": "a till", "roles": [role], "tenant": tenant}
    made = await client.post("/api/api-keys", json=body)
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    key: str = made.json()["key"]
    return key


async def grant(client: httpx.AsyncClient, permission: str, **given: Any) -> dict[str, Any]:
    body = {"role": "till", "permission": permission} | given
    made = await client.post("/api/grants", json=body)
    assert made.status_code == 201, made.text
    document: dict[str, Any] = made.json()
    return document


async def test_a_key_is_made_used_and_revoked(client: httpx.AsyncClient, app: Duetime) -> None:
    key = await make_key(client, "till")
    assert key.startswith("dt_")
    me = (await client.get("/api/me", headers=bearer(key))).json()
    [listed] = (await client.get("/api/api-keys")).json()["items"]
    assert (me["user"], me["roles"]) == (f"key:{listed['id']}", ["till"])
    assert key not in (await client.get("/api/api-keys")).text
    denied = await client.get("/api/actions", headers=bearer(key))
    assert (denied.status_code, problem(denied)) == (403, "permission-denied")

    made = await grant(client, "actions.read")
    assert (await client.get("/api/actions", headers=bearer(key))).status_code == 200
    assert (await client.delete(f"/api/grants/{made['id']}")).status_code == 204
    assert (await client.get("/api/actions", headers=bearer(key))).status_code == 403

    assert (await client.delete(f"/api/api-keys/{listed['id']}")).status_code == 204
    gone = await client.get("/api/me", headers=bearer(key))
    assert (gone.status_code, problem(gone)) == (401, "not-authenticated")
    verbs = [entry.verb for entry in await app.audit.find(tenant=None)]
    assert {"set", "remove", "create", "revoke", "refuse"} <= set(verbs)


async def test_acts_are_those_of_the_key(client: httpx.AsyncClient, app: Duetime) -> None:
    key = await make_key(client, "till")
    await grant(client, "actions.cancel")
    action = await app.schedule(Parcel(), delay=60)
    response = await client.delete(f"/api/actions/{action.id}", headers=bearer(key))
    assert response.status_code == 204
    [entry] = await app.audit.find(subject=action.id)
    assert (entry.by[:4], entry.source, entry.verb) == ("key:", "api", "cancel")
    assert entry.address == "127.0.0.1"


@pytest.mark.parametrize("method", ["get", "delete"])
async def test_grants_and_keys_that_are_not_there(
    memory_client: httpx.AsyncClient, method: str
) -> None:
    for noun, name in (("grants", "grant-not-found"), ("api-keys", "api-key-not-found")):
        for wrong in ("x", "00000000-0000-0000-0000-000000000000"):
            response = await memory_client.request(method, f"/api/{noun}/{wrong}")
            expected = (404, name) if method == "delete" else (405, "method-not-allowed")
            assert (response.status_code, problem(response)) == expected


async def test_wrong_keys_are_limited_and_right_ones_are_not(
    memory_client: httpx.AsyncClient,
) -> None:
    key = await make_key(memory_client, "till")
    wrong = key[:-4] + "0000"
    codes = [
        (await memory_client.get("/api/me", headers=bearer(wrong))).status_code for _ in range(12)
    ]
    assert codes == [401] * 10 + [429] * 2
    limited = await memory_client.get("/api/me", headers=bearer(wrong))
    assert problem(limited) == "rate-limited"
    assert 0 < int(limited.headers["retry-after"]) <= 60
    assert (await memory_client.get("/api/me", headers=bearer(key))).status_code == 200


async def test_a_tenants_administrator_is_bound_to_it(memory_app: Duetime) -> None:
    own = await memory_app.schedule(Parcel(), delay=60, tenant="acme")
    others = [await memory_app.schedule(Parcel(), delay=60, tenant=t) for t in ("other", None)]
    async with client_of(admin_of(memory_app), OF_TENANT) as client:
        listed = (await client.get("/api/actions")).json()["items"]
        assert [item["id"] for item in listed] == [str(own.id)]
        made = await client.post("/api/actions", json={"kind": "parcel", "payload": {}})
        assert made.json()["tenant"] == "acme"
        for action in others:
            for method, path in (("GET", ""), ("GET", "/runs"), ("GET", "/why"), ("DELETE", "")):
                response = await client.request(method, f"/api/actions/{action.id}{path}")
                assert response.status_code == 404
            child = {"kind": "parcel", "payload": {}, "after": str(action.id)}
            response = await client.post("/api/actions", json=child)
            assert (response.status_code, problem(response)) == (404, "action-not-found")
        assert (await client.delete(f"/api/actions/{own.id}")).status_code == 204


async def test_data_is_for_those_who_may_read_it(memory_app: Duetime) -> None:
    await memory_app.grants.set("till", "actions.read")
    await memory_app.grants.set("till", "jobs.read")
    await memory_app.grants.set("reader", "payload.read")
    await memory_app.grants.set("reader", "actions.read")
    identities = {"till": Identity("till", {"till"}), "reader": Identity("reader", {"reader"})}
    asgi = memory_app.admin(identify=lambda request: identities[request.headers["x-user"]])
    action = await memory_app.schedule(Parcel(text="private"))
    await memory_app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel(text="private"))
    async with client_of(asgi, sender=None) as client:
        for path in (f"/api/actions/{action.id}", "/api/actions", "/api/jobs/shop-daily"):
            response = await client.get(path, headers={"x-user": "till"})
            assert response.status_code == 200
            assert "private" not in response.text
            assert '"payload"' not in response.text
        seen = await client.get(f"/api/actions/{action.id}", headers={"x-user": "reader"})
        assert seen.json()["payload"]["text"] == "private"


@dataclass(frozen=True)
class Broken:
    """The payload of a handler that fails."""


@pytest.mark.parametrize("retry", [Retry(delays=[60]), Retry.none()])
async def test_errors_that_reasons_quote_are_named_by_class(
    memory_app: Duetime, retry: Retry
) -> None:
    @memory_app.handler(kind="broken", retry=retry)
    async def fail(broken: Broken) -> None:
        raise ValueError("private")

    await memory_app.grants.set("till", "actions.read")
    identities = {"till": Identity("till", {"till"}), "root": ADMINISTRATOR}
    asgi = memory_app.admin(
        identify=lambda request: identities[request.headers["x-user"]],
        admin_roles={"administrators"},
    )
    action = await memory_app.schedule(Broken())
    await memory_app.testing.drain()
    async with client_of(asgi, sender=None) as client:
        path = f"/api/actions/{action.id}/why"
        hidden = (await client.get(path, headers={"x-user": "till"})).json()["reasons"]
        whole = (await client.get(path, headers={"x-user": "root"})).json()["reasons"]
    assert "ValueError: private" in whole[0]["text"]
    assert hidden[0]["text"] == whole[0]["text"].replace("ValueError: private", "ValueError")


@dataclass(frozen=True)
class Login:
    """A payload with a secret."""

    user: str
    password: Secret


async def test_secrets_never_leave(client: httpx.AsyncClient, app: Duetime) -> None:
    app.payload(Login, kind="login")
    body = {"kind": "login", "payload": {"user": "ann", "password": "hunter2"}}
    made = await client.post("/api/actions", json=body, headers={"idempotency-key": "k"})
    again = await client.post("/api/actions", json=body, headers={"idempotency-key": "k"})
    read = await client.get(made.headers["location"])
    job = {**body, "recurrence": "0 6 * * *"}
    put = await client.put("/api/jobs/shop-login", json=job)
    for response in (made, again, read, put):
        assert response.status_code in (200, 201)
        assert response.json()["payload"] == {"user": "ann", "password": "**********"}
    stored = await app.get(made.json()["id"])
    assert stored.payload.password.get_secret_value() == "hunter2"

    masked = {**job, "payload": put.json()["payload"]}
    sent_back = await client.put(
        "/api/jobs/shop-login", json=masked, headers={"if-match": put.headers["etag"]}
    )
    assert (sent_back.status_code, problem(sent_back)) == (422, "invalid-payload")
    kept = {name: job[name] for name in job if name != "payload"} | {"priority": "high"}
    changed = await client.put(
        "/api/jobs/shop-login", json=kept, headers={"if-match": put.headers["etag"]}
    )
    assert changed.status_code == 200
    job_now = await app.jobs.get("shop-login")
    assert isinstance(job_now.payload, Login)
    assert job_now.payload.password.get_secret_value() == "hunter2"

    wrong = {"kind": "login", "payload": {"user": 7, "password": "hunter2"}}
    refused = await client.post("/api/actions", json=wrong)
    assert refused.status_code == 422
    assert "hunter2" not in refused.text
