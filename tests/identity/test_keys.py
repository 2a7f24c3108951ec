"""API keys: which are accepted, and what happens to those who guess."""

from datetime import timedelta
from uuid import uuid4

import pytest

from duetime import Duetime
from duetime.errors import NotAuthenticated, RateLimited
from duetime.testing import FakeClock
from identity.requests import authenticator, local_request, request


async def test_a_key_is_accepted_with_its_roles_tenant_and_grants(app: Duetime) -> None:
    grant = await app.grants.set("support", "actions.read")
    await app.grants.set("other", "actions.retry")
    made = await app.api_keys.create("k", ["support"], "acme")
    access = await authenticator(app).access(request(key=made.key))
    assert (access.identity.user, access.identity.tenant) == (f"key:{made.id}", "acme")
    assert (access.by, access.scope, access.address) == (f"key:{made.id}", "acme", "203.0.113.9")
    assert [found.id for found in access.grants] == [grant.id]
    assert access.allows("actions.read")
    assert not access.allows("actions.retry")
    assert made.key.rpartition("_")[2] not in repr(access)


async def test_its_last_use_is_written_once_a_minute(app: Duetime, clock: FakeClock) -> None:
    made = await app.api_keys.create("k", [])
    find = authenticator(app)
    used = []
    for _ in range(3):
        await find.access(request(key=made.key))
        used.append((await app.api_keys.list())[0].last_used_at)
        clock.advance(30)
    start = clock.now() - timedelta(seconds=90)
    assert used == [start, start, start + timedelta(seconds=60)]


async def test_wrong_keys_are_refused(app: Duetime, clock: FakeClock) -> None:
    made, other = [await app.api_keys.create("k", ["a"]) for _ in range(2)]
    gone = await app.api_keys.create("k", ["a"])
    expired = await app.api_keys.create("k", ["a"], expires_at=clock.now() + timedelta(seconds=1))
    await app.api_keys.revoke(gone.id)
    clock.advance(1)
    secret = made.key.rpartition("_")[2]
    wrong = [
        f"dt_{made.id}_{secret[:-1]}",
        f"dt_{made.id}_{secret}0",
        f"dt_{made.id}_{secret.upper()}",
        f"dt_{other.id}_{secret}",
        f"dt_{uuid4()}_{secret}",
        f"dts_{made.id}_{secret}",
        f"dt_{made.id}_",
        f"dt_{made.id}",
        "dt_",
        "",
        secret,
        "é",
        "x" * 10_000,
        gone.key,
        expired.key,
    ]
    for text in wrong:
        with pytest.raises(NotAuthenticated):
            await authenticator(app).access(request(key=text))
    assert (await authenticator(app).access(request(key=made.key))).by == f"key:{made.id}"


async def test_a_revoked_key_is_refused_by_the_next_request(app: Duetime) -> None:
    made, find = await app.api_keys.create("k", ["a"]), authenticator(app)
    await find.access(request(key=made.key))
    await app.api_keys.revoke(made.id)
    with pytest.raises(NotAuthenticated):
        await find.access(request(key=made.key))


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer  "])
async def test_the_scheme_is_read_in_any_case(memory_app: Duetime, scheme: str) -> None:
    made = await memory_app.api_keys.create("k", ["a"])
    facts = request(("authorization", f"{scheme} {made.key}"))
    assert (await authenticator(memory_app).access(facts)).by == f"key:{made.id}"


async def test_a_header_sent_twice_is_refused(memory_app: Duetime) -> None:
    made = await memory_app.api_keys.create("k", ["a"])
    twice = request(("authorization", f"Bearer {made.key}"), key=made.key)
    with pytest.raises(NotAuthenticated, match="once"):
        await authenticator(memory_app).access(twice)


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer", "dt_1_2", ""])
async def test_without_a_bearer_token_nobody_is_known(memory_app: Duetime, header: str) -> None:
    with pytest.raises(NotAuthenticated):
        await authenticator(memory_app).access(request(("authorization", header)))


async def test_administrators_are_named_by_role(memory_app: Duetime) -> None:
    made = await memory_app.api_keys.create("k", ["root"])
    bound = await memory_app.api_keys.create("k", ["root"], "acme")
    find = authenticator(memory_app, admin_roles={"root"})
    assert (await find.access(request(key=made.key))).administrator
    assert not (await find.access(request(key=bound.key))).administrator
    assert not (await authenticator(memory_app).access(request(key=made.key))).administrator


async def fail(app: Duetime, find: object, times: int, **given: object) -> list[type]:
    """Present a wrong key so many times, and return what is raised."""
    raised = []
    for _ in range(times):
        with pytest.raises((NotAuthenticated, RateLimited)) as caught:
            await find.access(request(key="dt_wrong", **given))  # type: ignore[attr-defined, arg-type]
        raised.append(caught.type)
    return raised


class TestTheLimitOfFailures:
    async def test_ten_a_minute_are_looked_at(self, memory_app: Duetime, clock: FakeClock) -> None:
        find = authenticator(memory_app)
        assert await fail(memory_app, find, 12) == [NotAuthenticated] * 10 + [RateLimited] * 2
        clock.advance(59)
        with pytest.raises(RateLimited) as caught:
            await find.access(request(key="dt_wrong"))
        assert caught.value.retry_after == 1
        clock.advance(1)
        assert await fail(memory_app, find, 11) == [NotAuthenticated] * 10 + [RateLimited]

    async def test_other_addresses_are_not_limited(self, memory_app: Duetime) -> None:
        find = authenticator(memory_app)
        await fail(memory_app, find, 11)
        assert await fail(memory_app, find, 1, peer="203.0.113.10") == [NotAuthenticated]
        in_one_network = [f"2001:db8::{n}" for n in range(11)]
        raised = [await fail(memory_app, find, 1, peer=peer) for peer in in_one_network]
        assert raised[-1] == [RateLimited]
        assert await fail(memory_app, find, 1, peer="2001:db8:0:1::1") == [NotAuthenticated]

    async def test_whoever_knows_the_secret_is_never_limited(self, memory_app: Duetime) -> None:
        made, find = await memory_app.api_keys.create("k", ["a"]), authenticator(memory_app)
        guess = f"dt_{made.id}_{'0' * 64}"
        for peer in ("203.0.113.9", "198.51.100.1"):
            for _ in range(12):
                with pytest.raises((NotAuthenticated, RateLimited)):
                    await find.access(request(key=guess, peer=peer))
        assert (await find.access(request(key=made.key))).by == f"key:{made.id}"

    async def test_requests_without_a_credential_do_not_count(self, memory_app: Duetime) -> None:
        find = authenticator(memory_app)
        for _ in range(20):
            with pytest.raises(NotAuthenticated):
                await find.access(request())
        assert await fail(memory_app, find, 1) == [NotAuthenticated]

    async def test_an_address_cannot_be_made_up(self, memory_app: Duetime) -> None:
        find = authenticator(memory_app)
        raised = []
        for number in range(11):
            with pytest.raises((NotAuthenticated, RateLimited)) as caught:
                await find.access(request(("x-forwarded-for", f"10.0.0.{number}"), key="dt_x"))
            raised.append(caught.type)
        assert raised[-1] is RateLimited

    async def test_behind_a_trusted_proxy_the_client_is_limited(self, memory_app: Duetime) -> None:
        find = authenticator(memory_app, trusted_proxies=["203.0.113.0/24"])
        for number in range(11):
            with pytest.raises(NotAuthenticated):
                await find.access(request(("x-forwarded-for", f"10.0.0.{number}"), key="dt_x"))

    async def test_addresses_are_forgotten(self, memory_app: Duetime, clock: FakeClock) -> None:
        find = authenticator(memory_app)
        await fail(memory_app, find, 10)
        for number in range(10_001):
            find._failures.add(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
        assert await fail(memory_app, find, 1) == [NotAuthenticated]


async def test_development_never_excuses_a_wrong_key(memory_app: Duetime) -> None:
    with pytest.raises(NotAuthenticated):
        await authenticator(memory_app, development=True).access(local_request(key="dt_wrong"))
