"""`claim`: due actions go to exactly one worker, in order and never early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duetime.model.act import Act
from duetime.model.actions.claim import Claim, Claimed, LaneSpan
from duetime.model.lane import lane_of
from duetime.model.state import FINISHED, State
from duetime.store.flow import Flow
from duetime.testing.conformance.probe import LANE, LEASE, SECOND, Probe, finish, reschedule
from duetime.testing.conformance.race import race
from duetime.testing.conformance.suite import Suite


class Claiming(Suite):
    async def test_a_claim_contains_everything_a_run_needs(self, probe: Probe) -> None:
        new = probe.new(
            kind="invoice",
            version=3,
            payload='{"amount": 12}',
            queue="billing",
            priority=2,
            tenant="acme",
            correlation_id="order:7",
            by="user-42",
        )
        await probe.add_many([new])
        claim = await probe.claim_one(new.lane)
        assert claim == Claim(
            id=new.id,
            token=claim.token,
            kind="invoice",
            version=3,
            payload='{"amount": 12}',
            lane=new.lane,
            tenant="acme",
            correlation_id="order:7",
            due_at=probe.now,
            attempt=1,
            base_attempt=0,
            losses=0,
            by="user-42",
            job=None,
            tick=None,
            triggered_by=None,
            expires_at=None,
        )

    async def test_a_claim_returns_payloads_of_any_length(self, probe: Probe) -> None:
        new = [probe.new(payload=f'"{"ü" * size}"') for size in (0, 9_997, 9_998, 100_000, 5)]
        await probe.add_many(new)
        claimed = {claim.id: claim.payload for claim in await probe.claim()}
        assert claimed == {new_action.id: new_action.payload for new_action in new}

    async def test_a_claimed_action_runs_under_token_worker_and_lease(self, probe: Probe) -> None:
        before = await probe.add()
        probe.pass_time(3)
        claim = await probe.claim_one(worker="w9", lease=7 * SECOND)
        assert await probe.get(before.id) == replace(
            before,
            state=State.running,
            token=claim.token,
            worker="w9",
            lease_until=probe.now + 7 * SECOND,
            attempt=1,
            started_at=probe.now,
        )

    async def test_a_claim_returns_the_stores_clock(self, probe: Probe) -> None:
        probe.pass_time(12_345)
        claimed = await probe.do(probe.store.claim(probe.claim_order()))
        assert (claimed.now, list(claimed.claims)) == (probe.now, [])

    # -- due -------------------------------------------------------------------------

    async def test_nothing_is_claimed_a_microsecond_early(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        probe.pass_time(SECOND - 1)
        assert await probe.claim() == []
        probe.pass_time(1)
        assert (await probe.claim_one()).id == record.id

    async def test_ahead_includes_exactly_the_given_time(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        assert await probe.claim(ahead=SECOND - 1) == []
        assert (await probe.claim_one(ahead=SECOND)).id == record.id

    async def test_an_action_claimed_ahead_starts_when_it_is_due(self, probe: Probe) -> None:
        claim_due_at = probe.now + SECOND
        record = await probe.add(delay=SECOND)
        claim = await probe.claim_one(ahead=SECOND)
        claimed = await probe.get(record.id)
        assert (claim.due_at, claimed.started_at) == (claim_due_at, claim_due_at)
        assert claimed.lease_until == probe.now + LEASE

    async def test_an_action_claimed_late_starts_now(self, probe: Probe) -> None:
        record = await probe.add()
        probe.pass_time(SECOND)
        await probe.claim_one()
        assert (await probe.get(record.id)).started_at == probe.now

    async def test_since_leaves_out_what_was_due_before(self, probe: Probe) -> None:
        start = probe.now
        for i in range(3):
            await probe.add(due_at=start + i)
        probe.pass_time(SECOND)
        claims = await probe.claim(since=start + 1)
        assert [claim.due_at for claim in claims] == [start + 1, start + 2]
        assert [claim.due_at for claim in await probe.claim()] == [start]

    async def test_the_earliest_due_come_first(self, probe: Probe) -> None:
        dues = [probe.now - offset for offset in (5, 9, 1, 7, 3, 8, 2)]
        for due_at in dues:
            await probe.add(due_at=due_at)
        first = await probe.claim(limit=3)
        rest = await probe.claim()
        assert [claim.due_at for claim in (*first, *rest)] == sorted(dues)

    # -- spans and limits ------------------------------------------------------------

    async def test_only_the_lanes_of_the_order_are_claimed_from(self, probe: Probe) -> None:
        await probe.add(queue="billing")
        await probe.add(priority=2)
        await probe.add(tenant="a")
        assert await probe.claim() == []
        assert await probe.claim("1.0.defaul", "1.0.default_", "1.0.%") == []

    async def test_spans_are_visited_in_the_order_given(self, probe: Probe) -> None:
        for lane, due_at in (("c", 1), ("a", 2), ("b", 3), ("a", 4), ("c", 5)):
            await probe.add(lane=lane, due_at=due_at)
        claims = await probe.claim("b", "c", "a")
        assert [(claim.lane, claim.due_at) for claim in claims] == [
            ("b", 3),
            ("c", 1),
            ("c", 5),
            ("a", 2),
            ("a", 4),
        ]

    async def test_excluded_tenants_are_passed_over(self, probe: Probe) -> None:
        tenants = ["acme", "it's", "acme", None, "bolt", "acme", 'ev"il']
        for due_at, tenant in enumerate(tenants):
            await probe.add(lane="a", due_at=due_at, tenant=tenant)
        claims = await probe.claim("a", excluded_tenants={"acme", "it's", 'ev"il'}, limit=5)
        assert [claim.tenant for claim in claims] == [None, "bolt"]
        rest = await probe.claim("a")
        assert [claim.due_at for claim in rest] == [0, 1, 2, 5, 6]

    async def test_the_limit_holds_over_all_spans(self, probe: Probe) -> None:
        for lane in ("a", "b"):
            for due_at in (1, 2, 3):
                await probe.add(lane=lane, due_at=due_at)
        claims = await probe.claim("b", "a", limit=4)
        assert [(claim.lane, claim.due_at) for claim in claims] == [
            ("b", 1),
            ("b", 2),
            ("b", 3),
            ("a", 1),
        ]
        rest = await probe.claim("b", "a", limit=4)
        assert [(claim.lane, claim.due_at) for claim in rest] == [("a", 2), ("a", 3)]

    async def test_each_span_has_its_own_since_and_ahead(self, probe: Probe) -> None:
        for lane in ("a", "b"):
            for due_at in (probe.now - 5, probe.now + 5):
                await probe.add(lane=lane, due_at=due_at)
        claims = await probe.claim(LaneSpan("a", 0, 0), LaneSpan("b", probe.now, 5))
        assert [(claim.lane, claim.due_at) for claim in claims] == [
            ("a", probe.now - 5),
            ("b", probe.now + 5),
        ]

    async def test_a_lane_named_twice_gives_each_action_once(self, probe: Probe) -> None:
        for due_at in (1, 2, 3):
            await probe.add(due_at=due_at)
        claims = await probe.claim(LaneSpan(LANE, 2, 0), LaneSpan(LANE, 0, 0), LaneSpan(LANE, 0, 0))
        assert [claim.due_at for claim in claims] == [2, 3, 1]
        assert len({claim.token for claim in claims}) == 3

    async def test_an_empty_order_claims_nothing(self, probe: Probe) -> None:
        record = await probe.add()
        assert await probe.claim(limit=0) == []
        order = replace(probe.claim_order(), spans=[])
        assert list((await probe.do(probe.store.claim(order))).claims) == []
        assert await probe.get(record.id) == record

    async def test_an_order_may_have_many_spans(self, probe: Probe) -> None:
        lanes = [lane_of(f"q{i % 5}", i % 4, f"t{i}") for i in range(120)]
        await probe.add_many([probe.new(lane=lane) for lane in lanes])
        claims = await probe.claim(*dict.fromkeys(lanes), limit=500)
        assert len({claim.id for claim in claims}) == 120

    # -- once ------------------------------------------------------------------------

    async def test_a_running_action_is_not_claimed_again(self, probe: Probe) -> None:
        await probe.running()
        assert await probe.claim() == []

    async def test_an_expired_lease_alone_frees_nothing(self, probe: Probe) -> None:
        """Only a rescue frees the action, because it also counts the loss."""
        await probe.running()
        probe.pass_time(LEASE + 1)
        assert await probe.claim() == []

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_finished_action_is_not_claimed(self, probe: Probe, state: State) -> None:
        await probe.finished(state)
        probe.pass_time(60 * SECOND)
        assert await probe.claim(ahead=60 * SECOND) == []

    async def test_every_claim_has_its_own_token(self, probe: Probe) -> None:
        for _ in range(20):
            await probe.add()
        claims = await probe.claim()
        assert len({claim.token for claim in claims}) == 20
        await probe.end(*(reschedule(claim) for claim in claims))
        seconds = await probe.claim()
        assert len({claim.token for claim in (*claims, *seconds)}) == 40

    async def test_every_attempt_is_counted(self, probe: Probe) -> None:
        claim = await probe.running()
        for attempt in (2, 3):
            await probe.end(reschedule(claim))
            claim = await probe.claim_one()
            assert (claim.attempt, claim.base_attempt, claim.tries) == (attempt, 0, attempt)

    async def test_racing_claims_hand_out_each_action_once(self, probe: Probe) -> None:
        lanes = [LANE, lane_of("default", 2, None)]
        new = [probe.new(lane=lanes[i % 2], due_at=probe.now - i) for i in range(200)]
        await probe.add_many(new)
        taken: list[Claim] = []
        for _ in range(30):
            orders = [probe.claim_order(*lanes, limit=9, worker=f"w{i}") for i in range(8)]
            results = await race(probe.store, [probe.store.claim(order) for order in orders])
            found = [c for r in results if isinstance(r, Claimed) for c in r.claims]
            assert all(isinstance(result, Claimed) for result in results)
            taken += found
            if not found:
                break
        assert sorted(claim.id for claim in taken) == sorted(new_action.id for new_action in new)
        assert {claim.attempt for claim in taken} == {1}
        assert await probe.end(*(finish(claim) for claim in taken)) == {
            new_action.id for new_action in new
        }

    async def test_a_cancel_and_a_claim_have_one_winner(self, probe: Probe) -> None:
        records = [await probe.add() for _ in range(12)]
        cancels = [
            probe.store.cancel(record.id, None, Act("bob"), running=False) for record in records
        ]
        claims = [probe.store.claim(probe.claim_order(limit=3)) for _ in range(4)]
        flows: list[Flow[Any]] = [*cancels, *claims]
        await race(probe.store, flows)
        for record in records:
            after = await probe.get(record.id)
            cancelled = after.state is State.cancelled
            assert cancelled == (after.token is None) == (after.cancelled_by == "bob")
            assert len(await probe.audit(record.id)) == cancelled
