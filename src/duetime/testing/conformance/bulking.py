"""`step_bulk` and `count_bulk`: each action is changed once, and a step is taken once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from duetime.errors import InvalidArgument
from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.bulk import (
    BULK_RETENTION,
    BULK_SIZE,
    SAMPLE_SIZE,
    BulkAnswer,
    BulkCall,
    BulkOrder,
    BulkVerb,
    Selection,
)
from duetime.model.clock import MAX_INSTANT
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import LANE, LATER, SECOND, Probe, finish
from duetime.testing.conformance.race import race
from duetime.testing.conformance.suite import Suite

BY_BOB = Act("bob", note="outage", source="cli")


def call(verb: BulkVerb = "shift", selection: Selection | None = None, **given: Any) -> BulkCall:
    """A call of a new bulk of everything, that shifts by a minute; or of the bulk `of` another
    call, as that one fixed it."""
    of: BulkCall | None = given.pop("of", None)
    fields: dict[str, Any] = {"id": uuid4(), "step": 0, "act": BY_BOB, "tenant": ANY}
    if of is not None:
        fields |= {"id": of.id, "act": of.act, "tenant": of.tenant}
    elif verb == "shift":
        fields["shift"] = 60 * SECOND
    fields |= given
    if selection is None and of is None:
        selection = Filter(tenant=fields["tenant"])
    return BulkCall(verb=verb, selection=selection, **fields)


async def walk(probe: Probe, first: BulkCall) -> list[BulkAnswer]:
    """Take every step of a bulk."""
    answers = [await probe.do(probe.store.step_bulk(first))]
    while not answers[-1].ended:
        step = call(first.verb, step=len(answers), of=first)
        answers.append(await probe.do(probe.store.step_bulk(step)))
    return answers


async def dues(probe: Probe, records: Sequence[Record]) -> list[int | None]:
    return [(await probe.get(record.id)).due_at for record in records]


class Bulking(Suite):
    # -- what each verb changes ------------------------------------------------------

    async def test_cancel(self, probe: Probe) -> None:
        ours = [await probe.add(correlation_id="c") for _ in range(3)]
        other = await probe.add(correlation_id="d")
        [answer] = await walk(probe, call("cancel", Filter(correlation_id="c")))
        assert (answer.changed, answer.skipped, answer.ended) == (3, 0, True)
        assert {record.id for record in answer.records} == {record.id for record in ours}
        for record in ours:
            after = await probe.get(record.id)
            assert (after.state, after.cancelled_by) == (State.cancelled, "bob")
        assert await probe.get(other.id) == other

    async def test_retry(self, probe: Probe) -> None:
        failed = [await probe.finished(State.failed) for _ in range(2)]
        succeeded = await probe.finished(State.succeeded)
        [answer] = await walk(probe, call("retry", Filter()))
        assert (answer.changed, answer.skipped) == (2, 0)
        for record in failed:
            after = await probe.get(record.id)
            assert (after.state, after.due_at) == (State.scheduled, probe.now)
        assert await probe.get(succeeded.id) == succeeded
        assert len(await probe.claim()) == 2

    async def test_reschedule(self, probe: Probe) -> None:
        records = [await probe.add(delay=i * SECOND) for i in range(3)]
        to = probe.now + LATER
        [answer] = await walk(probe, call("reschedule", Filter(), due_at=to))
        assert answer.changed == 3
        assert await dues(probe, records) == [to] * 3
        assert await probe.claim() == []
        probe.pass_time(LATER)
        assert len(await probe.claim()) == 3

    @pytest.mark.parametrize("seconds", [60, -60])
    async def test_shift(self, probe: Probe, seconds: int) -> None:
        start = probe.now
        records = [await probe.add(due_at=start + i * SECOND) for i in range(3)]
        probe.pass_time(1)
        [answer] = await walk(probe, call(shift=seconds * SECOND))
        assert answer.changed == 3
        shifted = [start + (i + seconds) * SECOND for i in range(3)]
        assert await dues(probe, records) == shifted
        after = await probe.get(records[0].id)
        assert (after.modified_at, after.modified_by) == (probe.now, "bob")
        assert await probe.heads() == {LANE: shifted[0]}

    async def test_an_action_may_be_named_by_its_id(self, probe: Probe) -> None:
        first, second, third = [await probe.add(delay=SECOND) for _ in range(3)]
        [answer] = await walk(probe, call("cancel", frozenset({first.id, third.id})))
        assert (answer.changed, answer.skipped) == (2, 0)
        assert await probe.get(second.id) == second

    # -- what is skipped -------------------------------------------------------------

    @pytest.mark.parametrize("verb", ["cancel", "retry", "reschedule", "shift"])
    async def test_ids_in_other_states_and_unknown_ones_are_skipped(
        self, probe: Probe, verb: BulkVerb
    ) -> None:
        records = [await probe.in_state(state) for state in State]
        ids = frozenset(record.id for record in records) | {uuid4()}
        when = {"due_at": probe.now + LATER} if verb == "reschedule" else {}
        [answer] = await walk(probe, call(verb, ids, **when))
        assert (answer.changed, answer.skipped) == (1, 5)
        fit = State.failed if verb == "retry" else State.scheduled
        assert [record.id for record in answer.records] == [
            record.id for record in records if record.state is fit
        ]
        for record in records:
            if record.state is not fit:
                assert await probe.get(record.id) == record

    async def test_a_retry_that_is_too_late_or_whose_key_is_taken_is_skipped(
        self, probe: Probe
    ) -> None:
        expired = await probe.finished(State.failed, expires_at=probe.now + SECOND)
        older = await probe.finished(State.failed, key="k")
        newer = await probe.finished(State.failed, key="k")
        taken = await probe.finished(State.failed, key="t")
        holder = await probe.add(key="t", delay=SECOND)
        probe.pass_time(2 * SECOND)
        [answer] = await walk(probe, call("retry", Filter()))
        assert (answer.changed, answer.skipped) == (1, 3)
        assert [record.id for record in answer.records] == [newer.id]
        for record in (expired, older, taken, holder):
            assert await probe.get(record.id) == record

    async def test_a_shift_beyond_expiry_or_the_last_year_is_skipped(self, probe: Probe) -> None:
        expiring = await probe.add(expires_at=probe.now + 10 * SECOND)
        last = await probe.add(due_at=MAX_INSTANT - SECOND)
        movable = await probe.add(expires_at=probe.now + LATER)
        [answer] = await walk(probe, call())
        assert (answer.changed, answer.skipped) == (1, 2)
        assert [record.id for record in answer.records] == [movable.id]
        assert await dues(probe, [expiring, last]) == [expiring.due_at, last.due_at]

    async def test_a_waiting_child_is_shifted_if_it_has_an_earliest_time(
        self, probe: Probe
    ) -> None:
        parent = await probe.running()
        timed = await probe.child(parent.id, due_at=probe.now + LATER)
        untimed = await probe.child(parent.id, delay=SECOND)
        [answer] = await walk(probe, call(shift=SECOND))
        assert (answer.changed, answer.skipped) == (1, 1)
        after = await probe.get(timed.id)
        assert (after.due_at, after.after_at) == (None, probe.now + LATER + SECOND)
        assert await probe.get(untimed.id) == untimed
        [moved] = await walk(probe, call("reschedule", Filter(), due_at=probe.now + 9))
        assert moved.changed == 2
        assert (await probe.get(untimed.id)).after_at == probe.now + 9
        assert (await probe.get(untimed.id)).after_delay is None

    async def test_a_parked_action_stays_parked(self, probe: Probe) -> None:
        record = await probe.add(lane="~mail.1.1.0.default")
        await walk(probe, call())
        assert await probe.heads() == {"~mail.1.1.0.default": (record.due_at or 0) + 60 * SECOND}

    # -- steps -----------------------------------------------------------------------

    async def test_steps_take_each_action_once_from_the_newest_down(self, probe: Probe) -> None:
        new = [probe.new(due_at=probe.now + i) for i in range(2 * BULK_SIZE + 7)]
        await probe.add_many(new)
        answers = await walk(probe, call(shift=LATER))
        assert [answer.changed for answer in answers] == [BULK_SIZE, BULK_SIZE, 7]
        assert [answer.step for answer in answers] == [0, 1, 2]
        changed = [record.id for answer in answers for record in answer.records]
        assert sorted(changed, reverse=True) == sorted((n.id for n in new), reverse=True)
        assert set(changed[:BULK_SIZE]) == {item.id for item in new[-BULK_SIZE:]}
        found = await probe.find(limit=5000)
        assert {r.id: r.due_at for r in found} == {n.id: (n.due_at or 0) + LATER for n in new}

    async def test_what_is_scheduled_after_the_first_call_is_left_alone(self, probe: Probe) -> None:
        await probe.add_many([probe.new(delay=SECOND) for _ in range(BULK_SIZE)])
        first = call()
        await probe.do(probe.store.step_bulk(first))
        late = await probe.add(delay=SECOND)
        answer = await probe.do(probe.store.step_bulk(call(step=1, of=first)))
        assert (answer.changed, answer.ended) == (0, True)
        assert await probe.get(late.id) == late

    async def test_ids_are_taken_in_steps_too(self, probe: Probe) -> None:
        added = await probe.add_many([probe.new(delay=SECOND) for _ in range(BULK_SIZE + 3)])
        ids = frozenset(item.record.id for item in added)
        answers = await walk(probe, call("cancel", ids))
        assert [answer.changed for answer in answers] == [BULK_SIZE, 3]

    async def test_a_step_sent_again_answers_the_same_and_changes_nothing(
        self, probe: Probe
    ) -> None:
        await probe.add_many([probe.new(delay=SECOND) for _ in range(BULK_SIZE + 3)])
        first = call()
        answers = await walk(probe, first)
        before, entries = await probe.all(), await probe.find_audit(limit=5000)
        for answer in answers:
            again = await probe.do(probe.store.step_bulk(call(step=answer.step, of=first)))
            assert (again.step, again.changed, again.skipped, again.ended, again.records) == (
                answer.step,
                answer.changed,
                answer.skipped,
                answer.ended,
                (),
            )
        again = await probe.do(probe.store.step_bulk(first))
        assert (again.changed, again.records) == (BULK_SIZE, ())
        assert await probe.all() == before
        assert await probe.find_audit(limit=5000) == entries

    async def test_a_bulk_keeps_every_criterion_of_its_filter(self, probe: Probe) -> None:
        """What it stores selects at the second step what it did at the first."""
        parent = await probe.running(kind="root")
        given: dict[str, Any] = {"correlation_id": "c", "priority": 2, "lane": "2.0.default"}
        new = [
            probe.new(after=parent.id, on="succeeded", due_at=probe.now + LATER, **given)
            for _ in range(BULK_SIZE + 1)
        ]
        await probe.add_many(new)
        rest: dict[str, Any] = {
            "correlation_id": "c",
            "priority": 2,
            "waiting": True,
            "parked": False,
        }
        wanted = Filter(
            states=(State.scheduled, State.running),
            kinds=("mail", "sms"),
            after=parent.id,
            by="ann",
            created_from=probe.now,
            **rest,
        )
        answers = await walk(probe, call("cancel", wanted))
        assert [answer.changed for answer in answers] == [BULK_SIZE, 1]
        [entry] = await probe.find_audit(verb="bulk")
        assert entry.after["filter"] == {
            "states": ["scheduled", "running"],
            "kinds": ["mail", "sms"],
            "after": str(parent.id),
            "by": "ann",
            "created_from": probe.now,
            **rest,
        }

    async def test_a_filter_of_finished_actions_matches_no_scheduled_one(
        self, probe: Probe
    ) -> None:
        await probe.add()
        first = call("cancel", Filter(finished_from=0))
        assert (
            await probe.do(
                probe.store.count_bulk(BulkOrder("cancel", ANY, Filter(finished_from=0)))
            )
        ).count == 0
        [answer] = await walk(probe, first)
        assert (answer.changed, answer.skipped, answer.ended) == (0, 0, True)

    async def test_a_bulk_that_matches_nothing_ends_at_once(self, probe: Probe) -> None:
        [answer] = await walk(probe, call("cancel", Filter(kinds=("nothing",))))
        assert (answer.changed, answer.skipped, answer.ended) == (0, 0, True)

    # -- who may go on ---------------------------------------------------------------

    @pytest.mark.parametrize(
        ("verb", "given"),
        [
            ("shift", {"act": Act("eve")}),
            ("cancel", {}),
            ("shift", {"selection": Filter(kinds=("other",))}),
            ("shift", {"selection": frozenset({UUID(int=1)})}),
            ("shift", {"shift": SECOND}),
            ("shift", {"due_at": 5}),
            ("shift", {"step": 2}),
            ("shift", {"tenant": "a"}),
            ("shift", {"tenant": None}),
        ],
        ids=str,
    )
    async def test_another_bulk_cannot_go_on_with_this_one(
        self, probe: Probe, verb: BulkVerb, given: dict[str, Any]
    ) -> None:
        await probe.add_many([probe.new(delay=SECOND) for _ in range(BULK_SIZE + 1)])
        first = call(selection=Filter(kinds=("mail",)))
        await probe.do(probe.store.step_bulk(first))
        before, entries = await probe.all(), await probe.find_audit(limit=5000)
        other: dict[str, Any] = {"step": 1, "of": first} | given
        with pytest.raises(InvalidArgument) as caught:
            await probe.do(probe.store.step_bulk(call(verb, **other)))
        assert caught.value.argument == "cursor"
        assert "bob" not in str(caught.value)
        assert await probe.all() == before
        assert await probe.find_audit(limit=5000) == entries
        same = call(step=1, of=first, selection=Filter(kinds=("mail",)), shift=60 * SECOND)
        assert (await probe.do(probe.store.step_bulk(same))).changed == 1

    async def test_a_bulk_that_ended_or_never_was_cannot_go_on(self, probe: Probe) -> None:
        first = call("cancel")
        await walk(probe, first)
        for other in (call("cancel", step=1, of=first), call("cancel", step=1), call(step=0)):
            unknown = BulkCall(other.id, other.step, BY_BOB, other.verb, ANY)
            with pytest.raises(InvalidArgument, match="cursor"):
                await probe.do(probe.store.step_bulk(unknown))
        assert await probe.find_audit(verb="bulk") != []

    async def test_another_tenants_bulk_is_like_one_that_never_was(self, probe: Probe) -> None:
        first = call("cancel", tenant="a")
        await probe.do(probe.store.step_bulk(first))
        errors = []
        for bulk in (first, call("cancel", tenant="a")):
            foreign = BulkCall(bulk.id, 1, BY_BOB, "cancel", "b")
            with pytest.raises(InvalidArgument) as caught:
                await probe.do(probe.store.step_bulk(foreign))
            errors.append(str(caught.value).partition(":")[2].partition(":")[2])
        assert errors[0] == errors[1]

    async def test_a_bulk_stays_within_its_tenant(self, probe: Probe) -> None:
        records = {owner: await probe.add(tenant=owner) for owner in (None, "a", "b")}
        ids = frozenset(record.id for record in records.values())
        [answer] = await walk(probe, call(selection=ids, tenant="a"))
        assert (answer.changed, answer.skipped) == (1, 2)
        [answer] = await walk(probe, call("cancel", Filter(tenant=None), tenant=None))
        assert (answer.changed, answer.skipped) == (1, 0)
        assert await probe.get(records["b"].id) == records["b"]

    # -- counting --------------------------------------------------------------------

    async def test_count(self, probe: Probe) -> None:
        records = [await probe.add(correlation_id="c") for _ in range(SAMPLE_SIZE + 2)]
        await probe.running(correlation_id="c", queue="other")
        await probe.finished(State.failed, correlation_id="c", queue="other")
        await probe.add(correlation_id="d")
        wanted = BulkOrder("cancel", ANY, Filter(correlation_id="c"))
        counted = await probe.do(probe.store.count_bulk(wanted))
        assert (counted.count, counted.capped) == (SAMPLE_SIZE + 2, False)
        assert counted.sample == records[: -SAMPLE_SIZE - 1 : -1]
        ids = frozenset({records[0].id, uuid4()})
        counted = await probe.do(probe.store.count_bulk(BulkOrder("cancel", ANY, ids)))
        assert (counted.count, counted.sample) == (1, [records[0]])
        assert await probe.find_audit() == []

    async def test_count_of_failed_actions(self, probe: Probe) -> None:
        record = await probe.finished(State.failed, tenant="a")
        await probe.finished(State.failed, tenant="b")
        counted = await probe.do(
            probe.store.count_bulk(BulkOrder("retry", "a", Filter(tenant="a")))
        )
        assert (counted.count, counted.sample) == (1, [record])

    # -- audit and transactions -----------------------------------------------

    async def test_the_bulk_and_each_action_are_audited(self, probe: Probe) -> None:
        record = await probe.add(correlation_id="c", tenant="a")
        first = call(selection=Filter(correlation_id="c", tenant="a"), tenant="a", shift=SECOND)
        await walk(probe, first)
        [entry] = await probe.find_audit(verb="bulk")
        assert (entry.subject, entry.subject_id, entry.tenant) == ("bulk", str(first.id), "a")
        assert (entry.by, entry.note, entry.source) == ("bob", "outage", "cli")
        assert entry.after == {
            "verb": "shift",
            "filter": {"correlation_id": "c"},
            "seconds": 1.0,
            "count": 1,
            "capped": False,
        }
        [entry] = await probe.audit(record.id)
        assert (entry.verb, entry.by, entry.note, entry.source) == (
            "reschedule",
            "bob",
            "outage",
            "cli",
        )
        assert entry.after["bulk"] == str(first.id)
        assert entry.after["due_at"] == (record.due_at or 0) + SECOND

    async def test_later_steps_keep_the_note(self, probe: Probe) -> None:
        added = await probe.add_many([probe.new(delay=SECOND) for _ in range(BULK_SIZE + 1)])
        first = call()
        await probe.do(probe.store.step_bulk(first))
        await probe.do(probe.store.step_bulk(call(step=1, of=first, act=Act("bob"))))
        [entry] = await probe.audit(min(item.record.id for item in added))
        assert (entry.note, entry.source) == ("outage", "python")

    async def test_a_verb_that_fails_after_the_step_undoes_it(self, probe: Probe) -> None:
        record = await probe.add()
        first = call()
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.step_bulk(first)))
        assert await probe.get(record.id) == record
        assert await probe.find_audit() == []
        assert [answer.changed for answer in await walk(probe, first)] == [1]

    async def test_a_bulk_is_forgotten_after_its_retention(self, probe: Probe) -> None:
        first = call("cancel")
        await walk(probe, first)
        probe.pass_time(BULK_RETENTION)
        await probe.do(probe.store.prune(keep=0, keep_failed=0, limit=10))
        assert (await probe.do(probe.store.step_bulk(call("cancel", of=first)))).ended
        probe.pass_time(1)
        await probe.do(probe.store.prune(keep=0, keep_failed=0, limit=10))
        with pytest.raises(InvalidArgument, match="pruned"):
            await probe.do(probe.store.step_bulk(call("cancel", of=first)))

    # -- races -----------------------------------------------------------------------

    async def test_a_step_sent_many_times_at_once_is_taken_once(self, probe: Probe) -> None:
        start = probe.now
        records = [await probe.add(due_at=start + i) for i in range(20)]
        first = call(shift=SECOND)
        answers = await race(probe.store, [probe.store.step_bulk(first) for _ in range(6)])
        assert all(isinstance(a, BulkAnswer) and a.changed == 20 for a in answers)
        assert await dues(probe, records) == [start + i + SECOND for i in range(20)]
        assert len(await probe.find_audit(verb="reschedule")) == 20
        assert len(await probe.find_audit(verb="bulk")) == 1

    @pytest.mark.parametrize("verb", ["cancel", "shift"])
    async def test_a_race_with_claims_and_verbs_changes_each_action_once(
        self, probe: Probe, verb: BulkVerb
    ) -> None:
        """Whatever wins each action, its audit entries tell of every change, and nothing runs that
        was cancelled."""
        start = probe.now
        records = [await probe.add(due_at=start + i) for i in range(30)]
        probe.pass_time(SECOND)
        ids = [record.id for record in records]
        rivals: list[Flow[Any]] = [
            *(probe.store.claim(probe.claim_order(limit=5)) for _ in range(2)),
            *(probe.store.cancel(item, ANY, Act("eve"), running=False) for item in ids[:3]),
            *(
                probe.store.reschedule(item, ANY, Act("eve"), due_at=start + LATER, delay=None)
                for item in ids[-3:]
            ),
        ]
        bulk = call(verb, Filter(), **({"shift": LATER} if verb == "shift" else {}))
        results = await race(probe.store, [probe.store.step_bulk(bulk), *rivals])
        answer = results[0]
        assert isinstance(answer, BulkAnswer)
        assert answer.changed == len(answer.records)
        changed = {record.id for record in answer.records}
        for record in records:
            after, entries = await probe.get(record.id), await probe.audit(record.id)
            assert [e.by for e in entries].count("bob") == (record.id in changed)
            if verb == "cancel" and record.id in changed:
                assert (after.state, after.attempt) == (State.cancelled, 0)
            if verb == "shift" and entries:
                assert after.due_at == entries[0].after["due_at"]

    async def test_two_bulks_at_once_change_each_action_twice_or_skip_it(
        self, probe: Probe
    ) -> None:
        start = probe.now
        records = [await probe.add(due_at=start) for _ in range(20)]
        bulks = [call(shift=SECOND), call(shift=SECOND)]
        answers = await race(probe.store, [probe.store.step_bulk(bulk) for bulk in bulks])
        done = [a for a in answers if isinstance(a, BulkAnswer)]
        assert len(done) == 2
        assert all(a.changed + a.skipped == 20 for a in done)
        moved = sum((due or 0) - start for due in await dues(probe, records))
        assert moved == sum(a.changed for a in done) * SECOND

    async def test_a_walk_beside_a_worker_misses_no_action(self, probe: Probe) -> None:
        count = 2 * BULK_SIZE
        await probe.add_many([probe.new() for _ in range(count)])

        async def work() -> list[UUID]:
            ran: list[UUID] = []
            for _ in range(20):
                claims = await probe.claim(limit=20)
                await probe.end(*(finish(claim) for claim in claims))
                ran += [claim.id for claim in claims]
            return ran

        answers, ran = await asyncio.gather(walk(probe, call("cancel", Filter())), work())
        cancelled = [record.id for answer in answers for record in answer.records]
        ran += [claim.id for claim in await probe.claim(limit=count)]
        assert not {*cancelled} & {*ran}
        assert len({*cancelled} | {*ran}) == count
