"""Runs of an action and occurrences of a job: the newest, and page by page the older ones."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from duetime.errors import ActionNotFound, InvalidArgument
from duetime.model.actions.action import Record
from duetime.model.jobs.job import JobRecord
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class ListingRuns(Suite):
    async def test_the_newest_runs_come_in_their_order(self, probe: Probe) -> None:
        action_id, ids = await self._runs(probe, 5)
        assert [run.id for run in await probe.runs(action_id)] == ids
        assert [run.id for run in await probe.runs(action_id, limit=2)] == ids[3:]
        assert [run.id for run in await probe.runs(action_id, limit=1)] == ids[4:]

    async def test_older_runs_come_before_a_run(self, probe: Probe) -> None:
        action_id, ids = await self._runs(probe, 5)
        for place, run_id in enumerate(ids):
            older = await probe.runs(action_id, limit=2, before=run_id)
            assert [run.id for run in older] == ids[max(place - 2, 0) : place]

    async def test_a_run_that_is_not_the_actions_is_refused(self, probe: Probe) -> None:
        action_id, _ = await self._runs(probe, 2)
        _, others = await self._runs(probe, 2)
        for unknown in (uuid4(), others[0], others[1]):
            with pytest.raises(InvalidArgument, match="run of this action"):
                await probe.runs(action_id, before=unknown)

    async def test_runs_of_another_tenant_are_hidden(self, probe: Probe) -> None:
        action_id, ids = await self._runs(probe, 2, tenant="a")
        for before in (None, ids[0], uuid4()):
            with pytest.raises(ActionNotFound):
                await probe.runs(action_id, tenant="b", before=before)

    async def _runs(self, probe: Probe, count: int, **given: Any) -> tuple[UUID, list[UUID]]:
        """Run an action so often; the last run is still going. Return the ids of its runs."""
        claim = await probe.running(**given)
        ids = [claim.token]
        while len(ids) < count:
            await probe.end(reschedule(claim, delay=0))
            claim = await probe.claim_one(probe.new(**given).lane)
            ids.append(claim.token)
        return claim.id, ids


OUTCOMES = ("succeeded", "failed", "skipped", "succeeded", "cancelled", None, None)


class ListingOccurrences(Suite):
    async def test_older_occurrences_come_before_a_position(self, probe: Probe) -> None:
        made = await self._occurrences(probe)
        newest = made[::-1]
        for place, record in enumerate(newest):
            older = await probe.occurrences(limit=3, follows=(record.created_at, record.id))
            assert older == newest[place + 1 : place + 4]
        instant = (newest[2].created_at, UUID(int=0))
        assert await probe.occurrences(follows=instant) == newest[3:]

    @pytest.mark.parametrize("outcome", ["succeeded", "failed", "skipped", "cancelled", "lost"])
    async def test_those_of_an_outcome(self, probe: Probe, outcome: str) -> None:
        made = await self._occurrences(probe)
        ended = zip(made, OUTCOMES, strict=True)
        expected = [record for record, how in ended if how == outcome][::-1]
        wanted = Outcome(outcome)
        assert await probe.occurrences(outcome=wanted) == expected
        assert await probe.occurrences(outcome=wanted, limit=1) == expected[:1]
        for record in expected:
            position = (record.created_at, record.id)
            older = await probe.occurrences(outcome=wanted, follows=position)
            assert older == expected[expected.index(record) + 1 :]

    async def _occurrences(self, probe: Probe) -> list[Record]:
        """One occurrence for each of OUTCOMES, oldest first."""
        job = probe.job()
        await probe.put(job, probe.job("x-other"))
        ids = [await self._occurrence(probe, job, tick) for tick in range(len(OUTCOMES))]
        return [await probe.get(action_id) for action_id in ids]

    async def _occurrence(self, probe: Probe, job: JobRecord, tick: int) -> UUID:
        probe.pass_time(1)
        outcome = OUTCOMES[tick]
        skipped = {"skipped": "why"} if outcome == "skipped" else {}
        [made] = await probe.occur(probe.occurrence(job, tick=tick, **skipped), job=job)
        if outcome in ("succeeded", "failed"):
            await probe.end(finish(await probe.claim_one(), State(outcome), job=job.name))
        if outcome == "cancelled":
            await probe.cancel(made.id)
        return made.id
