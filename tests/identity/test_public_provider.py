"""People signed in by a provider that others wrote: discovery, keys and tokens as it makes them."""

import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from duetime import Duetime, Oidc

# The provider uses deprecated parts of its own library.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
with warnings.catch_warnings(record=True):
    from oidc_provider_mock import User, run_server_in_thread

CLIENT = "shop"
BACK = "https://shop.example/back"
ANN = User(sub="ann", claims={"access": {"roles": ["support"]}, "org": "acme"})
NO_TENANT = User(sub="bob", claims={"access": {"roles": ["support"]}})


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with run_server_in_thread(user_claims=[ANN, NO_TENANT]) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
async def client(issuer: str) -> AsyncIterator[httpx.AsyncClient]:
    """Sends requests to an app that accepts tokens of the provider for this client."""
    async with Duetime("memory://") as app:
        await app.grants.set("support", "actions.read", tenant="acme")
        oidc = Oidc(issuer, CLIENT, "access.roles", "org", loopback_http=True)
        transport = httpx.ASGITransport(app.admin(oidc=oidc))
        async with httpx.AsyncClient(
            transport=transport, base_url="https://shop.example"
        ) as client:
            yield client


def sign_in(issuer: str, user: str, client_id: str = CLIENT) -> str:
    """Sign a person in by the flow of browsers, and return the token that says who they are."""
    wanted = {"client_id": client_id, "redirect_uri": BACK, "scope": "openid"}
    with httpx.Client(base_url=issuer) as browser:
        agreed = browser.post(
            "/oauth2/authorize", params=wanted | {"response_type": "code"}, data={"sub": user}
        )
        [code] = parse_qs(urlsplit(agreed.headers["location"]).query)["code"]
        given = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        answer = browser.post("/oauth2/token", data=given, auth=(client_id, "any"))
        token: str = answer.json()["id_token"]
        return token


async def me(client: httpx.AsyncClient, token: str) -> Any:
    return await client.get("/api/me", headers={"authorization": f"Bearer {token}"})


async def test_a_person_has_the_roles_and_tenant_of_their_token(
    client: httpx.AsyncClient, issuer: str
) -> None:
    answer = (await me(client, sign_in(issuer, "ann"))).json()
    assert (answer["user"], answer["tenant"]) == ("ann", "acme")
    assert answer["permissions"] == ["actions.read"]


async def test_tokens_for_others_or_changed_ones_are_refused(
    client: httpx.AsyncClient, issuer: str
) -> None:
    good = sign_in(issuer, "ann")
    head, claims, signature = good.split(".")
    forged = ".".join([head, sign_in(issuer, "bob").split(".")[1], signature])
    refused = [
        sign_in(issuer, "ann", "other-shop"),
        sign_in(issuer, "bob"),
        forged,
        f"{head}.{claims}.",
    ]
    assert [(await me(client, token)).status_code for token in refused] == [401] * 4
    assert (await me(client, good)).status_code == 200
