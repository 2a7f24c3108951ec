"""`repeat`: a finished action is scheduled anew, and stays as it is."""

from __future__ import annotations

from uuid import uuid4

import pytest

from duetime.errors import ActionNotFound, IllegalState
from duetime.model.act import Act
from duetime.model.state import FINISHED, State
from duetime.model.tenant import Scope
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import LATER, SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite

BY_BOB = Act("bob")


class Repeating(Suite):
    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_finished_action_is_scheduled_anew(self, probe: Probe, state: State) -> None:
        place = {"queue": "billing", "priority": 3, "tenant": "a", "lane": "3.a.billing"}
        old = await probe.finished(
            state, key="k", correlation_id="c", version=2, payload="[1]", **place
        )
        probe.pass_time(SECOND)
        new = await probe.repeat(old.id, by="bob")
        assert await probe.get(old.id) == old
        assert await probe.get(new.id) == new
        assert new.id != old.id
        assert (new.kind, new.version, new.payload) == (old.kind, 2, "[1]")
        assert (new.queue, new.priority, new.tenant) == ("billing", 3, "a")
        assert (new.correlation_id, new.key) == ("c", None)
        assert (new.state, new.due_at, new.attempt) == (State.scheduled, probe.now, 0)
        assert (new.created_at, new.created_by) == (probe.now, "bob")

    async def test_a_repeated_action_runs(self, probe: Probe) -> None:
        old = await probe.finished(State.succeeded)
        new = await probe.repeat(old.id)
        claim = await probe.claim_one()
        assert (claim.id, claim.attempt, claim.payload) == (new.id, 1, old.payload)
        assert await probe.end(finish(claim)) == {new.id}

    async def test_it_is_due_at_its_own_time(self, probe: Probe) -> None:
        old = await probe.finished(State.failed)
        assert (await probe.repeat(old.id, due_at=probe.now + 9)).due_at == probe.now + 9
        assert (await probe.repeat(old.id, delay=LATER)).due_at == probe.now + LATER

    async def test_with_another_payload(self, probe: Probe) -> None:
        old = await probe.finished(State.failed, payload='{"to": "ann", "cc": 1}')
        new = await probe.repeat(old.id, payload=(7, '{"to": "eve", "cc": 1}'))
        assert (new.version, new.payload) == (7, '{"to": "eve", "cc": 1}')
        [entry] = await probe.audit(old.id)
        assert entry.after["payload_changed"] == ["to"]
        assert "eve" not in str(entry)
        assert "ann" not in str(entry)

    async def test_parent_job_and_expiry_are_not_taken_over(self, probe: Probe) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id, expires_at=probe.now + LATER)
        await probe.end(finish(parent))
        await probe.settle(parent.id)
        await probe.end(finish(await probe.claim_one()))
        probe.pass_time(2 * LATER)
        new = await probe.repeat(child.id)
        assert (new.after, new.expires_at, new.due_at) == (None, None, probe.now)
        assert (await probe.claim_one()).id == new.id

    @pytest.mark.parametrize("state", [State.scheduled, State.running])
    async def test_an_unfinished_action_is_not_repeated(self, probe: Probe, state: State) -> None:
        record = await probe.in_state(state)
        with pytest.raises(IllegalState) as caught:
            await probe.repeat(record.id)
        error = caught.value
        assert (error.verb, error.action_id, error.state) == ("repeat", record.id, state)
        assert await probe.all() == [record]
        assert await probe.audit(record.id) == []

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_other_tenants_cannot_repeat(self, probe: Probe, tenant: Scope) -> None:
        record = await probe.finished(State.failed, tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.repeat(record.id, tenant)
        assert await probe.all() == [record]
        assert (await probe.repeat(record.id, "a")).tenant == "a"

    async def test_an_unknown_id_is_not_found(self, probe: Probe) -> None:
        with pytest.raises(ActionNotFound):
            await probe.do(probe.store.repeat(uuid4(), None, BY_BOB, probe.new()))
        assert await probe.all() == []

    async def test_the_link_is_audited_at_the_finished_action(self, probe: Probe) -> None:
        old = await probe.finished(State.failed, tenant="a")
        new = await probe.repeat(old.id, by="eve")
        [entry] = await probe.audit(old.id)
        assert (entry.verb, entry.by, entry.tenant) == ("repeat", "eve", "a")
        assert entry.before == {"state": "failed"}
        assert entry.after == {"state": "failed", "repeated_as": str(new.id)}

    async def test_a_verb_that_fails_afterwards_undoes_it(self, probe: Probe) -> None:
        record = await probe.finished(State.failed)
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.repeat(record.id, None, BY_BOB, probe.new())))
        assert await probe.all() == [record]
        assert await probe.audit(record.id) == []
