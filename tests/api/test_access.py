"""`app.grants` and `app.api_keys`: the verbs, awaited and blocking."""

import logging
from datetime import timedelta
from typing import Any

import pytest

from duetime import ANY, Authority, Duetime, Identity
from duetime.errors import ApiKeyNotFound, GrantNotFound, InvalidArgument, PermissionDenied
from duetime.model.access.api_keys import opens, read_key
from duetime.testing import FakeClock


async def test_a_grant_is_set_listed_and_removed(app: Duetime) -> None:
    first = await app.grants.set("support", "actions.manage", by="ann", note="ticket 7")
    second = await app.grants.set("support", "actions.cancel", "acme", False)
    assert (first.role, first.permission, first.tenant) == ("support", "actions.manage", None)
    assert (first.allowed, first.created_by) == (True, "ann")
    assert (second.tenant, second.allowed, second.created_by) == ("acme", False, "system")
    assert await app.grants.list() == [second, first]
    assert await app.grants.list(role="support", tenant="acme") == [second]
    assert await app.grants.list(role="other") == []
    assert await app.grants.remove(str(second.id), by="bob") == second
    assert await app.grants.list(tenant=ANY) == [first]
    with pytest.raises(GrantNotFound, match=str(second.id)):
        await app.grants.remove(second.id)


def test_grants_without_await(app: Duetime) -> None:
    grant = app.sync.grants.set("support", "jobs.read")
    assert app.sync.grants.list() == [grant]
    assert app.sync.grants.remove(grant.id) == grant


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"role": ""}, "role="),
        ({"role": "a\0"}, "role="),
        ({"role": "\ud800"}, "role="),
        ({"role": "x" * 201}, "role="),
        ({"permission": "actions.kill"}, "permission='actions.kill'"),
        ({"tenant": ""}, "tenant="),
        ({"tenant": "a", "permission": "admin"}, "tenant='a'"),
        ({"tenant": "a", "permission": "workers.read"}, "tenant='a'"),
        ({"allowed": "no"}, "allowed='no'"),
        ({"note": "x" * 501}, "note="),
    ],
)
async def test_bad_grants_are_refused(
    memory_app: Duetime, arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidArgument, match=named):
        await memory_app.grants.set(**{"role": "r", "permission": "actions.read"} | arguments)
    assert await memory_app.grants.list() == []


async def test_a_key_is_created_listed_and_revoked(app: Duetime, clock: FakeClock) -> None:
    end = clock.now() + timedelta(days=1)
    made = await app.api_keys.create("deploy", ["support"], "acme", end, by="ann")
    assert made.key.startswith(f"dt_{made.id}_")
    assert (made.name, made.roles, made.tenant) == ("deploy", ("support",), "acme")
    assert made.expires_at == end
    [listed] = await app.api_keys.list()
    assert (listed.id, listed.name, listed.created_by) == (made.id, "deploy", "ann")
    assert (listed.expires_at, listed.last_used_at) == (end, None)
    assert await app.api_keys.list(tenant="acme") == [listed]
    assert await app.api_keys.list(tenant=None) == []
    assert await app.api_keys.revoke(str(made.id)) == listed
    with pytest.raises(ApiKeyNotFound, match=str(made.id)):
        await app.api_keys.revoke(made.id)


def test_keys_without_await(app: Duetime) -> None:
    with app.acting(tenant="acme", by="ann"):
        made = app.sync.api_keys.create("deploy", ["a"])
    assert made.tenant == "acme"
    assert [key.id for key in app.sync.api_keys.list()] == [made.id]
    assert app.sync.api_keys.revoke(made.id).created_by == "ann"


async def test_the_text_of_a_key_opens_it_and_no_other_does(app: Duetime) -> None:
    first, second = [await app.api_keys.create("k", ["a"]) for _ in range(2)]
    assert first.key != second.key
    given, other = read_key(first.key), read_key(second.key)
    assert given is not None
    assert other is not None
    use = await app.store.perform(app.store.use_api_key(first.id))
    assert opens(use, given)
    assert not opens(use, other)
    assert not opens(None, given)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"name": ""}, "name="),
        ({"name": "\ud800"}, "name="),
        ({"roles": "admin"}, "roles="),
        ({"roles": ["a", ""]}, "role="),
        ({"tenant": ""}, "tenant="),
        ({"expires_at": "tomorrow"}, "expires_at="),
    ],
)
async def test_bad_keys_are_refused(
    memory_app: Duetime, arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidArgument, match=named):
        await memory_app.api_keys.create(**{"name": "k", "roles": ["a"]} | arguments)
    assert await memory_app.api_keys.list() == []


async def test_a_key_that_has_expired_is_not_made(memory_app: Duetime, clock: FakeClock) -> None:
    with pytest.raises(InvalidArgument, match="expires_at="):
        await memory_app.api_keys.create("k", ["a"], expires_at=clock.now())


@pytest.mark.parametrize("given", ["", "7", 7, None, "019a0000-0000-7000-8000-00000000000"])
async def test_what_is_no_id_is_refused(memory_app: Duetime, given: Any) -> None:
    with pytest.raises(InvalidArgument, match="id="):
        await memory_app.api_keys.revoke(given)
    with pytest.raises(InvalidArgument, match="id="):
        await memory_app.grants.remove(given)


async def test_the_secret_is_nowhere_but_in_what_create_returns(
    app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = await app.api_keys.create("deploy", ["a"], by="ann", note="for the pipeline")
    secret = made.key.rpartition("_")[2]
    stored = await app.store.perform(app.store.api_keys(ANY))
    audit = await app.audit.find(tenant=ANY)
    await app.api_keys.revoke(made.id)
    shown = [repr(made), repr(stored), str(await app.api_keys.list()), repr(audit), caplog.text]
    assert len(secret) == 64
    assert secret not in "".join(shown)
    assert stored[0].secret_hash not in "".join(shown)


async def test_a_key_is_made_on_behalf_of_an_identity(memory_app: Duetime) -> None:
    app = memory_app
    await app.grants.set("clerk", "admin")
    await app.grants.set("boss", "jobs.edit")
    clerk = Authority(Identity("eve", ["clerk"]))
    with pytest.raises(PermissionDenied, match=r"jobs\.edit is missing"):
        await app.api_keys.create("k", ["boss"], authority=clerk)
    with pytest.raises(PermissionDenied, match=r"jobs\.edit is missing"):
        await app.grants.set("clerk", "jobs.edit", authority=clerk)
    assert await app.api_keys.list() == []
    assert (await app.api_keys.create("k", ["clerk"], authority=clerk)).roles == ("clerk",)


async def test_the_audit_log_finds_grants_and_keys(app: Duetime) -> None:
    grant = await app.grants.set("support", "jobs.read", "acme", by="ann", note="ticket 7")
    key = await app.api_keys.create("deploy", ["support"], "acme", by="ann")
    await app.api_keys.revoke(key.id, by="bob")
    [entry] = (await app.audit.find(subject=grant.id, tenant="acme")).items
    assert (entry.verb, entry.subject, entry.note) == ("set", "grant", "ticket 7")
    found = await app.audit.find(subject=key.id, tenant="acme")
    assert [(entry.verb, entry.by) for entry in found] == [("revoke", "bob"), ("create", "ann")]
