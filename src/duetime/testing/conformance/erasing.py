"""`erase`: the data of actions is wiped, the actions and the audit log stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duetime.model.actions.action import Record
from duetime.model.erasure import WIPED_PAYLOAD, Erased
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import LATER, SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite

PERSONAL = "ann-of-green-gables"


async def filled(probe: Probe, state: State, **given: Any) -> Record:
    """Add an action that had a failed run, and bring it into the state with all the data it can
    have."""
    claim = await probe.running(payload=f'["{PERSONAL}"]', **given)
    error = f"no such person: {PERSONAL}"
    await probe.end(reschedule(claim, error=error, traceback=error))
    if state is State.scheduled:
        return await probe.get(claim.id)
    claim = await probe.claim_one(claim.lane)
    await probe.progress(claim, f'["{PERSONAL}"]')
    if state is not State.running:
        end = finish(claim, state, result=f'["{PERSONAL}"]', error=f"no: {PERSONAL}")
        await probe.end(end)
    return await probe.get(claim.id)


def counts(done: Erased) -> tuple[int, int, int, int]:
    return done.erased, len(done.cancelled), done.left, done.running


class Erasing(Suite):
    @pytest.mark.parametrize("state", sorted(set(State) - {State.running}))
    async def test_the_data_of_an_action_is_wiped(self, probe: Probe, state: State) -> None:
        before = await filled(probe, state, correlation_id="c", key="k")
        assert PERSONAL in str(before)
        probe.pass_time(SECOND)
        done = await probe.erase(correlation_id="c")
        assert counts(done) == (1, state is State.scheduled, 0, 0)
        assert done.front is None
        after = await probe.get(before.id)
        assert after.payload == WIPED_PAYLOAD
        assert (after.result, after.error, after.progress) == (None, None, None)
        assert PERSONAL not in str((after, await probe.runs(before.id)))
        assert all(run.traceback is None for run in await probe.runs(before.id))
        assert (after.id, after.kind, after.correlation_id) == (before.id, before.kind, "c")
        if state is not State.scheduled:
            unchanged: dict[str, Any] = {
                "payload": "",
                "result": None,
                "error": None,
                "error_group": None,
                "progress": None,
                "trace": None,
            }
            assert replace(after, **unchanged) == replace(before, **unchanged)

    async def test_what_waits_is_cancelled(self, probe: Probe) -> None:
        record = await probe.add(correlation_id="c", delay=LATER)
        parent = await probe.running()
        child = await probe.child(parent.id, correlation_id="c")
        done = await probe.erase(correlation_id="c", by="dpo")
        assert {action.id for action in done.cancelled} == {record.id, child.id}
        for action_id in (record.id, child.id):
            after = await probe.get(action_id)
            assert (after.state, after.cancelled_by) == (State.cancelled, "dpo")
        probe.pass_time(LATER)
        assert await probe.claim() == []

    async def test_a_running_action_is_left_until_it_has_finished(self, probe: Probe) -> None:
        claim = await probe.running(correlation_id="c", payload=f'["{PERSONAL}"]')
        before = await probe.get(claim.id)
        assert counts(await probe.erase(correlation_id="c")) == (0, 0, 1, 1)
        assert await probe.get(claim.id) == before
        assert await probe.find_audit() == []
        await probe.end(finish(claim))
        assert counts(await probe.erase(correlation_id="c")) == (1, 0, 0, 0)
        assert (await probe.get(claim.id)).payload == WIPED_PAYLOAD

    async def test_others_keep_their_data(self, probe: Probe) -> None:
        mine = [await filled(probe, State.failed, correlation_id="c", tenant="a", lane="1.a.d")]
        others = [
            await filled(probe, State.failed, correlation_id="d", tenant="a", lane="1.a.d"),
            await filled(probe, State.failed, correlation_id="c", tenant="b", lane="1.b.d"),
            await filled(probe, State.failed, correlation_id="c"),
        ]
        assert counts(await probe.erase(correlation_id="c", tenant="a")) == (1, 0, 0, 0)
        for record in others:
            assert await probe.get(record.id) == record
            assert PERSONAL in str(await probe.runs(record.id))
        assert (await probe.get(mine[0].id)).payload == WIPED_PAYLOAD

    async def test_all_of_a_tenant(self, probe: Probe) -> None:
        mine = [await filled(probe, State.failed, tenant="a", lane="1.a.d") for _ in range(2)]
        waiting = await probe.add(tenant="a", delay=LATER)
        other = await filled(probe, State.failed, tenant="b", lane="1.b.d")
        await probe.put(probe.job("mine", tenant="a"), probe.job("theirs", tenant="b"))
        done = await probe.erase(tenant="a")
        assert counts(done) == (3, 1, 0, 0)
        assert done.jobs == 1
        for record in (*mine, waiting):
            assert (await probe.get(record.id)).payload == WIPED_PAYLOAD
        assert await probe.get(other.id) == other
        assert (await probe.erase(correlation_id="c", tenant="a")).jobs == 0

    async def test_it_goes_on_where_it_stopped(self, probe: Probe) -> None:
        records = [await filled(probe, State.succeeded, correlation_id="c") for _ in range(5)]
        records += [await probe.add(correlation_id="c", delay=LATER) for _ in range(4)]
        seen: list[tuple[int, int, int, int]] = []
        done = await probe.erase(correlation_id="c", limit=3)
        seen.append(counts(done))
        while done.front is not None:
            done = await probe.erase(correlation_id="c", limit=3, before=done.front)
            seen.append(counts(done))
        assert seen == [(3, 3, 6, 0), (3, 1, 3, 0), (3, 0, 0, 0), (0, 0, 0, 0)]
        for record in records:
            assert (await probe.get(record.id)).payload == WIPED_PAYLOAD

    async def test_without_the_cursor_it_gets_on_too(self, probe: Probe) -> None:
        for _ in range(5):
            await filled(probe, State.succeeded, correlation_id="c")
        seen = [counts(await probe.erase(correlation_id="c", limit=2)) for _ in range(4)]
        assert seen == [(2, 0, 3, 0), (2, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 0)]

    async def test_an_action_whose_payload_is_empty_may_have_other_data(self, probe: Probe) -> None:
        claim = await probe.running(payload=WIPED_PAYLOAD, correlation_id="c")
        await probe.end(reschedule(claim, error=PERSONAL, traceback=PERSONAL))
        await probe.end(finish(await probe.claim_one()))
        assert PERSONAL in str(await probe.runs(claim.id))
        assert counts(await probe.erase(correlation_id="c")) == (1, 0, 0, 0)
        assert PERSONAL not in str(await probe.runs(claim.id))
        assert counts(await probe.erase(correlation_id="c")) == (0, 0, 0, 0)

    async def test_the_audit_log_stays_and_tells_of_it(self, probe: Probe) -> None:
        record = await probe.add(correlation_id="c", tenant="a", delay=LATER)
        await probe.reschedule(record.id, delay=LATER)
        done = await probe.erase(correlation_id="c", tenant="a", by="dpo")
        [entry] = await probe.find_audit(verb="erase")
        assert (entry.by, entry.tenant, entry.subject) == ("dpo", "a", "erase")
        assert entry.after == {
            "correlation_id": "c",
            "erased": 1,
            "cancelled": 1,
            "left": 0,
            "running": 0,
        }
        cancelled, rescheduled = await probe.audit(record.id)
        assert (cancelled.verb, cancelled.after["erase"]) == ("cancel", entry.subject_id)
        assert rescheduled.verb == "reschedule"
        await probe.erase(correlation_id="c", tenant="a")
        assert await probe.find_audit(verb="erase") == [entry]
        assert done.erased == 1

    async def test_a_verb_that_fails_afterwards_undoes_it(self, probe: Probe) -> None:
        records = [
            await filled(probe, s, correlation_id="c") for s in (State.failed, State.scheduled)
        ]
        runs = [await probe.runs(record.id) for record in records]
        order = probe.erasure(correlation_id="c")
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.erase(order)))
        assert [await probe.get(record.id) for record in records] == records
        assert [await probe.runs(record.id) for record in records] == runs
        assert await probe.find_audit() == []

    async def test_across_all_tenants(self, probe: Probe) -> None:
        for tenant in (None, "a", "b"):
            await probe.add(correlation_id="c", tenant=tenant, delay=LATER)
        assert counts(await probe.erase(correlation_id="c", tenant=ANY)) == (3, 3, 0, 0)
