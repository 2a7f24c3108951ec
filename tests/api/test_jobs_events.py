"""Events of jobs: one for each real change."""

from __future__ import annotations

from typing import Any

from api.hourly_job import NAME, at, clock, ticks
from duetime import Duetime, JobFailing, JobPaused, JobRecovered, JobResumed, Retry

__all__ = ["clock", "ticks"]


class TestEvents:
    async def test_pausing_and_resuming_emit_one_event_each(
        self, app: Duetime, ticks: list[Any]
    ) -> None:
        events: list[Any] = []
        for event in (JobPaused, JobResumed):
            app.on(event, events.append)
        await app.testing.drain()
        await app.jobs.pause(NAME, by="ann", note="audit", until=at(9))
        await app.jobs.pause(NAME, by="bob", note="audit", until=at(9))
        await app.jobs.resume(NAME, by="cid")
        await app.jobs.resume(NAME, by="cid")
        assert events == [
            JobPaused(job=NAME, tenant=None, by="ann", note="audit", until=at(9)),
            JobResumed(job=NAME, tenant=None, by="cid"),
        ]

    async def test_so_is_a_pause_that_ends_by_itself(self, app: Duetime, ticks: list[Any]) -> None:
        events: list[Any] = []
        app.on(JobResumed, events.append)
        await app.testing.drain()
        await app.jobs.pause(NAME, until=at(2))
        await app.testing.advance(hours=3)
        assert events == [JobResumed(job=NAME, tenant=None, by="system")]

    async def test_a_streak_of_failures_emits_one_event_and_so_does_its_end(
        self, app: Duetime
    ) -> None:
        events: list[Any] = []
        for event in (JobFailing, JobRecovered):
            app.on(event, events.append)
        runs = [0]

        @app.job("0 * * * *", name=NAME, retry=Retry.none(), alert_after=2)
        def report() -> None:
            runs[0] += 1
            if runs[0] < 5:
                raise RuntimeError("no")

        await app.testing.advance(hours=6)
        assert [type(event) for event in events] == [JobFailing, JobRecovered]
        assert events[0] == JobFailing(
            job=NAME, tenant=None, by="system", consecutive_failures=2, error="RuntimeError: no"
        )
