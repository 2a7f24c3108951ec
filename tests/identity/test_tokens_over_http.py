"""Tokens and keys as they come with requests: the whole way from the header to the answer."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from duetime import Duetime
from duetime.testing import FakeClock
from identity.provider import Provider, ec_key, secret_key


@pytest.fixture
async def client(app: Duetime, provider: Provider) -> AsyncIterator[httpx.AsyncClient]:
    asgi: Any = app.admin(oidc=provider.oidc(tenant_claim="org"), admin_roles={"root"})
    transport = httpx.ASGITransport(asgi)
    async with httpx.AsyncClient(transport=transport, base_url="https://shop.example") as client:
        yield client


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


async def test_a_token_opens_what_its_roles_may(
    app: Duetime, client: httpx.AsyncClient, provider: Provider
) -> None:
    await app.grants.set("support", "actions.read")
    headers = bearer(provider.token(org="acme", roles=["support"]))
    me = (await client.get("/api/me", headers=headers)).json()
    assert (me["user"], me["tenant"], me["permissions"]) == ("ann", "acme", ["actions.read"])
    assert (await client.get("/api/actions", headers=headers)).status_code == 200
    assert (await client.get("/api/jobs", headers=headers)).status_code == 403
    bound = bearer(provider.token(org="acme", roles=["root"]))
    assert (await client.get("/api/grants", headers=bound)).status_code == 403


FORGED: dict[str, dict[str, Any]] = {
    "wrong issuer": {"iss": "https://other.example"},
    "wrong audience": {"aud": "other"},
    "expired": {"exp": 1},
    "not yet valid": {"nbf": 4_000_000_000},
    "no subject": {"sub": None},
    "no expiry": {"exp": None},
    "no tenant": {"org": None},
    "another's key": {"key": ec_key("first"), "header": {"alg": "ES256"}},
    "a shared secret": {"key": secret_key("0" * 64, "first"), "header": {"alg": "HS256"}},
}


@pytest.mark.parametrize("given", FORGED.values(), ids=FORGED)
async def test_a_token_that_is_not_valid_is_refused(
    app: Duetime,
    client: httpx.AsyncClient,
    provider: Provider,
    given: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    token = provider.token(**{"org": "acme", "roles": ["root"]} | given)
    for method, path in (("GET", "/api/me"), ("POST", "/api/actions"), ("GET", "/api/no")):
        response = await client.request(method, path, headers=bearer(token), content=b"{broken")
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["type"] == "urn:duetime:not-authenticated"
        assert token not in response.text
    refused = (await app.audit.find(verb="refuse")).items
    assert [entry.by for entry in refused] == ["anonymous"] * 3
    assert token.rpartition(".")[2] not in f"{refused}{caplog.text}"


async def test_a_storm_of_unknown_keys_asks_the_provider_once(
    client: httpx.AsyncClient, provider: Provider, clock: FakeClock
) -> None:
    """And locks out nobody who has a valid token."""
    good = bearer(provider.token(org="acme"))
    assert (await client.get("/api/me", headers=good)).status_code == 200
    asked = provider.times_asked
    clock.advance(60)
    stranger = ec_key("x")
    codes = []
    for number in range(14):
        header = {"alg": "ES256", "kid": f"k{number}"}
        token = provider.token(key=stranger, header=header, org="acme")
        codes.append((await client.get("/api/me", headers=bearer(token))).status_code)
    assert codes == [401] * 10 + [429] * 4
    assert provider.times_asked == asked + 1
    assert (await client.get("/api/me", headers=good)).status_code == 200


async def test_while_the_provider_is_away_known_keys_serve(
    client: httpx.AsyncClient, provider: Provider, clock: FakeClock
) -> None:
    good = provider.token(org="acme")
    assert (await client.get("/api/me", headers=bearer(good))).status_code == 200
    provider.status = 503
    clock.advance(300)
    unknown = provider.token(key=ec_key("new"), header={"alg": "ES256"}, org="acme")
    assert (await client.get("/api/me", headers=bearer(unknown))).status_code == 401
    assert (await client.get("/api/me", headers=bearer(good))).status_code == 200


async def test_a_revoked_key_is_refused_at_the_next_request(
    app: Duetime, client: httpx.AsyncClient
) -> None:
    made = await app.api_keys.create("till", ["root"])
    headers = bearer(made.key)
    assert (await client.get("/api/api-keys", headers=headers)).status_code == 200
    gone = await client.delete(f"/api/api-keys/{made.id}", headers=headers)
    assert gone.status_code == 204
    assert (await client.get("/api/me", headers=headers)).status_code == 401
