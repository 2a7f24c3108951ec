"""What `find` filters by: kinds, states, flags, times, parents, searches and error groups."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from duetime.model.actions.action import Record
from duetime.model.actions.completion import fail_lost
from duetime.model.error_group import error_group
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import (
    LATER,
    LEASE,
    PARKED,
    SECOND,
    Probe,
    finish,
    reschedule,
)
from duetime.testing.conformance.suite import Suite


class Filtering(Suite):
    async def test_several_states_and_kinds(self, probe: Probe) -> None:
        for state in State:
            for kind in ("a", "b", "c"):
                await probe.in_state(state, kind=kind)
        found = await probe.find(states=(State.failed, State.running), kinds=("a", "c"))
        assert {(record.state, record.kind) for record in found} == {
            (state, kind) for state in (State.failed, State.running) for kind in ("a", "c")
        }
        assert len(await probe.find(states=(State.failed, State.cancelled))) == 6
        assert len(await probe.find(states=(State.scheduled, State.running))) == 6

    @pytest.mark.parametrize("state", [State.scheduled, State.failed])
    async def test_each_field_of_an_action(self, probe: Probe, state: State) -> None:
        parent = await probe.finished(State.succeeded)
        here = await probe.in_state(state, by="zoe", priority=2)
        child = await probe.child(parent.id)
        assert await probe.find(by="zoe") == [here]
        assert await probe.find(priority=2) == [here]
        assert await probe.find(by="max") == await probe.find(priority=0) == []
        assert await probe.find(after=parent.id) == [child]
        assert await probe.find(after=here.id) == []

    async def test_the_worker_of_the_last_run(self, probe: Probe) -> None:
        running = await probe.in_state(State.running)
        failed = await probe.in_state(State.failed)
        await probe.in_state(State.scheduled)
        assert running.worker is not None
        assert await probe.find(worker=running.worker) == [failed, running]
        assert await probe.find(worker="nobody") == []

    async def test_the_occurrences_of_a_job(self, probe: Probe) -> None:
        job = probe.job()
        await probe.in_state(State.scheduled)
        [occurrence] = await probe.occur(probe.occurrence(job), job=job)
        assert ids(await probe.find(job=job.name)) == [occurrence.id]
        assert await probe.find(job="other-job") == []

    async def test_parked_actions(self, probe: Probe) -> None:
        free = await probe.add(delay=LATER)
        claim = await probe.running()
        await probe.end(reschedule(claim, outcome=Outcome.released, lane=PARKED, refund=True))
        finished = await probe.finished(State.succeeded)
        assert ids(await probe.find(parked=True)) == [claim.id]
        assert ids(await probe.find(parked=False)) == newest(free.id, finished.id)
        assert ids(await probe.find(parked=False, states=(State.scheduled,))) == [free.id]

    async def test_waiting_actions(self, probe: Probe) -> None:
        parent = await probe.add(delay=LATER)
        child = await probe.child(parent.id)
        finished = await probe.finished(State.failed)
        assert await probe.find(waiting=True) == [child]
        assert ids(await probe.find(waiting=False)) == newest(parent.id, finished.id)

    async def test_retrying_actions(self, probe: Probe) -> None:
        retrying = await _after_a_run(probe, outcome=Outcome.retried)
        snoozed = await _after_a_run(probe, outcome=Outcome.snoozed, refund=True)
        failed = await probe.finished(State.failed)
        again = await probe.finished(State.failed)
        await probe.retry(again.id)
        assert ids(await probe.find(retrying=True)) == [retrying]
        assert ids(await probe.find(retrying=False)) == newest(snoozed, failed.id, again.id)

    async def test_overdue_actions(self, probe: Probe) -> None:
        due = await probe.add(due_at=probe.now)
        late = await probe.add(due_at=probe.now - SECOND)
        coming = await probe.add(due_at=probe.now + 1)
        assert await probe.find(overdue=True) == [late, due]
        assert await probe.find(overdue=False) == [coming]
        probe.pass_time(1)
        assert await probe.find(overdue=True) == [coming, late, due]
        await probe.claim(limit=2)
        assert await probe.find(overdue=True) == [coming]

    async def test_actions_that_something_holds_are_not_overdue(self, probe: Probe) -> None:
        slow = await probe.add(due_at=probe.now, queue="slow")
        parked = await probe.running(due_at=probe.now)
        await probe.end(reschedule(parked, lane=PARKED, refund=True))
        await probe.pause("slow", until=probe.now + SECOND)
        assert await probe.find(overdue=True) == []
        assert ids(await probe.find(overdue=False)) == newest(slow.id, parked.id)
        probe.pass_time(SECOND)
        assert await probe.find(overdue=True) == [slow]

    @pytest.mark.parametrize("event", ["created", "finished"])
    async def test_times(self, probe: Probe, event: str) -> None:
        """The first instant is included, the last is not."""
        start = probe.now
        records = []
        for _ in range(4):
            records.append(await probe.finished(State.succeeded))
            probe.pass_time(1)
        first, last = f"{event}_from", f"{event}_before"
        assert ids(await probe.find(**{first: start + 2})) == newest(*ids(records[2:]))
        assert ids(await probe.find(**{last: start + 2})) == newest(*ids(records[:2]))
        assert ids(await probe.find(**{first: start + 1, last: start + 2})) == [records[1].id]

    async def test_unfinished_actions_have_not_finished_at_any_time(self, probe: Probe) -> None:
        await probe.in_state(State.running)
        assert await probe.find(finished_from=0) == []
        assert await probe.find(finished_before=2**60) == []

    @pytest.mark.parametrize("state", [State.scheduled, State.succeeded])
    async def test_a_search_names_actions(self, probe: Probe, state: State) -> None:
        by_id = await probe.in_state(state, id=UUID("abcdef01-2345-4000-8000-000000000001"))
        near = await probe.in_state(state, id=UUID("abcdef01-2345-4000-8000-000000000002"))
        label = await probe.in_state(state, correlation_id="abcdef01")
        keyed = await probe.in_state(state, key="order-7")
        both = newest(by_id.id, near.id)
        assert ids(await probe.find(search="abcdef01")) == newest(*both, label.id)
        for digits in ("abcdef012", "abcdef01-2345", "ABCDEF01-2345-4000"):
            assert ids(await probe.find(search=digits)) == both
        assert ids(await probe.find(search=str(near.id))) == [near.id]
        assert ids(await probe.find(search="order-7")) == [keyed.id]
        for other in ("abcdef0", "order", "order-7 ", "ORDER-7", "abcdef02", "%", "mail"):
            assert await probe.find(search=other) == []

    async def test_a_search_stays_within_the_tenant(self, probe: Probe) -> None:
        ours = await probe.add(tenant="a", key="k")
        await probe.add(tenant="b", key="k")
        assert await probe.find(search="k", tenant="a") == [ours]
        assert await probe.find(search=str(ours.id), tenant="b") == []

    async def test_failures_have_a_group(self, probe: Probe) -> None:
        texts = [f"ValueError: order {uuid4()} of 'user {n}' is late" for n in range(3)]
        failed = [(await _failed(probe, text)).id for text in [*texts, "KeyError: late"]]
        group = "ValueError: order * of * is late"
        assert {error_group(text) for text in texts} == {group}
        assert ids(await probe.find(error_group=group)) == newest(*failed[:3])
        assert ids(await probe.find(error_group="KeyError: late")) == failed[3:]
        assert await probe.find(error_group=texts[0]) == []
        record = await probe.get(failed[0])
        assert (record.error, record.error_group) == (texts[0], group)

    @pytest.mark.parametrize("state", [State.succeeded, State.cancelled])
    async def test_only_failures_have_a_group(self, probe: Probe, state: State) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, state, error="KeyError: late"))
        assert (await probe.get(claim.id)).error_group is None
        assert await probe.find(error_group="KeyError: late") == []

    async def test_a_mixed_batch_gives_each_failure_its_own_group(self, probe: Probe) -> None:
        await probe.add_many([probe.new() for _ in range(6)])
        claims = await probe.claim(limit=6)
        states = [State.failed, State.succeeded] * 3
        errors = [f"KeyError: {'abc'[n % 3]} is missing" for n in range(6)]
        await probe.end(
            *(
                finish(claim, state, error=None if state is State.succeeded else error)
                for claim, state, error in zip(claims, states, errors, strict=True)
            )
        )
        groups = {claim.id: (await probe.get(claim.id)).error_group for claim in claims}
        expected = [
            error if state is State.failed else None
            for state, error in zip(states, errors, strict=True)
        ]
        assert [groups[claim.id] for claim in claims] == expected

    async def test_a_lost_action_and_a_damaged_row_have_a_group(self, probe: Probe) -> None:
        lost = await probe.running()
        probe.pass_time(LEASE)
        [expired] = (await probe.sweep()).expired
        await probe.end(fail_lost(expired, "lost 5 times: cut off"), rescuing=True)
        assert (await probe.get(lost.id)).error_group == "lost * times: cut off"
        damaged = await probe.add()
        await probe.do(probe.store.fail_damaged(damaged.id, "column 7 is damaged"))
        assert ids(await probe.find(error_group="column * is damaged")) == [damaged.id]

    async def test_a_retried_failure_has_no_group_any_more(self, probe: Probe) -> None:
        failed = await _failed(probe, "KeyError: late")
        assert (await probe.retry(failed.id)).error_group is None
        assert await probe.find(error_group="KeyError: late") == []


def ids(records: list[Record]) -> list[UUID]:
    return [record.id for record in records]


def newest(*action_ids: UUID) -> list[UUID]:
    return sorted(action_ids, reverse=True)


async def _after_a_run(probe: Probe, **ending: Any) -> UUID:
    claim = await probe.running()
    await probe.end(reschedule(claim, delay=LATER, **ending))
    return claim.id


async def _failed(probe: Probe, error: str) -> Record:
    claim = await probe.running()
    await probe.end(finish(claim, State.failed, error=error))
    return await probe.get(claim.id)
