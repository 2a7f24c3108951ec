"""`pause_queue`, `resume_queue` and `queues`: what workers and operators are told of pauses."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from duetime.errors import InvalidArgument
from duetime.model.act import Act
from duetime.model.health.queues import as_paused
from duetime.model.health.worker import SlotUse
from duetime.model.lane import PAUSES_LANE, lane_of, parking_lane
from duetime.model.state import State
from duetime.store.flow import Wake
from duetime.testing.conformance.counting import stats
from duetime.testing.conformance.probe import LATER, SECOND, WORKER, Probe
from duetime.testing.conformance.suite import Suite

NAMES = ["billing", "a b", "queue.with.dots", "q'\"`;--", "münze/..%2f", "x" * 200]


class Pausing(Suite):
    async def test_no_queue_is_paused_at_first(self, probe: Probe) -> None:
        assert await probe.paused() == {}
        assert (await probe.sweep()).paused == {}
        assert await probe.queues() == {}

    @pytest.mark.parametrize("name", NAMES)
    async def test_every_look_tells_of_a_pause(self, probe: Probe, name: str) -> None:
        pause = await probe.pause(name, until=probe.now + SECOND)
        assert pause.queue == name
        looked = await probe.do(probe.store.look_ahead())
        partly = await probe.do(probe.store.look_ahead_from({"a": 0, "b": 0}))
        expected = {name: probe.now + SECOND}
        assert looked.paused == partly.paused == (await probe.sweep()).paused == expected

    async def test_a_look_for_an_app_tells_of_pauses_too(self, probe: Probe) -> None:
        await probe.pause("billing")
        looked = await probe.do(probe.store.look_ahead("shop"))
        assert (looked.paused, looked.next_tick) == ({"billing": None}, None)

    async def test_several_queues_can_be_paused(self, probe: Probe) -> None:
        for queue in ("a", "b", "c"):
            await probe.pause(queue)
        assert await probe.resume("b")
        assert await probe.paused() == {"a": None, "c": None}

    async def test_a_pause_is_kept_with_who_and_why(self, probe: Probe) -> None:
        pause = await probe.pause("billing", "ann", note="bank is down", until=probe.now + LATER)
        found = (await probe.queues())["billing"]
        assert (pause.paused_at, pause.paused_by) == (probe.now, "ann")
        assert (found.paused_by, found.pause_note) == ("ann", "bank is down")
        assert found.paused_at == probe.clock.now()
        assert found.paused_until is not None
        assert (found.paused_until - probe.clock.now()).total_seconds() == LATER / SECOND

    async def test_a_pause_ends_at_its_time_by_the_stores_clock(self, probe: Probe) -> None:
        await probe.pause("billing", until=probe.now + SECOND)
        probe.pass_time(SECOND - 1)
        assert await probe.paused() == {"billing": probe.now + 1}
        probe.pass_time(1)
        assert await probe.paused() == {}
        assert (await probe.sweep()).paused == {}
        assert await probe.queues() == {}

    async def test_a_later_pause_replaces_the_one_before(self, probe: Probe) -> None:
        await probe.pause("billing", "ann", note="first", until=probe.now + SECOND)
        probe.pass_time(1)
        await probe.pause("billing", "bob", until=probe.now + LATER)
        assert await probe.paused() == {"billing": probe.now + LATER}
        found = (await probe.queues())["billing"]
        assert (found.paused_by, found.pause_note) == ("bob", None)
        await probe.pause("billing", "bob")
        assert await probe.paused() == {"billing": None}
        await probe.pause("billing", "bob", until=probe.now + 5)
        assert await probe.paused() == {"billing": probe.now + 5}

    async def test_the_end_of_a_pause_does_not_lift_a_later_one(self, probe: Probe) -> None:
        await probe.pause("billing", until=probe.now + SECOND)
        await probe.pause("billing", until=probe.now + LATER)
        probe.pass_time(SECOND)
        assert list(await probe.paused()) == ["billing"]
        probe.pass_time(LATER)
        assert await probe.paused() == {}
        await probe.pause("billing")
        assert await probe.paused() == {"billing": None}

    async def test_an_end_that_has_come_is_refused(self, probe: Probe) -> None:
        for until in (probe.now, probe.now - 1, 0):
            with pytest.raises(InvalidArgument, match="until"):
                await probe.pause("billing", until=until)
        assert await probe.paused() == {}
        assert await probe.audit("billing") == []
        await probe.pause("billing", until=probe.now + LATER)
        with pytest.raises(InvalidArgument, match="until"):
            await probe.pause("billing", until=probe.now)
        assert await probe.paused() == {"billing": probe.now + LATER}

    async def test_only_what_is_paused_now_can_be_resumed(self, probe: Probe) -> None:
        assert not await probe.resume("billing")
        await probe.pause("billing", until=probe.now + SECOND)
        probe.pass_time(SECOND)
        assert not await probe.resume("billing")
        await probe.pause("billing")
        assert await probe.resume("billing")
        assert not await probe.resume("billing")
        verbs = [entry.verb for entry in await probe.audit("billing")]
        assert verbs == ["resume", "pause", "pause"]

    async def test_gauges_agree_with_the_queues(self, probe: Probe) -> None:
        """They are read by one statement, where the queues take several."""
        for queue in ("billing", "mail", "mail"):
            lane = lane_of(queue, 1, None)
            await probe.add(queue=queue, lane=lane, due_at=probe.now - 5 * SECOND)
        for queue in ("billing", "idle"):
            await probe.pause(queue)
        serving = replace(WORKER, queues=["mail", "reports"])
        await probe.do(probe.store.sweep(serving, 0, 10))
        queues = await probe.queues()
        gauges = await probe.do(probe.store.queue_gauges(LATER))
        backlog = {(name, state): count for name, state, count in gauges.backlog}
        assert backlog == {
            (name, state): getattr(queue, state)
            for name, queue in queues.items()
            for state in ("scheduled", "running")
        }
        assert {name for name, _ in backlog} == {"billing", "idle", "mail", "reports"}
        assert (gauges.now, gauges.workers) == (probe.now, 1)
        assert gauges.oldest_overdue == queues["mail"].oldest_overdue == 5

    async def test_gauges_of_an_empty_store(self, probe: Probe) -> None:
        gauges = await probe.do(probe.store.queue_gauges(LATER))
        assert (gauges.backlog, gauges.oldest_overdue, gauges.workers) == ([], 0, 0)

    # -- the audit log ---------------------------------------------------------------

    async def test_pause_and_resume_are_audited(self, probe: Probe) -> None:
        act = Act("ann", "bank is down", "cli")
        await probe.do(probe.store.pause_queue("billing", act, until=probe.now + LATER))
        probe.pass_time(1)
        await probe.do(probe.store.resume_queue("billing", Act("bob", "is back")))
        resumed, paused = await probe.audit("billing")
        assert (paused.verb, paused.subject, paused.tenant) == ("pause", "queue", None)
        assert (paused.by, paused.note, paused.source) == ("ann", "bank is down", "cli")
        nothing = {"paused_by": None, "pause_note": None, "paused_until": None}
        terms = {
            "paused_by": "ann",
            "pause_note": "bank is down",
            "paused_until": probe.now - 1 + LATER,
        }
        assert (paused.before, paused.after) == (nothing, terms)
        assert (resumed.verb, resumed.by, resumed.note) == ("resume", "bob", "is back")
        assert (resumed.before, resumed.after) == (terms, nothing)
        assert resumed.at == probe.now

    async def test_a_repeated_pause_changes_nothing(self, probe: Probe) -> None:
        first = await probe.pause("billing", "ann", note="x")
        probe.pass_time(SECOND)
        assert await probe.pause("billing", "ann", note="x") == first
        assert len(await probe.audit("billing")) == 1
        await probe.pause("billing", "ann", note="y")
        newest, _ = await probe.audit("billing")
        assert (newest.before["pause_note"], newest.after["pause_note"]) == ("x", "y")

    async def test_pauses_at_the_same_time_are_audited_one_after_the_other(
        self, probe: Probe
    ) -> None:
        await asyncio.gather(*(probe.pause("billing", f"actor-{i}") for i in range(8)))
        entries = await probe.audit("billing")
        assert len(entries) == 8
        befores = [entry.before["paused_by"] for entry in entries]
        afters = [entry.after["paused_by"] for entry in entries]
        assert len({*befores}) == len({*afters}) == 8
        assert befores.count(None) == 1
        [last] = {*afters} - {*befores}
        assert (await probe.queues())["billing"].paused_by == last

    # -- waking ----------------------------------------------------------------------

    async def test_pause_and_resume_wake(self, probe: Probe) -> None:
        woken: asyncio.Queue[list[Wake]] = asyncio.Queue()
        async with (
            probe.store.listen(lambda wakes: woken.put_nowait([*wakes])),
            asyncio.timeout(10),
        ):
            for act in (probe.pause("billing"), probe.resume("billing")):
                await act
                while PAUSES_LANE not in [wake.lane for wake in await woken.get()]:
                    pass

    # -- counting --------------------------------------------------------------------

    async def test_queues_are_counted(self, probe: Probe) -> None:
        parent = await probe.add(queue="a", delay=LATER)
        await probe.child(parent.id, queue="b")
        await probe.add(queue="b", due_at=probe.now - 3 * SECOND)
        await probe.add(queue="b", due_at=probe.now - 2 * SECOND, tenant="t")
        await probe.running(queue="c")
        await probe.finished(State.succeeded, queue="d")
        found = await probe.queues()
        counts = {
            name: (queue.scheduled, queue.running, queue.overdue, queue.oldest_overdue)
            for name, queue in found.items()
        }
        assert counts == {"a": (1, 0, 0, None), "b": (3, 0, 2, 3.0), "c": (0, 1, 0, None)}
        assert [*found] == ["a", "b", "c"]

    async def test_what_waits_in_a_paused_queue_is_not_overdue(self, probe: Probe) -> None:
        for queue, tenant in (("held", None), ("held", "t"), ("open", None)):
            await probe.add(queue=queue, tenant=tenant, due_at=probe.now - SECOND)
        await probe.pause("held", until=probe.now + SECOND)
        found = await probe.queues()
        assert (found["held"].scheduled, found["held"].overdue) == (2, 0)
        assert found["held"].oldest_overdue is None
        assert (found["open"].overdue, found["open"].oldest_overdue) == (1, 1.0)
        counted = await stats(probe)
        assert (counted.scheduled, counted.overdue, counted.oldest_overdue) == (3, 1, 1.0)
        assert counted.paused_queues == ("held",)
        probe.pass_time(SECOND)
        counted = await stats(probe)
        assert (counted.overdue, counted.oldest_overdue, counted.paused_queues) == (3, 2.0, ())

    async def test_a_tenant_sees_paused_queues_that_hold_its_actions(self, probe: Probe) -> None:
        await probe.add(queue="theirs", tenant="a")
        await probe.pause("theirs")
        await probe.pause("empty")
        for tenant, expected in (("a", ("theirs",)), ("b", ()), (None, ())):
            assert (await stats(probe, tenant)).paused_queues == expected

    async def test_parked_actions_are_not_overdue(self, probe: Probe) -> None:
        home = lane_of("b", 1, None)
        await probe.add(queue="b", lane=parking_lane("mail", 1, home), due_at=probe.now - SECOND)
        found = (await probe.queues())["b"]
        assert (found.scheduled, found.overdue) == (1, 0)

    async def test_queues_that_a_worker_names_are_listed(self, probe: Probe) -> None:
        await probe.do(probe.store.sweep(replace(WORKER, queues=["mail"]), 0, 1))
        found = (await probe.queues())["mail"]
        assert (found.scheduled, found.running, found.paused_at) == (0, 0, None)

    async def test_a_pause_names_the_workers_that_it_concerns(self, probe: Probe) -> None:
        pools = (SlotUse(("billing",), 2, 0), SlotUse(None, 10, 0))
        workers = [
            replace(WORKER, id="old", version=None),
            replace(WORKER, id="old-mail", queues=["mail"], version=None),
            replace(WORKER, id="new", queues=["billing"], version="9", pools=pools),
            replace(
                WORKER,
                id="new-mail",
                queues=["mail"],
                version="9",
                pools=(SlotUse(("mail",), 10, 0),),
            ),
        ]
        for worker in workers:
            await probe.do(probe.store.sweep(worker, 0, 1))
        seen = await probe.do(probe.store.workers(LATER))
        billing = as_paused(await probe.pause("billing"), seen)
        assert billing.served_by == ("new", "old")
        assert billing.ignored_by == ("old", "old-mail")
        other = as_paused(await probe.pause("other"), seen)
        assert other.served_by == ("new", "old")
        assert as_paused(await probe.pause("other"), []).served_by == ()

    # -- claims ----------------------------------------------------------------------

    async def test_a_pause_changes_no_action_and_no_claim(self, probe: Probe) -> None:
        """The store hands out what it is asked for: workers are told of pauses, and do not ask."""
        claim = await probe.running(queue="billing")
        await probe.add(queue="billing")
        before = await probe.all()
        await probe.pause("billing")
        assert await probe.all() == before
        assert (await probe.renew(claim)).lost == frozenset()
        assert len(await probe.claim(lane_of("billing", 1, None))) == 1
