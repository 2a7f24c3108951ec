"""API keys: stored, read at each request with the grants of their roles, revoked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from duetime.errors import ApiKeyNotFound, InvalidArgument, PermissionDenied
from duetime.model.access.api_keys import USE_RECORDED_EVERY, StoredApiKey
from duetime.model.access.grants import Authority
from duetime.model.access.identity import Identity
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.granting import ANN, give
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite

HASH = "5ec2e7" * 10 + "beef"


def new_key(**given: Any) -> StoredApiKey:
    fields: dict[str, Any] = {"name": "deploy", "roles": ("support",), "tenant": None}
    fields |= {"created_at": 0, "created_by": "", "expires_at": None, "last_used_at": None}
    return StoredApiKey(**fields | {"id": uuid4(), "secret_hash": HASH} | given)


async def add_key(probe: Probe, authority: Authority | None = None, **given: Any) -> StoredApiKey:
    return await probe.do(probe.store.add_api_key(new_key(**given), ANN, authority))


class KeysOfHttp(Suite):
    async def test_a_key_is_stored_with_its_time_and_actor(self, probe: Probe) -> None:
        probe.pass_time(SECOND)
        end = probe.now + SECOND
        key = await add_key(probe, tenant="a", roles=("b", "a"), expires_at=end)
        assert (key.created_at, key.created_by, key.last_used_at) == (probe.now, "ann", None)
        assert (key.name, key.tenant, key.expires_at) == ("deploy", "a", end)
        [stored] = await probe.do(probe.store.api_keys(ANY))
        assert (stored, stored.roles) == (replace(key, roles=("a", "b")), ("a", "b"))
        assert (stored.secret_hash, stored.identity.roles) == (HASH, frozenset("ab"))

    async def test_keys_are_listed_by_tenant(self, probe: Probe) -> None:
        keys = sorted(
            [await add_key(probe, tenant=tenant) for tenant in (None, "a", "b")],
            key=lambda key: key.id,
        )
        assert await probe.do(probe.store.api_keys(ANY)) == keys
        for scope in (None, "a", "c"):
            expected = [key for key in keys if key.tenant == scope]
            assert await probe.do(probe.store.api_keys(scope)) == expected

    async def test_a_key_is_read_with_the_grants_of_its_roles(self, probe: Probe) -> None:
        wanted = [await give(probe, role="a", tenant="t"), await give(probe, role="b")]
        await give(probe, role="c")
        key = await add_key(probe, roles=("a", "b"))
        use = await probe.do(probe.store.use_api_key(key.id))
        assert use is not None
        assert (use.key, list(use.grants), use.now) == (key, wanted, probe.now)

    async def test_a_key_without_grants_is_read(self, probe: Probe) -> None:
        key = await add_key(probe, roles=())
        await give(probe)
        use = await probe.do(probe.store.use_api_key(key.id))
        assert use is not None
        assert (use.key, list(use.grants)) == (key, [])

    async def test_an_unknown_key_is_none(self, probe: Probe) -> None:
        await add_key(probe)
        assert await probe.do(probe.store.use_api_key(uuid4())) is None

    async def test_an_expired_key_is_read_but_none_is_made(self, probe: Probe) -> None:
        key = await add_key(probe, expires_at=probe.now + 1)
        probe.pass_time(1)
        use = await probe.do(probe.store.use_api_key(key.id))
        assert use is not None
        assert use.key.expires_at == use.now
        with pytest.raises(InvalidArgument, match="expires_at"):
            await add_key(probe, expires_at=probe.now)
        assert await probe.do(probe.store.api_keys(ANY)) == [key]

    async def test_uses_are_recorded_once_a_minute(self, probe: Probe) -> None:
        key = await add_key(probe)
        other = await add_key(probe)
        seen = []
        for pause in (1, SECOND, USE_RECORDED_EVERY - SECOND - 1, 1):
            probe.pass_time(pause)
            await probe.do(probe.store.record_api_key_use(key.id))
            use = await probe.do(probe.store.use_api_key(key.id))
            seen.append(None if use is None else use.key.last_used_at)
        first = key.created_at + 1
        assert seen == [first, first, first, first + USE_RECORDED_EVERY]
        assert other in await probe.do(probe.store.api_keys(ANY))

    async def test_a_revoked_key_is_gone_at_once(self, probe: Probe) -> None:
        key, other = await add_key(probe, tenant="a"), await add_key(probe)
        assert await probe.do(probe.store.revoke_api_key(key.id, "a", ANN)) == key
        assert await probe.do(probe.store.use_api_key(key.id)) is None
        assert await probe.do(probe.store.api_keys(ANY)) == [other]
        with pytest.raises(ApiKeyNotFound, match=str(key.id)):
            await probe.do(probe.store.revoke_api_key(key.id, "a", ANN))
        await probe.do(probe.store.record_api_key_use(key.id))

    @pytest.mark.parametrize(("tenant", "scope"), [("a", "b"), ("a", None), (None, "a")])
    async def test_a_key_outside_the_scope_is_none(
        self, probe: Probe, tenant: str | None, scope: Scope
    ) -> None:
        key = await add_key(probe, tenant=tenant)
        with pytest.raises(ApiKeyNotFound):
            await probe.do(probe.store.revoke_api_key(key.id, scope, ANN))
        assert await probe.do(probe.store.api_keys(ANY)) == [key]

    async def test_making_and_revoking_are_audited_without_the_hash(self, probe: Probe) -> None:
        key = await add_key(probe, tenant="a", roles=("x", "y"))
        await probe.do(probe.store.revoke_api_key(key.id, ANY, ANN))
        revoked, created = await probe.audit(str(key.id))
        assert (created.verb, revoked.verb) == ("create", "revoke")
        owner = {"name": "deploy", "roles": ["x", "y"], "tenant": "a", "expires_at": None}
        assert (created.before, created.after) == ({}, owner)
        assert (revoked.before, revoked.after) == (owner, {})
        assert (created.subject, created.by, created.address) == ("api-key", "ann", "10.0.0.7")
        assert HASH not in f"{created}{revoked}"
        assert HASH not in repr(key)

    async def test_a_rolled_back_key_leaves_nothing(self, probe: Probe) -> None:
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.add_api_key(new_key(), ANN)))
        assert await probe.do(probe.store.api_keys(ANY)) == []
        assert await probe.find_audit() == []

    async def test_nobody_makes_a_key_beyond_their_own_rights(self, probe: Probe) -> None:
        await give(probe, role="clerk", permission="admin")
        await give(probe, role="clerk", permission="jobs.read")
        await give(probe, role="reader", permission="jobs.read")
        await give(probe, role="editor", permission="jobs.edit")
        clerk = Authority(Identity("eve", ["clerk"]), frozenset({"root"}))
        beyond: list[dict[str, Any]] = [
            {"roles": ("editor",)},
            {"roles": ("reader", "editor")},
            {"roles": ("root",)},
            {"roles": ("reader",), "tenant": "a"},
            {"roles": (), "tenant": "a"},
        ]
        for given in beyond:
            with pytest.raises(PermissionDenied):
                await add_key(probe, clerk, **given)
        assert await probe.do(probe.store.api_keys(ANY)) == []
        await add_key(probe, clerk, roles=("reader",))
        await add_key(probe, clerk, roles=("clerk",))

    async def test_clear_deletes_keys(self, probe: Probe) -> None:
        await add_key(probe)
        await probe.do(probe.store.clear())
        assert await probe.do(probe.store.api_keys(ANY)) == []
