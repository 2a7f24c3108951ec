"""Tokens of an OpenID Connect provider: whose they are, and which are refused."""

import base64
import hmac
import json
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from duetime import Duetime, Identity
from duetime.admin.identity.oidc import Oidc
from duetime.errors import ConfigError, NotAuthenticated, RateLimited
from duetime.testing import FakeClock
from identity.provider import Provider, ec_key, secret_key
from identity.requests import authenticator, request


async def identity_of(app: Duetime, provider: Provider, token: str, **given: Any) -> Identity:
    find = authenticator(app, oidc=provider.oidc(**given))
    return (await find.access(request(key=token))).identity


async def refused(app: Duetime, provider: Provider, token: str, **given: Any) -> str:
    with pytest.raises(NotAuthenticated) as caught:
        await identity_of(app, provider, token, **given)
    return caught.value.reason


def part(content: object) -> str:
    return encoded(json.dumps(content).encode())


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


RS256 = {"alg": "RS256", "kid": "first"}


class TestAccepted:
    async def test_a_token_names_its_subject_and_roles(
        self, app: Duetime, provider: Provider
    ) -> None:
        await app.grants.set("support", "actions.read")
        find = authenticator(app, oidc=provider.oidc(), admin_roles=["root"])
        access = await find.access(request(key=provider.token(roles=["support", "x"])))
        assert access.identity == Identity("ann", ["support", "x"])
        assert access.allows("actions.read")
        assert not access.administrator
        root = await find.access(request(key=provider.token(roles=["root"])))
        assert root.administrator

    @pytest.mark.parametrize(
        ("claims", "given", "expected"),
        [
            ({}, {}, Identity("ann")),
            ({"roles": "one two"}, {}, Identity("ann", ["one", "two"])),
            ({"roles": []}, {}, Identity("ann")),
            ({"aud": ["other", "duetime"]}, {}, Identity("ann")),
            (
                {"realm_access": {"roles": ["a"]}},
                {"roles_claim": "realm_access.roles"},
                Identity("ann", ["a"]),
            ),
            (
                {"https://shop.example/roles": ["a"]},
                {"roles_claim": "https://shop.example/roles"},
                Identity("ann", ["a"]),
            ),
            ({"realm_access": "a"}, {"roles_claim": "realm_access.roles"}, Identity("ann")),
            ({"org": {"id": "acme"}}, {"tenant_claim": "org.id"}, Identity("ann", [], "acme")),
        ],
    )
    async def test_claims(
        self,
        memory_app: Duetime,
        provider: Provider,
        claims: dict[str, Any],
        given: dict[str, Any],
        expected: Identity,
    ) -> None:
        token = provider.token(**claims)
        assert await identity_of(memory_app, provider, token, **given) == expected

    async def test_an_elliptic_key(self, memory_app: Duetime, provider: Provider) -> None:
        key = ec_key("curved")
        provider.publish(provider.key, key)
        token = provider.token(key=key, header={"alg": "ES256"})
        assert (await identity_of(memory_app, provider, token)).user == "ann"

    async def test_without_a_kid_the_only_key_is_meant(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        token = provider.token(header={"kid": None})
        assert (await identity_of(memory_app, provider, token)).user == "ann"
        provider.publish(provider.key, ec_key("second"))
        await refused(memory_app, provider, token)

    async def test_a_key_of_ours_is_known_beside_tokens(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        made = await memory_app.api_keys.create("k", ["a"])
        assert (await identity_of(memory_app, provider, made.key)).user == f"key:{made.id}"
        assert provider.asked == []


class TestRefused:
    @pytest.mark.parametrize(
        "claims",
        [
            {"iss": "https://other.example"},
            {"iss": None},
            {"aud": "other"},
            {"aud": ["other"]},
            {"aud": None},
            {"aud": []},
            {"sub": None},
            {"sub": ""},
            {"sub": 7},
            {"sub": "system"},
            {"sub": "key:1"},
            {"sub": "a\0b"},
            {"sub": "x" * 451},
            {"exp": None},
            {"exp": "tomorrow"},
            {"exp": True},
            {"nbf": "yesterday"},
            {"roles": {"admin": True}},
            {"roles": [7]},
            {"roles": [["admin"]]},
            {"roles": 7},
        ],
    )
    async def test_claims(
        self, memory_app: Duetime, provider: Provider, claims: dict[str, Any]
    ) -> None:
        assert await refused(memory_app, provider, provider.token(**claims))

    async def test_expired_and_not_yet_valid(
        self, memory_app: Duetime, provider: Provider, clock: FakeClock
    ) -> None:
        now = int(clock.now().timestamp())
        assert await refused(memory_app, provider, provider.token(exp=now))
        assert await refused(memory_app, provider, provider.token(exp=now - 600))
        assert await refused(memory_app, provider, provider.token(nbf=now + 11))
        valid: list[dict[str, Any]] = [{"exp": now + 1}, {"nbf": now + 10}, {"iat": now + 9}]
        for claims in valid:
            assert (await identity_of(memory_app, provider, provider.token(**claims))).user

    @pytest.mark.parametrize("tenant", [None, "", 7, ["acme"], {"id": "acme"}, "a\0"])
    async def test_a_token_without_its_tenant(
        self, memory_app: Duetime, provider: Provider, tenant: object
    ) -> None:
        token = provider.token(tenant=tenant, roles=["a"])
        await refused(memory_app, provider, token, tenant_claim="tenant")
        assert (await identity_of(memory_app, provider, provider.token())).tenant is None

    async def test_no_algorithm(self, memory_app: Duetime, provider: Provider) -> None:
        for name in ("none", "None", "NONE", ""):
            claims = part(provider.claims())
            for signature in ("", "AAAA"):
                token = f"{part({'alg': name, 'kid': 'first'})}.{claims}.{signature}"
                await refused(memory_app, provider, token)
        assert provider.asked == []

    async def test_the_public_key_as_a_shared_secret(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        for text in (provider.key.as_pem(private=False), provider.key.as_der(private=False)):
            signed = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(provider.claims())}"
            mac = hmac.digest(text, signed.encode(), "sha256")
            await refused(memory_app, provider, f"{signed}.{encoded(mac)}")
            signed = signed.replace(part({"alg": "HS256", "kid": "first"}), part(RS256))
            mac = hmac.digest(text, signed.encode(), "sha256")
            await refused(memory_app, provider, f"{signed}.{encoded(mac)}")

    async def test_a_shared_secret_that_the_provider_publishes(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        shared = secret_key("0" * 64, "shared")
        provider.published = [shared.as_dict(private=True), *provider.published]
        token = provider.token(key=shared, header={"alg": "HS256"})
        await refused(memory_app, provider, token)

    async def test_a_key_that_is_not_the_providers(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        forged = RSAKey.generate_key(2048, {"kid": "first"})
        await refused(memory_app, provider, provider.token(key=forged))
        public = forged.as_dict(private=False)
        token = provider.token(key=forged, header={"kid": "mine", "jwk": public})
        await refused(memory_app, provider, token)

    async def test_an_algorithm_of_another_kind_of_key(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        curved = ec_key("first")
        token = provider.token(key=curved, header={"alg": "ES256"})
        await refused(memory_app, provider, token)

    async def test_an_algorithm_that_was_not_named(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        await refused(memory_app, provider, provider.token(), algorithms=["ES256"])
        token = provider.token(header={"alg": "RS512"})
        await refused(memory_app, provider, token)
        given = {"algorithms": ["RS512"]}
        assert (await identity_of(memory_app, provider, token, **given)).user == "ann"

    async def test_a_key_for_encryption(self, memory_app: Duetime, provider: Provider) -> None:
        provider.published[0]["use"] = "enc"
        await refused(memory_app, provider, provider.token())

    async def test_a_changed_token(self, memory_app: Duetime, provider: Provider) -> None:
        header, claims, signature = provider.token(roles=["a"]).split(".")
        forged = part(provider.claims(roles=["root"]))
        for text in (f"{header}.{forged}.{signature}", f"{header}.{claims}.", f"{header}.{claims}"):
            await refused(memory_app, provider, text)

    async def test_critical_headers_that_nobody_knows(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        header = part({"alg": "RS256", "kid": "first", "crit": ["mine"], "mine": 1})
        await refused(memory_app, provider, f"{header}.{part(provider.claims())}.AAAA")

    @pytest.mark.parametrize(
        "text",
        [
            "a.b.c",
            "..",
            "....",
            "e30.e30.e30",
            f"{part([])}.{part({})}.AAAA",
            f"{part({'alg': 'RS256', 'kid': 7})}.{part({})}.AAAA",
            f"{part({'alg': ['RS256']})}.{part({})}.AAAA",
            f"{part({'alg': 'RS256', 'kid': 'first'})}.{part([1])}.AAAA",
            "eyJhbGciOiJSUzI1NiJ9.é.x",
            "[" * 3000,
            base64.urlsafe_b64encode(b"[" * 10_000).decode() + ".e30.AAAA",
            "x" * 20_000,
            "\ud800.a.b",
        ],
    )
    async def test_what_is_no_token(
        self, memory_app: Duetime, provider: Provider, text: str
    ) -> None:
        await refused(memory_app, provider, text)

    async def test_forgers_are_limited_like_guessers(
        self, memory_app: Duetime, provider: Provider
    ) -> None:
        find = authenticator(memory_app, oidc=provider.oidc())
        raised = []
        for _ in range(11):
            with pytest.raises((NotAuthenticated, RateLimited)) as caught:
                await find.access(request(key="a.b.c"))
            raised.append(caught.type)
        assert raised == [NotAuthenticated] * 10 + [RateLimited]
        assert (await find.access(request(key=provider.token()))).by == "ann"


@pytest.mark.parametrize(
    "given",
    [
        {"issuer": "http://id.example"},
        {"issuer": "http://127.0.0.1:8000"},
        {"issuer": "http://id.example", "loopback_http": True},
        {"issuer": "http://localhost.id.example", "loopback_http": True},
        {"issuer": "file:///etc/keys"},
        {"issuer": ""},
        {"issuer": None},
        {"audience": ""},
        {"roles_claim": " "},
        {"algorithms": []},
        {"algorithms": "RS256"},
        {"algorithms": ["RS256", "none"]},
        {"algorithms": ["HS256"]},
    ],
)
def test_unsafe_options_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Oidc(**{"issuer": "https://id.example", "audience": "duetime"} | given)
