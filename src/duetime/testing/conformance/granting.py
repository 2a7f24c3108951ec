"""`set_grant`, `grants`, `remove_grant`: which role may do what, for which tenant."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from duetime.errors import GrantNotFound, PermissionDenied
from duetime.model.access.grants import Authority, StoredGrant
from duetime.model.access.identity import Identity
from duetime.model.act import Act
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite

ANN = Act("ann", "asked for it", "cli", "10.0.0.7")


def new_grant(**given: Any) -> StoredGrant:
    fields: dict[str, Any] = {"role": "support", "permission": "actions.read", "tenant": None}
    fields |= {"allowed": True, "created_at": 0, "created_by": ""}
    return StoredGrant(**fields | {"id": uuid4()} | given)


async def give(
    probe: Probe, act: Act = ANN, authority: Authority | None = None, **given: Any
) -> StoredGrant:
    return await probe.do(probe.store.set_grant(new_grant(**given), act, authority))


async def listed(
    probe: Probe, roles: list[str] | None = None, tenant: Scope = ANY
) -> list[StoredGrant]:
    return await probe.do(probe.store.grants(roles, tenant))


class Granting(Suite):
    async def test_a_grant_is_stored_with_its_time_and_actor(self, probe: Probe) -> None:
        probe.pass_time(SECOND)
        grant = await give(probe, tenant="a", allowed=False)
        assert (grant.created_at, grant.created_by) == (probe.now, "ann")
        assert (grant.role, grant.permission) == ("support", "actions.read")
        assert (grant.tenant, grant.allowed) == ("a", False)
        assert await listed(probe) == [grant]

    async def test_a_second_setting_replaces_the_first(self, probe: Probe) -> None:
        first = await give(probe)
        probe.pass_time(SECOND)
        second = await give(probe, Act("bob"), allowed=False)
        assert (second.id, second.allowed) == (first.id, False)
        assert (second.created_at, second.created_by) == (probe.now, "bob")
        assert await listed(probe) == [second]

    async def test_the_same_setting_again_changes_nothing(self, probe: Probe) -> None:
        first = await give(probe)
        probe.pass_time(SECOND)
        assert await give(probe, Act("bob")) == first
        assert await listed(probe) == [first]
        assert len(await probe.audit(str(first.id))) == 1

    async def test_role_permission_and_tenant_make_a_grant_another_one(self, probe: Probe) -> None:
        grants = [
            await give(probe, role="a"),
            await give(probe, role="a", tenant="é"),
            await give(probe, role="a", tenant="z"),
            await give(probe, role="a", permission="jobs.read"),
            await give(probe, role="b"),
        ]
        by_code_point = [grants[0], grants[2], grants[1], *grants[3:]]
        assert await listed(probe) == by_code_point

    async def test_grants_are_found_by_role_and_tenant(self, probe: Probe) -> None:
        for_all, for_a = await give(probe, role="x"), await give(probe, role="x", tenant="a")
        other = await give(probe, role="y", tenant="b")
        assert await listed(probe, ["x"]) == [for_all, for_a]
        assert await listed(probe, ["x", "y", "z"]) == [for_all, for_a, other]
        assert await listed(probe, []) == []
        assert await listed(probe, tenant="a") == [for_a]
        assert await listed(probe, tenant=None) == [for_all]
        assert await listed(probe, ["y"], "a") == []

    async def test_a_removed_grant_is_gone(self, probe: Probe) -> None:
        kept, gone = await give(probe), await give(probe, tenant="a")
        assert await probe.do(probe.store.remove_grant(gone.id, "a", ANN)) == gone
        assert await listed(probe) == [kept]
        with pytest.raises(GrantNotFound, match=str(gone.id)):
            await probe.do(probe.store.remove_grant(gone.id, "a", ANN))

    @pytest.mark.parametrize(("tenant", "scope"), [("a", "b"), ("a", None), (None, "a")])
    async def test_a_grant_outside_the_scope_is_none(
        self, probe: Probe, tenant: str | None, scope: Scope
    ) -> None:
        grant = await give(probe, tenant=tenant)
        with pytest.raises(GrantNotFound):
            await probe.do(probe.store.remove_grant(grant.id, scope, ANN))
        assert await listed(probe) == [grant]

    async def test_setting_and_removing_are_audited(self, probe: Probe) -> None:
        grant = await give(probe, tenant="a")
        await give(probe, tenant="a", allowed=False)
        await probe.do(probe.store.remove_grant(grant.id, ANY, ANN))
        removed, changed, set_ = await probe.audit(str(grant.id))
        assert [entry.verb for entry in (set_, changed, removed)] == ["set", "set", "remove"]
        place = {"role": "support", "permission": "actions.read", "tenant": "a"}
        assert (set_.before, set_.after) == ({}, place | {"allowed": True})
        assert (changed.before, changed.after) == (set_.after, place | {"allowed": False})
        assert (removed.before, removed.after) == (changed.after, {})
        assert (set_.by, set_.note, set_.source) == ("ann", "asked for it", "cli")
        assert (set_.address, set_.subject, set_.tenant) == ("10.0.0.7", "grant", "a")

    async def test_a_rolled_back_setting_leaves_nothing(self, probe: Probe) -> None:
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.set_grant(new_grant(), ANN)))
        assert await listed(probe) == []
        assert await probe.find_audit() == []

    async def test_nobody_grants_beyond_their_own_rights(self, probe: Probe) -> None:
        await give(probe, role="clerk", permission="admin")
        own = await give(probe, role="clerk", permission="jobs.pause")
        clerk = Authority(Identity("eve", ["clerk"]))
        await give(probe, authority=clerk, permission="jobs.pause")
        denied: list[dict[str, Any]] = [
            {"permission": "jobs.manage"},
            {"permission": "jobs.edit"},
            {"permission": "jobs.edit", "allowed": False},
            {"permission": "jobs.pause", "tenant": "a"},
        ]
        before = await listed(probe)
        for given in denied:
            with pytest.raises(PermissionDenied):
                await give(probe, authority=clerk, **given)
        assert await listed(probe) == before
        await give(probe, role="clerk", permission="jobs.pause", allowed=False)
        with pytest.raises(PermissionDenied, match=r"jobs\.pause"):
            await probe.do(probe.store.remove_grant(own.id, ANY, ANN, clerk))
        assert len(await listed(probe)) == len(before)

    async def test_an_administrator_grants_everything(self, probe: Probe) -> None:
        root = Authority(Identity("root", ["root"]), frozenset({"root"}))
        grant = await give(probe, authority=root, permission="jobs.manage", tenant="a")
        assert await probe.do(probe.store.remove_grant(grant.id, ANY, ANN, root)) == grant

    async def test_clear_deletes_grants(self, probe: Probe) -> None:
        grant: UUID = (await give(probe)).id
        await probe.do(probe.store.clear())
        assert await listed(probe) == []
        assert (await give(probe, id=grant)).id == grant
