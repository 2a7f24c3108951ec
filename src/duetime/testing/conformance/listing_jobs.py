"""Lists of jobs: filtered and ordered by the store, a page at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from duetime.model.jobs.job import JobRecord
from duetime.model.jobs.job_filter import JobFilter, JobPosition, JobSort, page_of
from duetime.model.jobs.selectors import ByName
from duetime.model.jobs.view import JobState
from duetime.model.tenant import ANY
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite

SORTS = [
    JobSort(by, descending)
    for by in ("name", "next_due_at", "consecutive_failures")
    for descending in (False, True)
]
FILTERS: list[dict[str, Any]] = [
    *({"state": state} for state in JobState),
    *({name: flag} for name in ("enabled", "failing", "declared") for flag in (True, False)),
    {"kind": "mail"},
    {"kind": 'élan "7" \\ \u2603'},
    {"queue": "slow"},
    {"queue": "queue\tof 'quotes'"},
    {"queue": "none such"},
    {"due_before": 5 * SECOND},
    {"search": "b-"},
    {"search": "'"},
    {"search": "%"},
    {"state": JobState.paused, "enabled": True},
    {"state": JobState.scheduled, "enabled": False},
    {"enabled": True, "failing": True, "declared": False},
    {"removed": True},
    {"tenant": None},
    {"tenant": "a"},
    {"tenant": "nobody"},
]


def some_jobs(probe: Probe) -> list[JobRecord]:
    """Jobs of which each filter takes some and leaves some."""
    now = probe.now
    job = probe.job
    return [
        job("a-plain", kind="mail", next_due_at=7 * SECOND),
        job("a-run", next_due_at=3 * SECOND, consecutive_failures=1),
        job(
            "b-held",
            next_due_at=None,
            paused_at=now,
            paused_by="ann",
            pause_note='"paused_at":5,"kind":"mail"',
        ),
        job("b-later", paused_at=now - 9, paused_until=now + 9, tenant="a", queue="slow"),
        job("b-over", paused_at=now - 9, paused_until=now, next_due_at=3 * SECOND, declared=False),
        job("c-fail", failing_since=now, consecutive_failures=3, last_error=',"queue":"slow",'),
        job("c-off", failing_since=5, consecutive_failures=12, paused_at=5, declared=False),
        job("d-gone", next_due_at=None, retired_at=now, paused_at=now, queue="queue\tof 'quotes'"),
        job("d-kind", kind='élan "7" \\ \u2603', next_due_at=-SECOND, payload='{"kind":"mail"}'),
        job("e-removed", removed_at=now, tenant="b", kind="mail", queue="slow"),
    ]


class ListingJobs(Suite):
    @pytest.mark.parametrize("wanted", FILTERS, ids=repr)
    async def test_a_filter_selects_what_the_model_selects(
        self, probe: Probe, wanted: dict[str, Any]
    ) -> None:
        await self._fill(probe)
        everything = await probe.jobs(removed=True)
        assert len(everything) == len(some_jobs(probe))
        criteria: dict[str, Any] = {"tenant": ANY, "limit": 100} | wanted
        expected = page_of(everything, JobFilter(**criteria))
        assert await probe.jobs(**wanted) == expected
        assert len(expected) < len(everything) or wanted == {"removed": True}

    @pytest.mark.parametrize(("sort", "size"), [*product(SORTS, (1, 3))])
    async def test_pages_follow_each_other_in_any_order(
        self, probe: Probe, sort: JobSort, size: int
    ) -> None:
        await self._fill(probe)
        everything = await probe.jobs(removed=True)
        expected = page_of(everything, JobFilter(tenant=ANY, sort=sort, limit=100))
        found: list[Any] = []
        follows: JobPosition | None = None
        while page := await probe.jobs(sort=sort, limit=size, follows=follows):
            assert len(page) <= size
            found += page
            follows = JobPosition(sort.key(page[-1]), page[-1].job.name)
        assert found == expected

    async def test_ties_are_in_the_order_of_names(self, probe: Probe) -> None:
        await probe.put(*(probe.job(f"x-{n}", next_due_at=5) for n in (3, 1, 2)))
        for sort in SORTS[2:]:
            names = [view.job.name for view in await probe.jobs(sort=sort)]
            assert names == ["x-1", "x-2", "x-3"]

    async def test_jobs_without_a_tick_come_last(self, probe: Probe) -> None:
        await probe.put(
            probe.job("x-1", next_due_at=None),
            probe.job("x-2", next_due_at=9),
            probe.job("x-3", next_due_at=8),
        )
        for descending, expected in ((False, ["x-3", "x-2", "x-1"]), (True, ["x-2", "x-3", "x-1"])):
            views = await probe.jobs(sort=JobSort("next_due_at", descending))
            assert [view.job.name for view in views] == expected

    async def test_a_running_occurrence_makes_a_job_run(self, probe: Probe) -> None:
        await self._fill(probe)
        [view] = await probe.jobs(state=JobState.running)
        assert (view.job.name, view.running is not None) == ("a-run", True)

    async def test_the_pause_ends_by_the_stores_clock(self, probe: Probe) -> None:
        await self._fill(probe)
        assert "b-later" not in [view.job.name for view in await probe.jobs(enabled=True)]
        probe.pass_time(9)
        assert "b-later" in [view.job.name for view in await probe.jobs(enabled=True)]

    async def test_what_a_newer_version_wrote_is_found_too(self, probe: Probe) -> None:
        """It has keys that this version does not know, and its text is spaced otherwise."""
        known = replace(probe.job("x-1", kind="mail"), consecutive_failures=4, paused_at=7)
        await probe.put(known)
        text = '{"definition":{"colour":"red"},"mood":"élan"}'
        await probe.put(replace(known, read_from=text), probe.job("x-2"))
        [view] = await probe.jobs(kind="mail", enabled=False)
        assert view.job.name == "x-1"
        worst = await probe.jobs(sort=JobSort("consecutive_failures", True))
        assert [view.job.name for view in worst] == ["x-1", "x-2"]

    async def _fill(self, probe: Probe) -> None:
        jobs = some_jobs(probe)
        await probe.put(*jobs)
        by_name = {job.name: job for job in jobs}
        await probe.occur(probe.occurrence(by_name["a-run"], tick=1), job=by_name["a-run"])
        await probe.claim_one()


class ReadingDefinitions(Suite):
    async def test_a_definition_is_read_by_name(self, probe: Probe) -> None:
        job = probe.job(tenant="a", retry="Retry(attempts=2)", timeout=5 * SECOND)
        await probe.put(job, probe.job("x-other"), probe.job("x-gone", removed_at=3))
        assert await probe.do(probe.store.job_definition(job.name)) == job.definition
        assert await probe.do(probe.store.job_definition("x-gone")) is not None
        assert await probe.do(probe.store.job_definition("x-nothing")) is None


class EditingByTenant(Suite):
    async def test_a_job_of_another_tenant_is_as_one_that_never_was(self, probe: Probe) -> None:
        await probe.put(probe.job("x-1"), probe.job("x-2", tenant="a"))
        seen: list[tuple[str, bool]] = []
        for scope in (None, "a", ANY):
            names = ("x-1", "x-2", "x-3")
            await probe.do(
                probe.store.edit_jobs(
                    ByName(names, scope), lambda job: seen.append((job.name, job.job is not None))
                )
            )
        assert [name for name, exists in seen if exists] == ["x-1", "x-2", "x-1", "x-2"]
        assert len(seen) == 9
