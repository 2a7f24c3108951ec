"""`add`: which values are stored, and that each action is stored once."""

from __future__ import annotations

from uuid import uuid4

import pytest

from duetime.errors import DuplicateKey
from duetime.model.actions.action import NewAction, Record
from duetime.model.clock import from_micros
from duetime.model.lane import lane_of
from duetime.model.state import State
from duetime.testing.conformance.probe import SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite

LAST_MICROSECOND = 253_402_300_799_999_999


class Adding(Suite):
    async def test_an_added_action_is_stored_unchanged(self, probe: Probe) -> None:
        new = probe.new(
            kind="invoice",
            version=3,
            payload='{"amount": 12}',
            queue="billing",
            priority=2,
            tenant="acme",
            correlation_id="order:7",
            key="k",
            due_at=probe.now + 5 * SECOND,
            by="user-42",
        )
        [added] = await probe.add_many([new])
        assert added.created
        assert added.record == _untouched(new, probe.now)
        assert (added.record.queue, added.record.tenant) == ("billing", "acme")
        assert await probe.get(new.id) == added.record

    async def test_an_instant_is_stored_unchanged(self, probe: Probe) -> None:
        assert (await probe.add(due_at=probe.now - 7)).due_at == probe.now - 7
        assert (await probe.add(due_at=probe.now + 7)).due_at == probe.now + 7

    async def test_a_delay_counts_from_the_stores_clock(self, probe: Probe) -> None:
        probe.pass_time(123_456)
        assert (await probe.add(delay=90 * SECOND)).due_at == probe.now + 90 * SECOND
        assert (await probe.add(delay=0)).due_at == probe.now

    async def test_a_flow_made_earlier_reads_the_clock_when_it_is_performed(
        self, probe: Probe
    ) -> None:
        flow = probe.store.add([probe.new(delay=SECOND)], "return")
        probe.pass_time(5 * SECOND)
        [added] = await probe.do(flow)
        assert added.record.created_at == probe.now
        assert added.record.due_at == probe.now + SECOND

    async def test_created_at_is_the_stores_now(self, probe: Probe) -> None:
        first = await probe.add()
        probe.pass_time(1)
        second = await probe.add()
        assert second.created_at == first.created_at + 1 == probe.now

    async def test_the_last_instant_of_year_9999_is_safe(self, probe: Probe) -> None:
        record = await probe.add(due_at=LAST_MICROSECOND)
        assert (await probe.get(record.id)).due_at == LAST_MICROSECOND
        assert from_micros(LAST_MICROSECOND).year == 9999
        assert await probe.claim() == []

    async def test_an_instant_before_1970_is_safe(self, probe: Probe) -> None:
        record = await probe.add(due_at=-5)
        claim = await probe.claim_one(since=-(10**15))
        assert (claim.id, claim.due_at) == (record.id, -5)

    async def test_many_come_back_in_the_order_given(self, probe: Probe) -> None:
        new = [probe.new(due_at=probe.now + i % 7, queue=f"q{i % 3}") for i in range(60)]
        new.reverse()
        added = await probe.add_many(new)
        assert [action.record.id for action in added] == [new_action.id for new_action in new]
        assert [action.record.due_at for action in added] == [
            new_action.due_at for new_action in new
        ]
        assert all(action.created for action in added)
        assert len(await probe.all()) == 60

    async def test_many_may_mix_instants_delays_and_keys(self, probe: Probe) -> None:
        new = [probe.new(due_at=5), probe.new(delay=7, key="a"), probe.new(delay=9, key="b")]
        added = await probe.add_many(new)
        assert [action.record.due_at for action in added] == [5, probe.now + 7, probe.now + 9]

    async def test_many_may_differ_in_every_field(self, probe: Probe) -> None:
        parent = await probe.add(tenant="acme")
        new = [
            probe.new(correlation_id="order:1", key="a", due_at=-(2**60)),
            probe.new(kind="call", version=2, payload='"ü\\"🐍"', queue="loud", by="bob"),
            probe.new(tenant="acme", priority=3, key="b", due_at=2**57),
            probe.new(tenant="acme", delay=7, after=parent.id, on="failed"),
        ]
        for request, added in zip(new, await probe.add_many(new), strict=True):
            stored = await probe.get(request.id)
            assert stored == added.record
            assert (stored.kind, stored.version, stored.payload) == (
                request.kind,
                request.version,
                request.payload,
            )
            assert (stored.queue, stored.priority, stored.tenant) == (
                request.queue,
                request.priority,
                request.tenant,
            )
            assert (stored.correlation_id, stored.key) == (request.correlation_id, request.key)
            assert (stored.after, stored.due_at) == (request.after, request.due_at)
            assert (stored.created_by, stored.state) == (request.by, State.scheduled)

    async def test_adding_no_actions_is_allowed(self, probe: Probe) -> None:
        assert await probe.add_many([]) == []

    async def test_a_batch_is_stored_completely_or_not_at_all(self, probe: Probe) -> None:
        holder = await probe.add(key="k")
        with pytest.raises(DuplicateKey):
            await probe.add_many([probe.new(), probe.new(key="k"), probe.new()], "raise")
        assert await probe.all() == [holder]
        assert [claim.id for claim in await probe.claim()] == [holder.id]

    async def test_any_text_survives(self, probe: Probe) -> None:
        text = 'it\'s "100%" :name $1 ? \\ \n\t ümlaut 🙂 \u2028 {} --'
        record = await probe.add(
            kind=text, payload=text, queue=text, correlation_id=text, key=text, tenant=text, by=text
        )
        stored = await probe.get(record.id, text)
        assert stored == record
        assert {stored.kind, stored.payload, stored.queue, stored.tenant, stored.created_by} == {
            text
        }
        claim = await probe.claim_one(lane_of(text, 1, text))
        assert (claim.payload, claim.tenant, claim.by) == (text, text, text)

    async def test_a_payload_of_a_megabyte_survives(self, probe: Probe) -> None:
        payload = '"' + "x" * 1_000_000 + '"'
        record = await probe.add(payload=payload)
        assert (await probe.get(record.id)).payload == payload

    # -- sent again after a lost reply -----------------------------------------------

    async def test_adding_again_returns_what_the_first_attempt_stored(self, probe: Probe) -> None:
        new = probe.new(delay=SECOND, key="k")
        [first] = await probe.add_many([new])
        probe.pass_time(SECOND)
        for if_exists in ("return", "raise", "replace"):
            assert await probe.add_many([new], if_exists) == [first]
        assert first.created
        assert await probe.all() == [first.record]

    async def test_adding_a_running_action_again_changes_nothing(self, probe: Probe) -> None:
        new = probe.new()
        await probe.add_many([new])
        claim = await probe.claim_one()
        before = await probe.get(new.id)
        [added] = await probe.add_many([new])
        assert added.record == before == await probe.get(new.id)
        assert await probe.end(finish(claim)) == {new.id}

    async def test_adding_a_finished_action_again_does_not_revive_it(self, probe: Probe) -> None:
        new = probe.new(key="k")
        await probe.add_many([new])
        await probe.end(finish(await probe.claim_one()))
        before = await probe.get(new.id)
        [added] = await probe.add_many([new], "raise")
        assert added.record == before
        assert await probe.all() == [before]
        assert await probe.claim() == []

    async def test_a_batch_sent_again_stores_only_what_is_missing(self, probe: Probe) -> None:
        old, fresh = probe.new(), probe.new()
        await probe.add_many([old])
        added = await probe.add_many([old, fresh])
        assert [action.record.id for action in added] == [old.id, fresh.id]
        assert len(await probe.all()) == 2

    async def test_one_id_twice_in_a_call_is_stored_once(self, probe: Probe) -> None:
        new = probe.new()
        first, second = await probe.add_many([new, new])
        assert first.record == second.record
        assert len(await probe.all()) == 1

    async def test_ids_need_not_be_in_order(self, probe: Probe) -> None:
        ids = [uuid4() for _ in range(20)]
        added = await probe.add_many([probe.new(id=item) for item in ids])
        assert [action.record.id for action in added] == ids


def _untouched(new: NewAction, now: int) -> Record:
    """The record of a new action."""
    assert new.due_at is not None
    return Record(
        id=new.id,
        kind=new.kind,
        version=new.version,
        payload=new.payload,
        state=State.scheduled,
        queue=new.queue,
        priority=new.priority,
        tenant=new.tenant,
        correlation_id=new.correlation_id,
        key=new.key,
        due_at=new.due_at,
        attempt=0,
        base_attempt=0,
        losses=0,
        token=None,
        worker=None,
        lease_until=None,
        started_at=None,
        progress=None,
        result=None,
        error=None,
        outcome=None,
        job=None,
        tick=None,
        triggered_by=None,
        after=None,
        after_on=None,
        after_at=None,
        after_delay=None,
        expires_at=None,
        created_at=now,
        created_by=new.by,
        modified_at=None,
        modified_by=None,
        cancelled_by=None,
        finished_at=None,
        error_group=None,
    )
