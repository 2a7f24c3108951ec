"""Verbs of jobs in the caller's transaction."""

from __future__ import annotations

import pytest

from duetime import Duetime, Every, JobState
from duetime.errors import JobNotFound
from joining.callers import Caller

JOB_NAME = "shop-report"


@pytest.fixture
async def seeded(app: Duetime) -> Duetime:
    app.job(Every(days=300), name=JOB_NAME)(nothing)
    await app.testing.drain()
    return app


async def test_a_trigger_exists_if_and_only_if_the_caller_commits(
    seeded: Duetime, caller: Caller
) -> None:
    await caller.call(seeded, "jobs.trigger", JOB_NAME, by="ann")
    await caller.rollback()
    assert await seeded.jobs.runs(JOB_NAME) == []
    await caller.close()
    await caller.begin()
    action = await caller.call(seeded, "jobs.trigger", JOB_NAME, by="ann")
    assert await seeded.jobs.runs(JOB_NAME) == []
    await caller.commit()
    assert [run.action_id for run in await seeded.jobs.runs(JOB_NAME)] == [action.id]


async def test_a_pause_exists_once_the_caller_commits(seeded: Duetime, caller: Caller) -> None:
    assert (await caller.call(seeded, "jobs.pause", JOB_NAME)).state is JobState.paused
    assert (await caller.call(seeded, "jobs.get", JOB_NAME)).state is JobState.paused
    assert (await seeded.jobs.get(JOB_NAME)).state is JobState.scheduled
    await caller.commit()
    assert (await seeded.jobs.get(JOB_NAME)).state is JobState.paused


async def test_a_missing_job_leaves_the_transaction_usable(seeded: Duetime, caller: Caller) -> None:
    with pytest.raises(JobNotFound):
        await caller.call(seeded, "jobs.trigger", "shop-nothing")
    await caller.call(seeded, "jobs.remove", JOB_NAME)
    await caller.commit()
    assert list(await seeded.jobs.list()) == []


def nothing() -> None: ...
