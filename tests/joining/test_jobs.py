"""Verbs of jobs in the caller's transaction."""

from __future__ import annotations

import pytest

from duetime import Duetime, Every, JobState
from duetime.errors import JobNotFound
from joining.callers import Caller

NAME = "shop-report"


@pytest.fixture
async def seeded(app: Duetime) -> Duetime:
    app.job(Every(days=300), name=NAME)(nothing)
    await app.testing.drain()
    return app


async def test_a_trigger_exists_if_and_only_if_the_caller_commits(
    seeded: Duetime, caller: Caller
) -> None:
    await caller.call(seeded, "jobs.trigger", NAME, by="ann")
    await caller.rollback()
    assert await seeded.jobs.runs(NAME) == []
    await caller.close()
    await caller.begin()
    action = await caller.call(seeded, "jobs.trigger", NAME, by="ann")
    assert await seeded.jobs.runs(NAME) == []
    await caller.commit()
    assert [run.action_id for run in await seeded.jobs.runs(NAME)] == [action.id]


async def test_so_does_a_pause(seeded: Duetime, caller: Caller) -> None:
    assert (await caller.call(seeded, "jobs.pause", NAME)).state is JobState.paused
    assert (await caller.call(seeded, "jobs.get", NAME)).state is JobState.paused
    assert (await seeded.jobs.get(NAME)).state is JobState.scheduled
    await caller.commit()
    assert (await seeded.jobs.get(NAME)).state is JobState.paused


async def test_one_that_is_not_there_costs_the_caller_nothing(
    seeded: Duetime, caller: Caller
) -> None:
    with pytest.raises(JobNotFound):
        await caller.call(seeded, "jobs.trigger", "shop-nothing")
    await caller.call(seeded, "jobs.remove", NAME)
    await caller.commit()
    assert list(await seeded.jobs.list()) == []


def nothing() -> None: ...
