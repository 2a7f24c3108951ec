"""`find_id`: the action that a kind and key name."""

from __future__ import annotations

import pytest

from duetime.errors import ActionNotFound, InvalidArgument
from duetime.model.actions.action_key import KeyStates
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.probe import LATER, Probe
from duetime.testing.conformance.suite import Suite

UNFINISHED = sorted(set(State) - FINISHED)


class FindingIds(Suite):
    @pytest.mark.parametrize("among", ["any", "unfinished"])
    @pytest.mark.parametrize("state", UNFINISHED)
    async def test_the_unfinished_action_that_holds_the_key_is_found(
        self, probe: Probe, state: State, among: KeyStates
    ) -> None:
        holder = await probe.in_state(state, key="k")
        assert await probe.find_id(among) == holder.id

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_finished_action_is_found_if_none_is_unfinished(
        self, probe: Probe, state: State
    ) -> None:
        finished = await probe.finished(state, key="k")
        assert await probe.find_id("any") == finished.id
        with pytest.raises(ActionNotFound, match="no unfinished action of kind 'mail' with key"):
            await probe.find_id("unfinished")

    async def test_the_newest_of_several_finished_actions_is_found(self, probe: Probe) -> None:
        finished = [await probe.finished(state, key="k") for state in [*State][2:] * 3]
        assert await probe.find_id("any") == max(record.id for record in finished)

    async def test_an_unfinished_action_comes_before_newer_finished_ones(
        self, probe: Probe
    ) -> None:
        failed = await probe.finished(State.failed, key="k")
        newer = await probe.finished(State.succeeded, key="k")
        assert await probe.find_id("any") == newer.id
        await probe.retry(failed.id)
        assert await probe.find_id("any") == failed.id < newer.id

    async def test_the_newest_failed_action_is_found_among_failed_ones(self, probe: Probe) -> None:
        failed = [await probe.finished(State.failed, key="k") for _ in range(2)]
        await probe.finished(State.succeeded, key="k")
        await probe.add(key="k", delay=LATER)
        assert await probe.find_id("failed") == failed[1].id

    @pytest.mark.parametrize("state", [*UNFINISHED, State.succeeded, State.cancelled])
    async def test_no_other_state_counts_as_failed(self, probe: Probe, state: State) -> None:
        await probe.in_state(state, key="k")
        with pytest.raises(ActionNotFound, match="no failed action"):
            await probe.find_id("failed")

    @pytest.mark.parametrize("among", ["any", "unfinished", "failed"])
    async def test_an_unknown_key_is_not_found(self, probe: Probe, among: KeyStates) -> None:
        for given in ({"key": "other"}, {"key": "k", "kind": "other"}, {"key": None}):
            await probe.finished(State.failed, **given)
            await probe.add(**given, delay=LATER)
        with pytest.raises(ActionNotFound, match="kind 'mail' with key 'k'") as caught:
            await probe.find_id(among)
        error = caught.value
        assert (error.action_id, error.kind, error.key) == (None, "mail", "k")

    @pytest.mark.parametrize("among", ["any", "unfinished", "failed"])
    async def test_tenants_find_only_their_own(self, probe: Probe, among: KeyStates) -> None:
        state = State.failed if among == "failed" else State.scheduled
        found = {owner: await probe.in_state(state, tenant=owner, key="k") for owner in (None, "a")}
        assert {owner: await probe.find_id(among, owner) for owner in found} == {
            owner: record.id for owner, record in found.items()
        }
        for other in ("b", ""):
            with pytest.raises(ActionNotFound):
                await probe.find_id(among, other)

    @pytest.mark.parametrize("tenant", [None, "", "a"])
    async def test_the_only_tenant_with_the_key_is_found_among_any(
        self, probe: Probe, tenant: str | None
    ) -> None:
        for _ in range(3):
            await probe.finished(State.failed, tenant=tenant, key="k")
        last = await probe.finished(State.failed, tenant=tenant, key="k")
        assert await probe.find_id("any", ANY) == last.id
        assert await probe.find_id("failed", ANY) == last.id
        holder = await probe.add(tenant=tenant, key="k", delay=LATER)
        assert await probe.find_id("any", ANY) == holder.id
        assert await probe.find_id("unfinished", ANY) == holder.id

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (State.scheduled, State.running),
            (State.scheduled, State.succeeded),
            (State.cancelled, State.failed),
            (State.failed, State.failed),
        ],
    )
    async def test_keys_of_several_tenants_are_not_guessed_among(
        self, probe: Probe, first: State, second: State
    ) -> None:
        await probe.in_state(first, tenant="a", key="k")
        await probe.in_state(second, tenant=None, key="k")
        with pytest.raises(InvalidArgument, match=r"tenant=ANY .*several tenants .*'mail'.*'k'"):
            await probe.find_id("any", ANY)

    async def test_only_wanted_states_make_a_key_ambiguous(self, probe: Probe) -> None:
        holder = await probe.add(tenant="a", key="k", delay=LATER)
        failed = await probe.finished(State.failed, tenant="b", key="k")
        await probe.finished(State.succeeded, tenant="c", key="k")
        assert await probe.find_id("unfinished", ANY) == holder.id
        assert await probe.find_id("failed", ANY) == failed.id

    @pytest.mark.parametrize("tenant", [None, ANY])
    async def test_finding_changes_nothing(self, probe: Probe, tenant: Scope) -> None:
        holder = await probe.add(key="k")
        await probe.find_id("any", tenant)
        assert await probe.all() == [holder]
        assert await probe.audit(holder.id) == []
