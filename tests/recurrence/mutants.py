"""Faults planted in the real code: a book that does not notice them is too kind.

Each mutant names the line of thought it breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from duetime.api import jobs
from duetime.model.clock import MICROSECOND, maybe_micros
from duetime.model.jobs.change import Change, Changed, Found
from duetime.model.jobs.edit import armed, paused, resumed, retired, seeded
from duetime.model.jobs.job import rule_of
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.selectors import Due, Named
from duetime.model.jobs.ticks import Making, ticked
from duetime.model.jobs.view import JobView
from duetime.store.memory.jobs import MemoryJobs
from duetime.store.memory.store import MemoryStore
from duetime.store.memory.tables import Rows
from duetime.worker import seeder, ticker
from duetime.worker.seeder import Seeder
from duetime.worker.ticker import Ticker
from planting import Patch

FINISH = Rows.finish
CHANGE = MemoryJobs._change
UNFINISHED = MemoryJobs._unfinished
DECIDE = Ticker._decide
END_JOBS = MemoryStore._end_jobs


def finish_and_forget(self: Any, record: Any) -> None:
    FINISH(self, record)
    if record.job is not None and record.tick is not None:
        self.forget_tick(record.job, record.tick)


async def advance_then_insert(self: Any) -> int:
    """Two transactions, of which a crash or a lost request may leave only the first."""
    late: dict[str, Change] = {}

    def advance(found: Found) -> Change | None:
        change = DECIDE(self, found)
        if change is None:
            return None
        late[found.name] = change
        return replace(change, occurrences=())

    due = Due(self._app, self._batch, frozenset(self._left))
    sent = self._time.monotonic()
    edited = await self._store.perform(self._store.edit_jobs(due, advance))
    self._time.heard(edited.now, sent)
    self.next_tick = edited.next_tick
    if late:
        named = Named(tuple(sorted(late)))
        insert = self._store.edit_jobs(named, lambda found: late[found.name])
        await self._store.perform(insert)
    return len(edited.changes)


def rearm_by_own_clock(self: Any, found: Found) -> Change | None:
    change = DECIDE(self, found)
    if change is None:
        return None
    own = self._new_id._clock.now()
    following = maybe_micros(rule_of(change.job).next(own))
    return replace(change, job=replace(change.job, next_due_at=following))


def only_running(self: Any, name: str) -> Any:
    return tuple(one for one in UNFINISHED(self, name) if one.running)


def pause_and_let_wait(*args: Any) -> Change | None:
    change = paused(*args)
    return None if change is None else replace(change, cancel=())


def seed_and_resume(found: Found, *args: Any) -> Change | None:
    change = seeded(found, *args)
    if change is None:
        return None
    return replace(change, job=armed(change.job.unpaused(), found.now))


def know_nobody(self: Any, app: str, since: int) -> set[str]:
    return set()


def retire_at_once(self: Any, found: Found, before: object) -> Change | None:
    return None if self._declared.get(found.name) else retired(found, self._tick)


def resume_and_make_up(*args: Any) -> Change | None:
    """Ticks of the pause come after all."""
    change, found = resumed(*args), args[0]
    if change is None or found.job is None or found.job.paused_at is None:
        return change
    return replace(change, job=armed(change.job, found.job.paused_at))


def tick_without_misfires(found: Found, new_id: Any, *args: Any, **how: Any) -> Change | None:
    """What is late just runs."""
    return ticked(found, new_id, 1e6)


def all_are_once(text: str) -> Misfire:
    return Misfire.once()


def change_twice(self: Any, found: Found, change: Change) -> Changed:
    """A trigger whose reply is lost is sent again by the driver."""
    if change.verb == "trigger":
        again = tuple(
            replace(one, action=one.action._replace(id=self._tokens()))
            for one in change.occurrences
        )
        change = replace(change, occurrences=(*change.occurrences, *again))
    return CHANGE(self, found, change)


def run_at_once(self: Any, tick_: int, *, queued: bool) -> Any:
    return self._due(tick_, None)


def end_twice(self: Any, finishes: Any) -> Any:
    """Endings that were sent again count again."""
    some = [*finishes]
    return END_JOBS(self, [*some, *some])


def cancel_triggers_too(*args: Any) -> Change | None:
    change, found = paused(*args), args[0]
    if change is None:
        return None
    return replace(change, cancel=tuple(one.id for one in found.unfinished if not one.running))


def leave_removed_alone(found: Found, *args: Any) -> Change | None:
    job = found.job
    return None if job is not None and job.removed_at is not None else seeded(found, *args)


def newest_id(found: Found) -> UUID | None:
    """By the clocks of whoever made them, which err by an hour."""
    return max((one.id for one in found.unfinished), default=None)


def miss_what_is_due(view: JobView, first: datetime, last: datetime) -> list[datetime]:
    """A backfill takes what the workers have not dealt with yet."""
    return rule_of(view.job).between(first - MICROSECOND, last - MICROSECOND, 1000)


MUTANTS: Mapping[str, list[Patch]] = {
    "forgets a tick when its action ends": [(Rows, "finish", finish_and_forget)],
    "advances before it inserts": [(Ticker, "tick", advance_then_insert)],
    "arms by its own clock": [(Ticker, "_decide", rearm_by_own_clock)],
    "lets overlap what has not started": [(MemoryJobs, "_unfinished", only_running)],
    "pauses and lets run what waits": [(jobs, "paused", pause_and_let_wait)],
    "pauses and cancels triggers": [(jobs, "paused", cancel_triggers_too)],
    "ends a pause when it starts": [(seeder, "seeded", seed_and_resume)],
    "retires what live workers declare": [
        (MemoryJobs, "_known", know_nobody),
        (Seeder, "_retire", retire_at_once),
    ],
    "makes up what fell in a pause": [(jobs, "resumed", resume_and_make_up)],
    "takes no tick for a misfire": [(ticker, "ticked", tick_without_misfires)],
    "makes up only the newest": [(Misfire, "from_text", staticmethod(all_are_once))],
    "triggers twice": [(MemoryJobs, "_change", change_twice)],
    "lets everything overlap": [(Making, "_run", run_at_once)],
    "counts an end twice": [(MemoryStore, "_end_jobs", end_twice)],
    "does not tell removed jobs what the code says": [(seeder, "seeded", leave_removed_alone)],
    "backfills what is due": [(jobs, "missed", miss_what_is_due)],
    "queues up behind the newest id": [(Found, "last", property(newest_id))],
}
