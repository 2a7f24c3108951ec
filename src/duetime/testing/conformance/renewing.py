"""`renew` and `progress`: calls of the holder while its action runs."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from duetime.errors import LeaseLost
from duetime.model.state import FINISHED, Outcome, State
from duetime.testing.conformance.probe import LEASE, SECOND, Probe, finish, reschedule, stale
from duetime.testing.conformance.suite import Suite


class Renewing(Suite):
    async def test_renewing_no_leases_returns_the_stores_clock(self, probe: Probe) -> None:
        renewed = await probe.renew()
        assert (renewed.now, renewed.renewed, renewed.lost) == (probe.now, {}, frozenset())

    async def test_a_lease_reaches_from_the_stores_now(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        probe.pass_time(5 * SECOND)
        renewed = await probe.renew(claim, lease=7 * SECOND)
        assert (renewed.now, renewed.renewed, renewed.lost) == (
            probe.now,
            {claim.id: None},
            frozenset(),
        )
        assert await probe.get(claim.id) == replace(before, lease_until=probe.now + 7 * SECOND)

    async def test_a_lease_may_be_cut_short(self, probe: Probe) -> None:
        claim = await probe.running(lease=60 * SECOND)
        await probe.renew(claim, lease=SECOND)
        assert (await probe.get(claim.id)).lease_until == probe.now + SECOND

    async def test_many_are_renewed_at_once(self, probe: Probe) -> None:
        claims = [await probe.running() for _ in range(20)]
        probe.pass_time(SECOND)
        renewed = await probe.renew(*reversed(claims))
        assert renewed.renewed == {claim.id: None for claim in claims}
        for claim in claims:
            assert (await probe.get(claim.id)).lease_until == probe.now + LEASE

    async def test_an_expired_lease_that_was_not_rescued_can_be_renewed(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(2 * LEASE)
        assert (await probe.renew(claim)).renewed == {claim.id: None}
        assert (await probe.get(claim.id)).lease_until == probe.now + LEASE

    async def test_a_stale_token_renews_nothing(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        probe.pass_time(SECOND)
        renewed = await probe.renew(claim._replace(token=stale(claim)))
        assert (renewed.renewed, renewed.lost) == ({}, frozenset({claim.id}))
        assert await probe.get(claim.id) == before

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_the_lease_of_a_finished_action_is_lost(self, probe: Probe, state: State) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, state))
        before = await probe.get(claim.id)
        assert (await probe.renew(claim)).lost == {claim.id}
        assert await probe.get(claim.id) == before

    async def test_an_old_token_is_never_revived(self, probe: Probe) -> None:
        old = await probe.running()
        await probe.end(reschedule(old, Outcome.lost))
        free = await probe.get(old.id)
        assert (await probe.renew(old)).lost == {old.id}
        assert await probe.get(old.id) == free
        new = await probe.claim_one()
        claimed_again = await probe.get(old.id)
        probe.pass_time(1)
        assert (await probe.renew(old)).lost == {old.id}
        assert await probe.get(old.id) == claimed_again
        assert (await probe.renew(new)).renewed == {old.id: None}

    async def test_an_unknown_id_is_lost(self, probe: Probe) -> None:
        claim = (await probe.running())._replace(id=uuid4())
        assert (await probe.renew(claim)).lost == {claim.id}

    async def test_renewal_distinguishes_kept_and_lost_leases(self, probe: Probe) -> None:
        ours, theirs, over = [await probe.running() for _ in range(3)]
        await probe.cancel(ours.id, by="bob", running=True)
        await probe.end(finish(over))
        renewed = await probe.renew(ours, theirs._replace(token=stale(theirs)), over)
        assert (renewed.renewed, renewed.lost) == (
            {ours.id: "bob"},
            frozenset({theirs.id, over.id}),
        )

    # -- progress --------------------------------------------------------------------

    async def test_progress_is_stored_with_the_action(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        for progress in ('{"done": 1}', '{"done": 2}'):
            await probe.progress(claim, progress)
            assert await probe.get(claim.id) == replace(before, progress=progress)

    async def test_progress_under_a_stale_token_is_refused(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        with pytest.raises(LeaseLost) as caught:
            await probe.progress(claim._replace(token=stale(claim)), "[1]")
        assert caught.value.action_id == claim.id
        assert await probe.get(claim.id) == before

    async def test_progress_after_a_rescue_is_refused(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, Outcome.lost))
        for claimed in (False, True):
            if claimed:
                await probe.claim_one()
            with pytest.raises(LeaseLost):
                await probe.progress(claim, "[1]")
            assert (await probe.get(claim.id)).progress is None

    async def test_progress_after_completion_is_refused(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.progress(claim, "[1]")
        await probe.end(finish(claim))
        with pytest.raises(LeaseLost):
            await probe.progress(claim, "[2]")
        assert (await probe.get(claim.id)).progress == "[1]"

    async def test_progress_of_an_unknown_id_is_refused(self, probe: Probe) -> None:
        with pytest.raises(LeaseLost):
            await probe.progress((await probe.running())._replace(id=uuid4()), "[1]")
