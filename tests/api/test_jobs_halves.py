"""`app.jobs` reads and writes; code that needs one half says so by its type."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from api.apps import Note
from api.hourly_job import MIDNIGHT, NAME, at, clock, nothing, ticks
from duetime import ANY, Duetime, Instants, JobPaused, JobReader, JobResumed, JobWriter
from duetime.errors import InvalidRecurrence, JobNotFound
from duetime.testing import FakeClock

__all__ = ["clock", "ticks"]


async def names(reader: JobReader) -> list[str]:
    return [job.name for job in await reader.list()]


async def stop(writer: JobWriter, name: str) -> bool:
    return (await writer.pause(name, by="ann")).enabled


async def test_it_satisfies_both(memory_app: Duetime) -> None:
    memory_app.job("0 * * * *", name=NAME)(nothing)
    await memory_app.testing.drain()
    assert await names(memory_app.jobs) == [NAME]
    assert not await stop(memory_app.jobs, NAME)


@pytest.mark.parametrize("half", [JobReader, JobWriter])
def test_each_verb_is_the_same_in_both(half: Any) -> None:
    verbs = [name for name in vars(half) if not name.startswith("_")]
    assert verbs
    for verb in verbs:
        mine = inspect.signature(getattr(half, verb)).parameters
        given = inspect.signature(getattr(Duetime("memory://").jobs, verb)).parameters
        assert [(p.name, p.default) for p in mine.values()][1:] == [
            (p.name, p.default) for p in given.values()
        ]


async def test_a_put_and_a_backfill_are_audited(app: Duetime, clock: FakeClock) -> None:
    app.handler(kind="note")(lambda_note)
    await app.jobs.put(NAME, "0 * * * *", payload=Note("one"), by="ann")
    await app.jobs.put(NAME, "0 * * * *", payload=Note("two"), overlap="allow", by="bob")
    start = MIDNIGHT.replace(year=2029)
    await app.jobs.backfill(NAME, start, start.replace(hour=2), dry_run=False, by="eve")
    entries = (await app.audit.find(subject=NAME, limit=10, tenant=ANY)).items
    events = {(entry.verb, entry.by): (entry.before, entry.after) for entry in entries}
    assert events.keys() == {("put", "ann"), ("put", "bob"), ("backfill", "eve")}
    before, after = events["put", "bob"]
    assert before["payload"] != after["payload"]
    assert after["payload_changed"] == ["text"]
    # Nor is a value of it in any entry.
    assert not {"one", "two"} & {*re.findall(r"\w+", str(entries))}
    assert (before["overlap"], after["overlap"]) == ("skip", "allow")


def lambda_note(payload: Note) -> None: ...


async def test_a_backfill_of_a_job_that_is_not_there(app: Duetime) -> None:
    start = MIDNIGHT.replace(year=2029)
    with pytest.raises(JobNotFound, match="shop-nothing"):
        await app.jobs.backfill("shop-nothing", start, start.replace(hour=2))


async def test_a_list_that_has_passed_is_refused_by_put(app: Duetime) -> None:
    app.handler(kind="note")(lambda_note)
    with pytest.raises(InvalidRecurrence, match="passed"):
        await app.jobs.put(NAME, Instants([at(-1)]), payload=Note())


async def test_put_of_a_declared_job_is_refused(
    memory_app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    memory_app.job(Instants([at(-1)]), name=NAME)(nothing)
    await memory_app.testing.drain()
    assert "shop-report will never tick" in caplog.text


async def test_the_end_of_a_pause_is_emitted_even_if_another_pause_follows(
    app: Duetime, ticks: list[Any], clock: FakeClock
) -> None:
    events: list[str] = []
    for event in (JobPaused, JobResumed):
        app.on(event, lambda item: events.append(type(item).__name__))
    await app.testing.drain()
    await app.jobs.pause(NAME, until=at(0.5))
    clock.set(at(0.6))
    await app.jobs.pause(NAME)
    assert events == ["JobPaused", "JobResumed", "JobPaused"]
