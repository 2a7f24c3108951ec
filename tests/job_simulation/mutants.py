"""Mutants: faults patched into the real code, which the job simulation must catch.

The name of a mutant completes the sentence "a worker that ...".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from duetime.api import jobs
from duetime.model.clock import MICROSECOND, maybe_micros
from duetime.model.jobs.change import AppliedJobChange, FoundJob, JobChange
from duetime.model.jobs.edit import arm, pause_job, resume_job, retire_job, seed_job
from duetime.model.jobs.job import rule_of
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.occurrence import OccurrenceBuilder
from duetime.model.jobs.selectors import ByName, DueJobs
from duetime.model.jobs.ticks import apply_ticks
from duetime.model.jobs.view import JobView
from duetime.store.memory.jobs import MemoryJobs
from duetime.store.memory.store import MemoryStore
from duetime.store.memory.tables import Tables
from duetime.worker import seeder, ticker
from duetime.worker.seeder import Seeder
from duetime.worker.ticker import Ticker
from patching import Patch

FINISH = Tables.finish
CHANGE = MemoryJobs._apply_change
UNFINISHED = MemoryJobs._unfinished
DECIDE = Ticker._decide
END_JOBS = MemoryStore._end_jobs


def finish_and_forget(self: Any, record: Any) -> None:
    FINISH(self, record)
    if record.job is not None and record.tick is not None:
        self.forget_tick(record.job, record.tick)


async def advance_then_insert(self: Any) -> int:
    """Use two transactions; a crash or a lost request may leave only the first."""
    late: dict[str, JobChange] = {}

    def advance(found: FoundJob) -> JobChange | None:
        change = DECIDE(self, found)
        if change is None:
            return None
        late[found.name] = change
        return replace(change, occurrences=())

    due = DueJobs(self._app, self._batch, frozenset(self._undecidable))
    sent = self._clock.monotonic()
    edited = await self._store.perform(self._store.edit_jobs(due, advance))
    self._clock.observe(edited.now, sent)
    self.next_tick = edited.next_tick
    if late:
        by_name = ByName(tuple(sorted(late)))
        insert = self._store.edit_jobs(by_name, lambda found: late[found.name])
        await self._store.perform(insert)
    return len(edited.changes)


def rearm_by_own_clock(self: Any, found: FoundJob) -> JobChange | None:
    change = DECIDE(self, found)
    if change is None:
        return None
    own = self._new_id._clock.now()
    following = maybe_micros(rule_of(change.job).next(own))
    return replace(change, job=replace(change.job, next_due_at=following))


def only_running(self: Any, name: str) -> Any:
    return tuple(action for action in UNFINISHED(self, name) if action.running)


def pause_and_let_wait(*args: Any) -> JobChange | None:
    change = pause_job(*args)
    return None if change is None else replace(change, cancel=())


def seed_and_resume(found: FoundJob, *args: Any) -> JobChange | None:
    change = seed_job(found, *args)
    if change is None:
        return None
    return replace(change, job=arm(change.job.unpaused(), found.now))


def find_no_live_workers(self: Any, app: str, since: int) -> set[str]:
    return set()


def retire_at_once(self: Any, found: FoundJob, before: object) -> JobChange | None:
    return None if self._declared.get(found.name) else retire_job(found, self._tick)


def resume_and_make_up(*args: Any) -> JobChange | None:
    """Run the ticks of the pause after all."""
    change, found = resume_job(*args), args[0]
    if change is None or found.job is None or found.job.paused_at is None:
        return change
    return replace(change, job=arm(change.job, found.job.paused_at))


def tick_without_misfires(
    found: FoundJob, new_id: Any, *args: Any, **options: Any
) -> JobChange | None:
    """Run late ticks as if they were on time."""
    return apply_ticks(found, new_id, 1e6)


def all_are_once(text: str) -> Misfire:
    return Misfire.once()


def change_twice(self: Any, found: FoundJob, change: JobChange) -> AppliedJobChange:
    """Insert the occurrence of a trigger twice."""
    if change.verb == "trigger":
        again = tuple(
            replace(occurrence, action=occurrence.action._replace(id=self._tokens()))
            for occurrence in change.occurrences
        )
        change = replace(change, occurrences=(*change.occurrences, *again))
    return CHANGE(self, found, change)


def run_at_once(self: Any, tick_: int, *, queued: bool) -> Any:
    return self._due(tick_, None)


def end_twice(self: Any, finishes: Any) -> Any:
    """Count each completion twice."""
    return END_JOBS(self, [*finishes] * 2)


def cancel_triggers_too(*args: Any) -> JobChange | None:
    change, found = pause_job(*args), args[0]
    if change is None:
        return None
    return replace(
        change, cancel=tuple(action.id for action in found.unfinished if not action.running)
    )


def leave_removed_alone(found: FoundJob, *args: Any) -> JobChange | None:
    job = found.job
    return None if job is not None and job.removed_at is not None else seed_job(found, *args)


def newest_id(found: FoundJob) -> UUID | None:
    """Return the newest id; ids contain clocks that are up to an hour off."""
    return max((action.id for action in found.unfinished), default=None)


def backfill_due_ticks(view: JobView, first: datetime, last: datetime) -> list[datetime]:
    """Backfill due ticks that the workers have not handled yet."""
    return rule_of(view.job).between(first - MICROSECOND, last - MICROSECOND, 1000)


MUTANTS: Mapping[str, list[Patch]] = {
    "forgets a tick when its action ends": [(Tables, "finish", finish_and_forget)],
    "advances before it inserts": [(Ticker, "tick", advance_then_insert)],
    "arms by its own clock": [(Ticker, "_decide", rearm_by_own_clock)],
    "lets unstarted occurrences overlap": [(MemoryJobs, "_unfinished", only_running)],
    "pauses without cancelling what waits": [(jobs, "pause_job", pause_and_let_wait)],
    "pauses and cancels triggers": [(jobs, "pause_job", cancel_triggers_too)],
    "ends a pause when it starts": [(seeder, "seed_job", seed_and_resume)],
    "retires jobs that live workers declare": [
        (MemoryJobs, "_declared_by_live", find_no_live_workers),
        (Seeder, "_retire", retire_at_once),
    ],
    "runs the ticks of a pause": [(jobs, "resume_job", resume_and_make_up)],
    "takes no tick for a misfire": [(ticker, "apply_ticks", tick_without_misfires)],
    "catches up only the newest tick": [(Misfire, "from_text", staticmethod(all_are_once))],
    "triggers twice": [(MemoryJobs, "_apply_change", change_twice)],
    "lets everything overlap": [(OccurrenceBuilder, "_run", run_at_once)],
    "counts an end twice": [(MemoryStore, "_end_jobs", end_twice)],
    "does not update removed jobs": [(seeder, "seed_job", leave_removed_alone)],
    "backfills due ticks": [(jobs, "backfill_ticks", backfill_due_ticks)],
    "queues behind the newest id": [(FoundJob, "queue_tail", property(newest_id))],
}
