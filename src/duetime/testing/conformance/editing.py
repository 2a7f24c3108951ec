"""Jobs: read in pages, and edited under their locks, all or none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duetime.errors import IllegalState
from duetime.model.act import Act
from duetime.model.actions.claim import WorkerInfo
from duetime.model.jobs.change import FoundJob, JobChange
from duetime.model.jobs.job import JobRecord, Overlap
from duetime.model.jobs.job_filter import JobPosition
from duetime.model.jobs.selectors import (
    ArmedTooFarAhead,
    DueJobs,
    JobSelector,
    OrphanedJobs,
    Reappeared,
    ToSeed,
)
from duetime.model.state import State
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.probe import LATER, SECOND, WORKER, Probe, finish
from duetime.testing.conformance.suite import Suite


class Editing(Suite):
    # -- reading ---------------------------------------------------------------------

    async def test_a_job_is_read_as_it_was_stored(self, probe: Probe) -> None:
        job = replace(
            probe.job(tenant="a", overlap=Overlap.queue, jitter=5, recurrence='{"every":60}'),
            last_error="élan \u2603 'quoted'",
            pause_note="line\nfeed",
            paused_at=1,
            consecutive_failures=2,
        )
        await probe.put(job)
        view = await probe.one_job()
        assert (view.job, view.running, view.dead_letters, view.now) == (job, None, 0, probe.now)

    async def test_jobs_are_listed_by_name_in_pages(self, probe: Probe) -> None:
        names = ["b-two", "a-one", "a-one-more", "c-3"]
        await probe.put(*(probe.job(name) for name in names))
        first = await probe.jobs(limit=2)
        rest = await probe.jobs(follows=JobPosition(0, first[-1].job.name))
        assert [view.job.name for view in [*first, *rest]] == sorted(names)

    @pytest.mark.parametrize(("tenant", "seen"), [(ANY, 3), (None, 1), ("a", 1), ("z", 0)])
    async def test_jobs_of_other_tenants_are_hidden(
        self, probe: Probe, tenant: Scope, seen: int
    ) -> None:
        await probe.put(
            probe.job("x-1"), probe.job("x-2", tenant="a"), probe.job("x-3", tenant="b")
        )
        assert len(await probe.jobs(tenant=tenant)) == seen

    async def test_removed_jobs_are_listed_on_request(self, probe: Probe) -> None:
        await probe.put(probe.job("x-1"), probe.job("x-2", removed_at=5))
        assert [view.job.name for view in await probe.jobs()] == ["x-1"]
        assert [view.job.name for view in await probe.jobs(removed=True)] == ["x-1", "x-2"]

    # -- edits -----------------------------------------------------------------------

    async def test_an_edit_receives_the_job_and_its_unfinished_occurrences(
        self, probe: Probe
    ) -> None:
        job = probe.job()
        await probe.put(job)
        running, waiting = await probe.occur(
            probe.occurrence(job, tick=1), probe.occurrence(job, tick=2), job=job
        )
        [claim] = await probe.claim(limit=1)
        assert claim.id == running.id
        seen: list[FoundJob] = []
        await probe.edit("shop-report", "shop-unknown", decide=lambda found: seen.append(found))
        assert [(job.name, job.job, job.now) for job in seen] == [
            ("shop-report", job, probe.now),
            ("shop-unknown", None, probe.now),
        ]
        unfinished = [
            (occurrence.id, occurrence.running, occurrence.after, occurrence.tick)
            for occurrence in seen[0].unfinished
        ]
        assert unfinished == [(running.id, True, None, 1), (waiting.id, False, None, 2)]
        assert seen[1].unfinished == ()

    async def test_the_change_of_an_edit_is_stored_and_returned(self, probe: Probe) -> None:
        before, new = probe.job("x-1"), probe.job("x-2")
        await probe.put(before)
        after = replace(before, version=2, next_due_at=None, removed_at=9, app="bank")
        edited = await probe.edit(
            "x-1", "x-2", "x-3", decide=lambda found: _chosen(found, {"x-1": after, "x-2": new})
        )
        assert [(change.before, change.after) for change in edited.changes] == [
            (before, after),
            (None, new),
        ]
        assert [view.job for view in await probe.jobs(removed=True)] == [after, new]

    async def test_an_edit_that_raises_rolls_back_all_changes(self, probe: Probe) -> None:
        job = probe.job("x-1")

        def decide(found: FoundJob) -> JobChange:
            if found.name == "x-2":
                raise IllegalState("edit", probe.ids(), "wrong", ["right"])
            return JobChange(job=job, occurrences=(probe.occurrence(job, tick=1),), verb="put")

        with pytest.raises(IllegalState):
            await probe.edit("x-1", "x-2", decide=decide)
        assert (await probe.jobs(), await probe.all(), await probe.audit("x-1")) == ([], [], [])

    async def test_an_edit_is_audited_with_its_actor(self, probe: Probe) -> None:
        job = probe.job(tenant="a")
        await probe.put(job)
        paused = replace(job, paused_at=probe.now, paused_by="bob", pause_note="why")
        change = JobChange(job=paused, verb="pause", act=Act("bob"))
        await probe.edit(job.name, decide=lambda _: change)
        [entry] = await probe.audit(job.name)
        assert (entry.verb, entry.by, entry.subject, entry.tenant) == ("pause", "bob", "job", "a")
        assert (entry.before["paused"], entry.after["paused"]) == (False, True)
        assert entry.after["pause_note"] == "why"

    async def test_an_edit_that_changes_nothing_leaves_no_entry(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        await probe.edit(job.name, decide=lambda _: None)
        assert await probe.audit(job.name) == []
        assert [view.job for view in await probe.jobs()] == [job]

    # -- selectors -------------------------------------------------------------------

    async def test_due_jobs_are_those_of_the_app_whose_tick_has_come(self, probe: Probe) -> None:
        await probe.put(
            probe.job("x-past", next_due_at=probe.now - 5),
            probe.job("x-now", next_due_at=probe.now),
            probe.job("x-soon", next_due_at=probe.now + 1),
            probe.job("x-never", next_due_at=None),
            probe.job("x-other", next_due_at=probe.now, app="bank"),
        )
        seen: list[str] = []
        edited = await probe.tick(lambda found: seen.append(found.name))
        assert sorted(seen) == ["x-now", "x-past"]
        assert edited.next_tick == probe.now - 5

    async def test_due_jobs_come_oldest_first_up_to_a_limit(self, probe: Probe) -> None:
        jobs = [probe.job(f"x-{n}", next_due_at=probe.now - n) for n in range(5)]
        await probe.put(*jobs)

        def advance(found: FoundJob) -> JobChange:
            assert found.job is not None
            return JobChange(job=replace(found.job, next_due_at=found.now + LATER))

        edited = await probe.tick(advance, limit=2)
        assert sorted(change.after.name for change in edited.changes) == ["x-3", "x-4"]
        assert edited.next_tick == probe.now - 2

    async def test_due_jobs_can_be_excluded_by_name(self, probe: Probe) -> None:
        await probe.put(
            probe.job("x-1", next_due_at=probe.now - 2), probe.job("x-2", next_due_at=probe.now - 1)
        )
        due = DueJobs(WORKER.app, 1, frozenset({"x-1"}))
        assert await _found(probe, due) == ["x-2"]
        edited = await probe.do(probe.store.edit_jobs(due, lambda _: None))
        assert edited.next_tick == probe.now - 1

    async def test_orphaned_jobs_are_those_that_no_live_worker_declares(self, probe: Probe) -> None:
        await probe.put(
            probe.job("mail"),
            probe.job("shop-mail"),
            probe.job("x-lost"),
            probe.job("x-put", declared=False),
            probe.job("x-retired", retired_at=1),
            probe.job("x-removed", removed_at=1),
            probe.job("x-other", app="bank"),
        )
        # The worker declares the job `shop-mail` and only runs the kind `mail`. A worker of
        # another app declares the other jobs.
        await probe.sweep()
        other = WorkerInfo("w2", "bank", "there", 2, ["x-lost"], [], 1, ["x-lost"])
        await probe.do(probe.store.sweep(other, 0, 1))
        assert await _orphans(probe, alive=SECOND) == ["mail", "x-lost"]
        probe.pass_time(2 * SECOND)
        assert await _orphans(probe, alive=SECOND) == ["mail", "shop-mail", "x-lost"]

    async def test_jobs_armed_too_far_ahead_are_selected(self, probe: Probe) -> None:
        await probe.put(
            probe.job("x-1", next_due_at=probe.now + 9),
            probe.job("x-2", next_due_at=probe.now + 5),
            probe.job("x-3", next_due_at=None),
            probe.job("x-4", next_due_at=probe.now + 9, app="bank"),
            probe.job("x-5", next_due_at=probe.now + 9),
        )
        assert await _found(probe, ArmedTooFarAhead(WORKER.app, 5, "", 9)) == ["x-1", "x-5"]
        assert await _found(probe, ArmedTooFarAhead(WORKER.app, 5, "", 1)) == ["x-1"]
        assert await _found(probe, ArmedTooFarAhead(WORKER.app, 5, "x-1", 9)) == ["x-5"]

    async def test_a_search_leaves_out_the_names_it_is_given(self, probe: Probe) -> None:
        await probe.put(
            *(probe.job(f"lost-{n}", next_due_at=probe.now + 9) for n in range(3)),
            *(probe.job(f"back-{n}", retired_at=1, next_due_at=None) for n in range(3)),
        )
        names = ["back-0", "back-1", "back-2"]
        await probe.do(probe.store.sweep(replace(WORKER, jobs=names), 0, 1))
        excluded = frozenset({"lost-1", "back-1"})
        for which in (
            OrphanedJobs(WORKER.app, SECOND, 100, excluded),
            ArmedTooFarAhead(WORKER.app, 5, "", 100, excluded),
        ):
            assert await _found(probe, which) == ["lost-0", "lost-2"]
        back = Reappeared(WORKER.app, WORKER.id, SECOND, 100, excluded)
        assert await _found(probe, back) == ["back-0", "back-2"]

    async def test_reappeared_jobs_are_retired_ones_that_a_worker_declares(
        self, probe: Probe
    ) -> None:
        await probe.put(
            probe.job("shop-mail", retired_at=1),
            probe.job("x-retired", retired_at=1),
            probe.job("x-there"),
            probe.job("x-removed", retired_at=1, removed_at=1),
            probe.job("x-other", retired_at=1, app="bank"),
        )
        names = ["shop-mail", "x-there", "x-removed", "x-other"]
        assert await _found(probe, _returned()) == []
        await probe.do(probe.store.sweep(replace(WORKER, jobs=names), 0, 1))
        assert await _found(probe, _returned()) == ["shop-mail"]

    async def test_seeding_reports_whether_the_worker_is_the_youngest(self, probe: Probe) -> None:
        await probe.put(probe.job("shop-mail", retired_at=1))
        seen: list[bool] = []

        async def ask() -> list[bool]:
            seen.clear()
            for which in (_seeding("shop-mail", "x-new"), _returned()):
                flow = probe.store.edit_jobs(
                    which, lambda found: seen.append(found.by_newest_worker)
                )
                assert not (await probe.do(flow)).locked
            return seen

        await probe.sweep()
        assert await ask() == [True, True, True]
        probe.pass_time(1)
        await probe.do(probe.store.sweep(replace(WORKER, id="w2"), 0, 1))
        assert await ask() == [False, False, False]
        probe.pass_time(2 * SECOND)
        await probe.sweep()
        assert await ask() == [True, True, True]

    async def test_seeding_reports_jobs_that_another_app_left(self, probe: Probe) -> None:
        await probe.put(probe.job("x-1", app="bank"), probe.job("x-2"))
        seen: list[bool] = []

        async def ask() -> list[bool]:
            seen.clear()
            flow = probe.store.edit_jobs(_seeding("x-1", "x-2"), lambda f: seen.append(f.adoptable))
            await probe.do(flow)
            return seen

        await probe.do(probe.store.sweep(replace(WORKER, id="w2", app="bank"), 0, 1))
        assert await ask() == [False, False]
        probe.pass_time(2 * SECOND)
        assert await ask() == [True, False]

    async def test_a_registered_worker_need_not_repeat_its_declarations(self, probe: Probe) -> None:
        await probe.put(probe.job("shop-mail"))
        brief = replace(WORKER, kinds=[], jobs=[], registered=True)
        assert (await probe.sweep()).known
        assert (await probe.do(probe.store.sweep(brief, 0, 1))).known
        assert await _orphans(probe, alive=SECOND) == []
        await probe.do(probe.store.unregister(WORKER.id))
        assert not (await probe.do(probe.store.sweep(brief, 0, 1))).known
        assert await _orphans(probe, alive=SECOND) == ["shop-mail"]

    async def test_only_the_youngest_worker_is_reported_as_youngest(self, probe: Probe) -> None:
        async def youngest(worker: WorkerInfo) -> bool:
            return (await probe.do(probe.store.sweep(worker, 0, 1))).youngest

        old = replace(WORKER, alive=SECOND)
        young, idle = replace(old, id="w2"), replace(old, id="w3", jobs=[])
        other = replace(old, id="w4", app="bank")
        assert await youngest(old)
        for item in (young, idle, other):
            probe.pass_time(1)
            assert await youngest(item)
        assert not await youngest(old)
        assert await youngest(young)
        await probe.do(probe.store.unregister(young.id))
        assert await youngest(old)
        probe.pass_time(1)
        assert await youngest(young)
        probe.pass_time(2 * SECOND)
        assert await youngest(old)

    # -- waking ----------------------------------------------------------------------

    async def test_the_next_tick_of_an_app_is_reported(self, probe: Probe) -> None:
        assert (await probe.sweep()).next_tick is None
        await probe.put(
            probe.job("x-1", next_due_at=probe.now + 7),
            probe.job("x-2", next_due_at=probe.now + 3),
            probe.job("x-3", next_due_at=probe.now + 1, app="bank"),
        )
        assert (await probe.sweep()).next_tick == probe.now + 3
        assert (await probe.do(probe.store.look_ahead(WORKER.app))).next_tick == probe.now + 3
        assert (await probe.do(probe.store.look_ahead())).next_tick is None

    # -- completions -----------------------------------------------------------------

    async def test_the_completion_of_an_occurrence_updates_its_job(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        await probe.occur(probe.occurrence(job, tick=1), job=job)
        claim = await probe.claim_one()
        assert (claim.job, claim.tick) == (job.name, 1)
        assert (await probe.one_job()).running is not None
        ending = finish(claim, job=job.name, started_at=probe.now)
        done = await probe.complete(ending)
        after = (await probe.one_job()).job
        assert [(update.before, update.after) for update in done.jobs] == [(job, after)]
        assert (after.last_outcome, after.last_finished_at) == ("succeeded", probe.now)
        # A replay after a lost reply changes nothing.
        again = await probe.complete(ending)
        assert (again.applied, list(again.jobs)) == ({claim.id}, [])
        assert (await probe.one_job()).job == after

    async def test_completions_of_one_batch_update_the_job_one_by_one(self, probe: Probe) -> None:
        job = probe.job(alert_after=1)
        await probe.put(job)
        await probe.occur(*(probe.occurrence(job, tick=n) for n in range(3)), job=job)
        states = (State.failed, State.succeeded, State.failed)
        claims = await probe.claim(limit=3)
        endings = [finish(c, s, job=job.name) for c, s in zip(claims, states, strict=True)]
        done = await probe.complete(*endings)
        failing = [update.after.failing_since is not None for update in done.jobs]
        assert failing == [True, False, True]
        assert done.jobs[-1].after == (await probe.one_job()).job
        # A replay after a lost reply returns the last alert again.
        again = await probe.complete(*endings)
        assert (list(again.jobs), again.applied_earlier) == ([], {claim.id for claim in claims})
        [update] = again.replayed_jobs
        assert (update.before.failing_since, update.after) == (None, done.jobs[-1].after)


async def _orphans(probe: Probe, alive: int) -> list[str]:
    return await _found(probe, OrphanedJobs(WORKER.app, alive, 100))


def _seeding(*names: str) -> ToSeed:
    return ToSeed(names, WORKER.app, WORKER.id, SECOND)


def _returned() -> Reappeared:
    return Reappeared(WORKER.app, WORKER.id, SECOND, 100)


async def _found(probe: Probe, which: JobSelector) -> list[str]:
    seen: list[str] = []
    await probe.do(probe.store.edit_jobs(which, lambda found: seen.append(found.name)))
    return seen


def _chosen(found: FoundJob, jobs: dict[str, JobRecord]) -> JobChange | None:
    return JobChange(job=jobs[found.name]) if found.name in jobs else None
