"""Children: how they are added, wait until their parent has finished, and are changed meanwhile."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from duetime.errors import ActionNotFound, DuplicateKey, InvalidArgument
from duetime.model.state import State
from duetime.model.tenant import Scope
from duetime.testing.conformance.probe import LANE, LATER, SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite


class Chaining(Suite):
    # -- waiting ---------------------------------------------------------------------

    async def test_a_child_waits_outside_every_lane(self, probe: Probe) -> None:
        parent = await probe.add(delay=LATER)
        child = await probe.child(parent.id, "failed", delay=5)
        assert (child.state, child.due_at, child.waits) == (State.scheduled, None, True)
        assert (child.after, child.after_on) == (parent.id, "failed")
        assert (child.after_at, child.after_delay) == (None, 5)
        assert await probe.get(child.id) == child
        assert await probe.heads() == {LANE: parent.due_at}
        probe.pass_time(2 * LATER)
        assert [claim.id for claim in await probe.claim()] == [parent.id]

    async def test_a_child_keeps_its_earliest_instant(self, probe: Probe) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id, due_at=probe.now + SECOND)
        assert (child.due_at, child.after_at, child.after_delay) == (None, probe.now + SECOND, None)

    async def test_a_child_is_found_like_any_other_scheduled_action(self, probe: Probe) -> None:
        parent = await probe.running(kind="first")
        child = await probe.child(parent.id, kind="second", correlation_id="c")
        for wanted in ({"kind": "second"}, {"correlation_id": "c"}, {"state": State.scheduled}):
            assert await probe.find(**wanted) == [child]
        assert await probe.find(kind="second", due_from=0) == []

    async def test_a_child_of_an_unfinished_parent_is_not_settled(self, probe: Probe) -> None:
        scheduled, running = await probe.add(delay=LATER), await probe.running()
        children = [await probe.child(item.id) for item in (scheduled, running)]
        assert await probe.settle(scheduled.id, running.id) == []
        assert [await probe.get(child.id) for child in children] == children

    @pytest.mark.parametrize("state", list(State))
    async def test_a_parent_may_be_in_any_state(self, probe: Probe, state: State) -> None:
        parent = await probe.in_state(state)
        assert (await probe.child(parent.id)).waits

    # -- adding ----------------------------------------------------------------------

    async def test_an_unknown_parent_is_not_found_and_nothing_is_written(
        self, probe: Probe
    ) -> None:
        unknown = uuid4()
        with pytest.raises(ActionNotFound) as caught:
            await probe.add_many([probe.new(), probe.new(after=unknown, on="succeeded")])
        assert caught.value.action_id == unknown
        assert await probe.all() == []

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_the_parent_of_another_tenant_is_not_found(
        self, probe: Probe, tenant: Scope
    ) -> None:
        parent = await probe.add(tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.child(parent.id, tenant=tenant)
        assert (await probe.child(parent.id, tenant="a")).waits

    async def test_a_parent_of_the_same_call_is_not_found(self, probe: Probe) -> None:
        parent = probe.new()
        with pytest.raises(ActionNotFound):
            await probe.add_many([parent, probe.new(after=parent.id, on="succeeded")])
        assert await probe.all() == []

    async def test_a_replayed_child_is_stored_once_even_if_its_parent_is_gone(
        self, probe: Probe
    ) -> None:
        parent = await probe.finished(State.succeeded)
        new = probe.new(after=parent.id, on="succeeded")
        [first] = await probe.add_many([new])
        probe.pass_time(SECOND)
        assert await probe.prune() == 1
        assert await probe.add_many([new]) == [first]

    async def test_a_missing_parent_is_refused_even_if_the_key_is_held(self, probe: Probe) -> None:
        holder = await probe.add(key="k")
        for mode in ("return", "raise", "replace"):
            with pytest.raises(ActionNotFound):
                await probe.add_many([probe.new(key="k", after=uuid4(), on="failed")], mode)
        assert await probe.all() == [holder]

    # -- changing waiting children ---------------------------------------------------

    async def test_a_waiting_child_can_be_cancelled(self, probe: Probe) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id)
        after = await probe.cancel(child.id, by="bob")
        assert (after.state, after.cancelled_by, after.error) == (State.cancelled, "bob", None)
        assert (await probe.complete(finish(parent))).parents == set()
        assert await probe.settle(parent.id) == []

    @pytest.mark.parametrize("by_delay", [False, True])
    async def test_a_rescheduled_child_still_waits(self, probe: Probe, by_delay: bool) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id, delay=3)
        earliest = probe.now + LATER
        when = {"delay": LATER} if by_delay else {"due_at": earliest}
        after = await probe.reschedule(child.id, by="bob", **when)  # type: ignore[arg-type]
        assert after == replace(
            child,
            after_at=earliest,
            after_delay=None,
            modified_at=probe.now,
            modified_by="bob",
        )
        assert await probe.get(child.id) == after
        [entry] = await probe.audit(child.id)
        assert (entry.before["after_delay"], entry.after["after_at"]) == (3, earliest)
        await probe.end(finish(parent))
        assert [record.due_at for record in await probe.settle(parent.id)] == [earliest]

    async def test_a_released_child_is_rescheduled_like_any_other(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        child = await probe.child(parent.id, delay=3)
        await probe.settle(parent.id)
        after = await probe.reschedule(child.id, probe.now + LATER)
        assert (after.due_at, after.after_at, after.after_delay) == (probe.now + LATER, None, 3)

    async def test_a_child_that_failed_is_retried_without_its_parent(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        child = await probe.child(parent.id)
        await probe.settle(parent.id)
        await probe.end(finish(await probe.claim_one(), State.failed))
        after = await probe.retry(child.id)
        assert (after.due_at, after.after) == (probe.now, parent.id)

    # -- keys ------------------------------------------------------------------------

    async def test_a_waiting_child_holds_its_key(self, probe: Probe) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id, key="k")
        [found] = await probe.add_many([probe.new(key="k")])
        assert (found.record, found.created) == (child, False)
        with pytest.raises(DuplicateKey):
            await probe.add_many([probe.new(key="k")], "raise")

    async def test_replacing_gives_an_action_a_parent(self, probe: Probe) -> None:
        parent, holder = await probe.running(), await probe.add(key="k", delay=LATER)
        new = probe.new(key="k", after=parent.id, on="failed", due_at=probe.now + 9)
        [added] = await probe.add_many([new], "replace")
        after = await probe.get(holder.id)
        assert (added.record, added.created) == (after, False)
        assert (after.due_at, after.after, after.after_on) == (None, parent.id, "failed")
        assert (after.after_at, after.after_delay) == (probe.now + 9, None)
        assert (await probe.complete(finish(parent))).parents == {parent.id}

    async def test_replacing_takes_its_parent_from_a_child(self, probe: Probe) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id, key="k")
        await probe.add_many([probe.new(key="k")], "replace")
        after = await probe.get(child.id)
        assert (after.due_at, after.after, after.after_on) == (probe.now, None, None)
        assert (after.after_at, after.after_delay) == (None, None)
        assert (await probe.complete(finish(parent))).parents == set()
        assert (await probe.claim_one()).id == child.id

    async def test_replacing_cannot_create_a_cycle(self, probe: Probe) -> None:
        first = await probe.add(key="k", delay=LATER)
        second = await probe.child(first.id)
        third = await probe.child(second.id)
        for parent in (first, second, third):
            new = probe.new(key="k", after=parent.id, on="finished")
            with pytest.raises(InvalidArgument, match="neither would ever run"):
                await probe.add_many([new], "replace")
        assert await probe.get(first.id) == first
