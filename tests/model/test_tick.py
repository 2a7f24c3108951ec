"""Which occurrences a job gets when its time has come."""

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

from duetime.model.clock import to_micros
from duetime.model.jobs.change import Change, Found, Unfinished
from duetime.model.jobs.edit import armed, paused, removed, resumed, retired, seeded
from duetime.model.jobs.job import Definition, JobRecord, Overlap
from duetime.model.jobs.serialize import of_text, to_text
from duetime.model.jobs.ticks import ticked
from duetime.testing.conformance.probe import HOURLY

MIDNIGHT = to_micros(datetime(2030, 1, 1, tzinfo=UTC))
HOUR = 3_600_000_000
DEFINITION: dict[str, Any] = {
    "name": "shop-report",
    "kind": "shop-report",
    "payload": "null",
    **HOURLY,
}


def job(**given: Any) -> JobRecord:
    defined = {name: given.pop(name) for name in [*given] if name in DEFINITION}
    definition = Definition(**(DEFINITION | defined))
    told: dict[str, Any] = {"next_due_at": MIDNIGHT + HOUR, "created_at": 0, "created_by": "ann"}
    return JobRecord(definition=definition, app="shop", declared=True, version=1, **(told | given))


def ids() -> Iterator[UUID]:
    return (UUID(int=n) for n in count(1000))


NEW = ids()
TICK = partial(ticked, new_id=lambda: next(NEW), misfire_after=10.0)


def tick(one: JobRecord, hours: float, *unfinished: Unfinished) -> Change:
    change = TICK(Found(one.name, one, unfinished, MIDNIGHT + round(hours * HOUR)))
    assert change is not None
    return change


def unfinished(number: int, *, running: bool = True, after: int | None = None) -> Unfinished:
    waits_for = None if after is None else UUID(int=after)
    return Unfinished(UUID(int=number), running, waits_for, MIDNIGHT, None)


def test_what_a_newer_version_wrote_survives_an_older_one() -> None:
    written = json.loads(to_text(job()))
    written |= {"region": "eu"}
    written["definition"] |= {"window": [1, 2]}
    read = of_text(json.dumps(written))
    assert read.definition == job().definition
    after = json.loads(to_text(replace(read, version=9)))
    assert after == written | {"version": 9}
    assert of_text(to_text(job())) == job()


def test_nothing_is_due_before_its_time() -> None:
    found = Found("shop-report", job(), (), MIDNIGHT + HOUR - 1)
    assert ticked(found, lambda: UUID(int=1), 10.0) is None
    assert ticked(Found("shop-report", None, (), MIDNIGHT), lambda: UUID(int=1), 10.0) is None


def test_a_tick_is_due_at_its_instant_and_the_next_is_armed() -> None:
    change = tick(job(), 1)
    [one] = change.occurrences
    assert (one.tick, one.action.due_at, one.skipped) == (MIDNIGHT + HOUR, MIDNIGHT + HOUR, None)
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
    [one] = tick(job(overlap=overlap), 1, *there).occurrences
    assert one.action.after == (None if after is None else UUID(int=after))
    assert (one.skipped is not None) == skipped


def test_a_stored_rule_that_has_changed_meanwhile_is_armed_anew() -> None:
    """Its next tick is none of its rule any more: it is advanced, and nothing occurs."""
    change = tick(job(recurrence="30 * * * *", next_due_at=MIDNIGHT + HOUR), 1)
    assert change.occurrences == ()
    assert change.job.next_due_at == MIDNIGHT + round(1.5 * HOUR)


class TestEditing:
    @given(
        hours=st.floats(0, 100),
        last=st.none() | st.floats(0, 200),
        until=st.none() | st.floats(0, 90),
    )
    def test_it_is_never_armed_in_the_past(
        self, hours: float, last: float | None, until: float | None
    ) -> None:
        now = MIDNIGHT + round(hours * HOUR)
        one = job(last_tick=None if last is None else MIDNIGHT + round(last * HOUR))
        if until is not None:
            one = armed_after_pause(one, now, until)
        after = armed(one, now).next_due_at
        assert after is not None
        assert after > now
        # A last tick far ahead was made by a wrong clock; it must not silence the job.
        if one.last_tick is not None and one.last_tick - now < HOUR:
            assert after > one.last_tick
        assert after >= (one.paused_until or 0)

    def test_a_worker_that_declares_it_changes_only_the_definition(self) -> None:
        one = job(paused_at=5, paused_by="ann", consecutive_failures=2, next_due_at=None)
        wanted = Definition(**(DEFINITION | {"recurrence": "30 * * * *"}))
        change = seeded(Found(one.name, one, (), MIDNIGHT), wanted, "shop", TICK)
        assert change is not None
        assert (change.job.definition, change.job.paused_by) == (wanted, "ann")
        assert (change.job.consecutive_failures, change.job.next_due_at) == (2, None)

    def test_the_same_is_no_change(self) -> None:
        one = job()
        found = Found(one.name, one, (), MIDNIGHT)
        assert seeded(found, one.definition, "shop", TICK) is None
        assert resumed(found, None, "ann") is None

    def test_pause_spares_what_runs_and_what_was_triggered(self) -> None:
        ticking, waiting = unfinished(1), unfinished(2, running=False)
        trigger = Unfinished(UUID(int=3), False, None, None, "ann")
        found = Found("shop-report", job(), (ticking, waiting, trigger), MIDNIGHT)
        change = paused(found, None, "bob", None, None, TICK)
        assert change is not None
        assert change.cancel == (waiting.id,)
        assert removed(found, None, "bob", TICK).cancel == (waiting.id, trigger.id)

    @pytest.mark.parametrize("verb", ["pause", "remove", "retire"])
    def test_a_tick_that_has_come_leaves_its_record_whatever_overtakes_it(self, verb: str) -> None:
        found = Found("shop-report", job(), (), MIDNIGHT + HOUR + 5)
        change = {
            "pause": paused(found, None, "bob", None, None, TICK),
            "remove": removed(found, None, "bob", TICK),
            "retire": retired(found, TICK),
        }[verb]
        assert change is not None
        [one] = change.occurrences
        assert (one.tick, change.job.next_due_at) == (MIDNIGHT + HOUR, None)
        assert one.skipped is not None
        assert one.skipped.startswith("skipped: ")

    def test_a_tick_that_has_come_runs_though_the_rule_is_another_now(self) -> None:
        wanted = Definition(**(DEFINITION | {"recurrence": "30 * * * *"}))
        found = Found("shop-report", job(), (), MIDNIGHT + HOUR + 5)
        change = seeded(found, wanted, "shop", TICK)
        assert change is not None
        assert [(one.tick, one.skipped) for one in change.occurrences] == [(MIDNIGHT + HOUR, None)]
        assert change.job.next_due_at == MIDNIGHT + round(1.5 * HOUR)

    def test_one_that_a_wrong_clock_armed_for_next_year_is_armed_anew(self) -> None:
        ahead = MIDNIGHT + 9000 * HOUR
        one = job(next_due_at=ahead, last_tick=ahead - HOUR)
        change = seeded(Found(one.name, one, (), MIDNIGHT), one.definition, "shop", TICK)
        assert change is not None
        assert change.job.next_due_at == MIDNIGHT + HOUR

    def test_retired_once(self) -> None:
        change = retired(Found("shop-report", job(), (), MIDNIGHT), TICK)
        assert change is not None
        assert (change.job.retired_at, change.job.next_due_at) == (MIDNIGHT, None)
        assert retired(Found("shop-report", change.job, (), MIDNIGHT), TICK) is None


def armed_after_pause(one: JobRecord, now: int, until: float) -> JobRecord:
    end = now + 1 + round(until * HOUR)
    change = paused(Found(one.name, one, (), now), None, "ann", None, end, TICK)
    assert change is not None
    return change.job
