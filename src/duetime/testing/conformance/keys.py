"""`add` with a key: one unfinished action per tenant, kind and key."""

from __future__ import annotations

import pytest

from duetime.errors import DuplicateKey, IllegalState
from duetime.model.lane import lane_of, parking_lane
from duetime.model.state import FINISHED, Outcome, State
from duetime.testing.conformance.probe import SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class Keys(Suite):
    async def test_return_gives_the_action_that_holds_the_key(self, probe: Probe) -> None:
        holder = await probe.add(key="k", payload="1")
        [added] = await probe.add_many([probe.new(key="k", payload="2")], "return")
        assert added.record == holder
        assert not added.created
        assert await probe.all() == [holder]

    async def test_return_gives_a_running_action_too(self, probe: Probe) -> None:
        claim = await probe.running(key="k")
        [added] = await probe.add_many([probe.new(key="k")], "return")
        assert (added.record.id, added.record.state) == (claim.id, State.running)
        assert not added.created

    async def test_raise_names_the_action_that_holds_the_key(self, probe: Probe) -> None:
        holder = await probe.add(key="k")
        with pytest.raises(DuplicateKey) as caught:
            await probe.add_many([probe.new(key="k")], "raise")
        error = caught.value
        assert (error.key, error.kind, error.action_id) == ("k", "mail", holder.id)
        assert await probe.all() == [holder]

    async def test_replace_changes_the_work_and_keeps_the_action(self, probe: Probe) -> None:
        holder = await probe.add(key="k", correlation_id="old", delay=SECOND)
        probe.pass_time(1)
        new = probe.new(
            key="k",
            version=2,
            payload="[2]",
            queue="billing",
            priority=3,
            correlation_id="new",
            due_at=probe.now + 9,
            by="bob",
        )
        [added] = await probe.add_many([new], "replace")
        after = added.record
        assert not added.created
        assert (after.id, after.created_at, after.created_by) == (
            holder.id,
            holder.created_at,
            "ann",
        )
        assert (after.version, after.payload, after.queue) == (2, "[2]", "billing")
        assert (after.priority, after.correlation_id, after.due_at) == (3, "new", probe.now + 9)
        assert (after.modified_at, after.modified_by) == (probe.now, "bob")
        assert await probe.all() == [after]

    async def test_replace_moves_the_action_to_its_new_lane_and_time(self, probe: Probe) -> None:
        holder = await probe.add(key="k", delay=SECOND)
        await probe.add_many([probe.new(key="k", queue="billing", delay=2 * SECOND)], "replace")
        probe.pass_time(SECOND)
        assert await probe.heads() == {"1.0.billing": probe.now + SECOND}
        assert await probe.claim("1.0.default", "1.0.billing") == []
        probe.pass_time(SECOND)
        assert (await probe.claim_one("1.0.default", "1.0.billing")).id == holder.id

    async def test_replace_takes_a_delay_from_now(self, probe: Probe) -> None:
        await probe.add(key="k", delay=SECOND)
        probe.pass_time(5 * SECOND)
        [added] = await probe.add_many([probe.new(key="k", delay=SECOND)], "replace")
        assert added.record.due_at == probe.now + SECOND

    async def test_replace_resets_attempts_and_losses(self, probe: Probe) -> None:
        claim = await probe.running(key="k")
        await probe.end(reschedule(claim, Outcome.lost, lost=2, error="gone"))
        [added] = await probe.add_many([probe.new(key="k")], "replace")
        assert (added.record.losses, added.record.error) == (0, None)
        next_claim = await probe.claim_one()
        assert (next_claim.tries, next_claim.losses) == (1, 0)

    async def test_replace_brings_a_parked_action_back(self, probe: Probe) -> None:
        claim = await probe.running(key="k", version=9)
        parked = parking_lane("mail", 9, claim.lane)
        await probe.end(
            reschedule(claim, Outcome.released, lane=parked, refund=True, error="unknown")
        )
        assert await probe.claim() == []
        await probe.add_many([probe.new(key="k", version=1)], "replace")
        assert (await probe.claim_one()).version == 1

    async def test_replace_refuses_a_running_action(self, probe: Probe) -> None:
        claim = await probe.running(key="k")
        before = await probe.get(claim.id)
        with pytest.raises(IllegalState) as caught:
            await probe.add_many([probe.new(), probe.new(key="k")], "replace")
        assert (caught.value.action_id, caught.value.state) == (claim.id, "running")
        assert await probe.all() == [before]

    async def test_a_replaced_action_can_still_be_replaced_and_cancelled(
        self, probe: Probe
    ) -> None:
        holder = await probe.add(key="k")
        for payload in ("1", "2"):
            await probe.add_many([probe.new(key="k", payload=payload)], "replace")
        assert (await probe.get(holder.id)).payload == "2"
        assert (await probe.cancel(holder.id)).state is State.cancelled

    # -- whose key it is -------------------------------------------------------------

    async def test_each_kind_has_its_own_keys(self, probe: Probe) -> None:
        await probe.add(key="k", kind="mail")
        assert (await probe.add_many([probe.new(key="k", kind="sms")], "raise"))[0].created

    async def test_each_tenant_has_its_own_keys(self, probe: Probe) -> None:
        for tenant in (None, "a", "b"):
            assert (await probe.add_many([probe.new(key="k", tenant=tenant)], "raise"))[0].created
        for tenant in (None, "a", "b"):
            with pytest.raises(DuplicateKey):
                await probe.add_many([probe.new(key="k", tenant=tenant)], "raise")

    async def test_actions_without_a_key_never_conflict(self, probe: Probe) -> None:
        await probe.add_many([probe.new(), probe.new()], "raise")
        await probe.add_many([probe.new(), probe.new()], "replace")
        assert len(await probe.all()) == 4

    async def test_an_empty_key_is_a_key(self, probe: Probe) -> None:
        await probe.add(key="")
        with pytest.raises(DuplicateKey):
            await probe.add_many([probe.new(key="")], "raise")

    async def test_a_finished_action_frees_its_key(self, probe: Probe) -> None:
        for state in sorted(FINISHED):
            await probe.finished(state, key="k")
            [added] = await probe.add_many([probe.new(key="k", delay=SECOND)], "raise")
            assert added.created
            await probe.cancel(added.record.id)

    async def test_an_action_keeps_its_key_through_a_retry(self, probe: Probe) -> None:
        claim = await probe.running(key="k")
        await probe.end(reschedule(claim, delay=SECOND))
        with pytest.raises(DuplicateKey):
            await probe.add_many([probe.new(key="k")], "raise")
        probe.pass_time(SECOND)
        await probe.end(finish(await probe.claim_one()))
        assert (await probe.add_many([probe.new(key="k")], "raise"))[0].created

    # -- twice in one call -----------------------------------------------------------

    async def test_return_finds_an_earlier_action_of_the_same_call(self, probe: Probe) -> None:
        new = [probe.new(key="k", payload="1"), probe.new(), probe.new(key="k", payload="2")]
        first, middle, last = await probe.add_many(new, "return")
        assert (first.created, middle.created, last.created) == (True, True, False)
        assert first.record == last.record
        assert last.record.payload == "1"
        assert len(await probe.all()) == 2

    async def test_raise_finds_an_earlier_action_of_the_same_call(self, probe: Probe) -> None:
        new = [probe.new(key="k"), probe.new(), probe.new(key="k")]
        with pytest.raises(DuplicateKey) as caught:
            await probe.add_many(new, "raise")
        assert (caught.value.key, caught.value.action_id) == ("k", new[0].id)
        assert await probe.all() == []

    async def test_replace_finds_an_earlier_action_of_the_same_call(self, probe: Probe) -> None:
        new = [
            probe.new(key="k", payload="1"),
            probe.new(key="k", payload="2", queue="billing", tenant=None),
        ]
        first, last = await probe.add_many(new, "replace")
        assert (first.created, last.created) == (True, False)
        assert first.record.id == last.record.id == new[0].id
        [kept] = await probe.all()
        assert (kept.payload, kept.queue) == ("2", "billing")
        assert (await probe.claim_one(lane_of("billing", 1, None))).id == new[0].id

    async def test_one_call_may_find_old_and_new_holders_of_keys(self, probe: Probe) -> None:
        old = await probe.add(key="old", payload="0")
        new = [probe.new(key=key) for key in ("old", "new", "old", "new", "other")]
        added = await probe.add_many(new, "return")
        ids = [action.record.id for action in added]
        assert ids == [old.id, new[1].id, old.id, new[1].id, new[4].id]
        assert [action.created for action in added] == [False, True, False, False, True]
