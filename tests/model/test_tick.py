"""Ticks and edits of jobs as pure functions, and the stored text of a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.model.act import Act
from duetime.model.clock import to_micros
from duetime.model.jobs.change import FoundJob, JobChange, Unfinished
from duetime.model.jobs.edit import arm, pause_job, remove_job, resume_job, retire_job, seed_job
from duetime.model.jobs.job import JobDefinition, JobRecord, Overlap
from duetime.model.jobs.serialize import of_text, to_text
from duetime.model.jobs.ticks import apply_ticks
from duetime.testing.conformance.probe import HOURLY

MIDNIGHT = to_micros(datetime(2030, 1, 1, tzinfo=UTC))
HOUR = 3_600_000_000
DEFINITION: dict[str, Any] = {
    "name": "shop-report",
    "kind": "shop-report",
    "payload": "null",
    **HOURLY,
}


def job(**fields: Any) -> JobRecord:
    defined = {name: fields.pop(name) for name in [*fields] if name in DEFINITION}
    definition = JobDefinition(**(DEFINITION | defined))
    record: dict[str, Any] = {"next_due_at": MIDNIGHT + HOUR, "created_at": 0, "created_by": "ann"}
    record |= fields
    return JobRecord(definition=definition, app="shop", declared=True, version=1, **record)


def ids() -> Iterator[UUID]:
    return (UUID(int=n) for n in count(1000))


NEW = ids()
TICK = partial(apply_ticks, new_id=lambda: next(NEW), misfire_after=10.0)


def tick(stored: JobRecord, hours: float, *unfinished: Unfinished) -> JobChange:
    change = TICK(FoundJob(stored.name, stored, unfinished, MIDNIGHT + round(hours * HOUR)))
    assert change is not None
    return change


def unfinished(number: int, *, running: bool = True, after: int | None = None) -> Unfinished:
    waits_for = None if after is None else UUID(int=after)
    return Unfinished(UUID(int=number), running, waits_for, MIDNIGHT, None)


def test_keys_that_a_newer_version_wrote_are_kept() -> None:
    written = json.loads(to_text(job()))
    written |= {"region": "eu"}
    written["definition"] |= {"window": [1, 2]}
    read = of_text(json.dumps(written))
    assert read.definition == job().definition
    after = json.loads(to_text(replace(read, version=9)))
    assert after == written | {"version": 9}
    assert of_text(to_text(job())) == job()


STORED = (
    '{"definition":{"name":"a-b","kind":"k","payload_version":1,"payload":"{}",'
    '"recurrence":"0 2 * * *","tz":"UTC","queue":"default","priority":2,"misfire":"once",'
    '"overlap":"skip","jitter":0,"alert_after":3,"retry":null,"tenant":null},"app":"app",'
    '"declared":true,"version":3,"created_at":1,"created_by":"system","modified_at":null,'
    '"modified_by":null,"next_due_at":null,"last_tick":null,"last_started_at":null,'
    '"last_finished_at":null,"last_outcome":null,"consecutive_failures":3,"last_error":"boom",'
    '"failing_since":5,"told_by":"17","triggered_by":null,"paused_at":null,"paused_by":null,'
    '"pause_note":null,"paused_until":null,"retired_at":null,"removed_at":null}'
)


def test_the_stored_text_of_a_job_keeps_its_keys() -> None:
    read = of_text(STORED)
    assert (read.alert_token, read.failing_since) == ("17", 5)
    assert to_text(read) == STORED
    newer = json.loads(STORED) | {"region": "eu"}
    assert of_text(json.dumps(newer)).alert_token == "17"
    assert json.loads(to_text(of_text(json.dumps(newer)))) == newer


def test_nothing_is_due_before_its_time() -> None:
    found = FoundJob("shop-report", job(), (), MIDNIGHT + HOUR - 1)
    assert apply_ticks(found, lambda: UUID(int=1), 10.0) is None
    assert (
        apply_ticks(FoundJob("shop-report", None, (), MIDNIGHT), lambda: UUID(int=1), 10.0) is None
    )


def test_a_tick_is_due_at_its_instant_and_the_next_is_armed() -> None:
    change = tick(job(), 1)
    [occurrence] = change.occurrences
    assert (occurrence.tick, occurrence.action.due_at, occurrence.skipped) == (
        MIDNIGHT + HOUR,
        MIDNIGHT + HOUR,
        None,
    )
    assert (change.job.last_tick, change.job.next_due_at) == (
        MIDNIGHT + HOUR,
        MIDNIGHT + 2 * HOUR,
    )


@pytest.mark.parametrize(
    ("overlap", "there", "after", "skipped"),
    [
        (Overlap.skip, [], None, False),
        (Overlap.skip, [unfinished(1)], None, True),
        (Overlap.skip, [unfinished(1, running=False)], None, True),
        (Overlap.queue, [unfinished(1)], 1, False),
        (Overlap.queue, [unfinished(1, running=False)], 1, False),
        (Overlap.queue, [unfinished(1), unfinished(2, running=False, after=1)], None, True),
        (Overlap.allow, [unfinished(1), unfinished(2)], None, False),
    ],
)
def test_overlap(
    overlap: Overlap, there: list[Unfinished], after: int | None, skipped: bool
) -> None:
    [occurrence] = tick(job(overlap=overlap), 1, *there).occurrences
    assert occurrence.action.after == (None if after is None else UUID(int=after))
    assert (occurrence.skipped is not None) == skipped


def test_a_stored_rule_that_has_changed_meanwhile_is_armed_anew() -> None:
    """Its next tick is not a tick of the new rule: the job is armed, and no occurrence is added."""
    change = tick(job(recurrence="30 * * * *", next_due_at=MIDNIGHT + HOUR), 1)
    assert change.occurrences == ()
    assert change.job.next_due_at == MIDNIGHT + round(1.5 * HOUR)


class TestEditing:
    @given(
        hours=st.floats(0, 100),
        last=st.none() | st.floats(0, 200),
        until=st.none() | st.floats(0, 90),
    )
    def test_a_job_is_never_armed_in_the_past(
        self, hours: float, last: float | None, until: float | None
    ) -> None:
        now = MIDNIGHT + round(hours * HOUR)
        stored = job(last_tick=None if last is None else MIDNIGHT + round(last * HOUR))
        if until is not None:
            stored = armed_after_pause(stored, now, until)
        after = arm(stored, now).next_due_at
        assert after is not None
        assert after > now
        # A last tick far ahead was made by a wrong clock; it must not silence the job.
        if stored.last_tick is not None and stored.last_tick - now < HOUR:
            assert after > stored.last_tick
        assert after >= (stored.paused_until or 0)

    def test_seeding_changes_only_the_definition(self) -> None:
        stored = job(paused_at=5, paused_by="ann", consecutive_failures=2, next_due_at=None)
        wanted = JobDefinition(**(DEFINITION | {"recurrence": "30 * * * *"}))
        change = seed_job(FoundJob(stored.name, stored, (), MIDNIGHT), wanted, "shop", TICK)
        assert change is not None
        assert (change.job.definition, change.job.paused_by) == (wanted, "ann")
        assert (change.job.consecutive_failures, change.job.next_due_at) == (2, None)

    def test_an_unchanged_job_is_not_edited(self) -> None:
        stored = job()
        found = FoundJob(stored.name, stored, (), MIDNIGHT)
        assert seed_job(found, stored.definition, "shop", TICK) is None
        assert resume_job(found, None, Act("ann")) is None

    def test_a_pause_spares_running_and_triggered_occurrences(self) -> None:
        ticking, waiting = unfinished(1), unfinished(2, running=False)
        trigger = Unfinished(UUID(int=3), False, None, None, "ann")
        found = FoundJob("shop-report", job(), (ticking, waiting, trigger), MIDNIGHT)
        change = pause_job(found, None, Act("bob"), None, TICK)
        assert change is not None
        assert change.cancel == (waiting.id,)
        assert remove_job(found, None, Act("bob"), TICK).cancel == (waiting.id, trigger.id)

    @pytest.mark.parametrize("verb", ["pause", "remove", "retire"])
    def test_a_tick_that_has_come_is_recorded_as_skipped(self, verb: str) -> None:
        found = FoundJob("shop-report", job(), (), MIDNIGHT + HOUR + 5)
        change = {
            "pause": pause_job(found, None, Act("bob"), None, TICK),
            "remove": remove_job(found, None, Act("bob"), TICK),
            "retire": retire_job(found, TICK),
        }[verb]
        assert change is not None
        [occurrence] = change.occurrences
        assert (occurrence.tick, change.job.next_due_at) == (MIDNIGHT + HOUR, None)
        assert occurrence.skipped is not None
        assert occurrence.skipped.startswith("skipped: ")

    def test_a_tick_that_has_come_runs_by_the_old_rule(self) -> None:
        wanted = JobDefinition(**(DEFINITION | {"recurrence": "30 * * * *"}))
        found = FoundJob("shop-report", job(), (), MIDNIGHT + HOUR + 5)
        change = seed_job(found, wanted, "shop", TICK)
        assert change is not None
        assert [(occurrence.tick, occurrence.skipped) for occurrence in change.occurrences] == [
            (MIDNIGHT + HOUR, None)
        ]
        assert change.job.next_due_at == MIDNIGHT + round(1.5 * HOUR)

    def test_a_job_that_a_wrong_clock_armed_for_next_year_is_armed_again(self) -> None:
        ahead = MIDNIGHT + 9000 * HOUR
        stored = job(next_due_at=ahead, last_tick=ahead - HOUR)
        change = seed_job(
            FoundJob(stored.name, stored, (), MIDNIGHT), stored.definition, "shop", TICK
        )
        assert change is not None
        assert change.job.next_due_at == MIDNIGHT + HOUR

    def test_a_job_is_retired_once(self) -> None:
        change = retire_job(FoundJob("shop-report", job(), (), MIDNIGHT), TICK)
        assert change is not None
        assert (change.job.retired_at, change.job.next_due_at) == (MIDNIGHT, None)
        assert retire_job(FoundJob("shop-report", change.job, (), MIDNIGHT), TICK) is None


def armed_after_pause(stored: JobRecord, now: int, until: float) -> JobRecord:
    end = now + 1 + round(until * HOUR)
    change = pause_job(FoundJob(stored.name, stored, (), now), None, Act("ann"), end, TICK)
    assert change is not None
    return change.job
