"""Converts rows of the database to values of the model: actions, runs, claims, leases and jobs.

Rows are positional: the order of columns here is the order in the `.sql` files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from duetime.errors import UnreadableRow
from duetime.logs import get_log
from duetime.model.actions.action import Record, StoredRun, to_record
from duetime.model.actions.action_key import KeyMatch
from duetime.model.actions.claim import Claim, Expired, LaneHead, SweepResult
from duetime.model.actions.completion import Finish
from duetime.model.audit import StoredAuditEntry
from duetime.model.ids import fast_uuid
from duetime.model.jobs.change import JobUpdate, Unfinished
from duetime.model.jobs.edit import replayed_alert
from duetime.model.jobs.job import JobRecord
from duetime.model.jobs.serialize import of_text
from duetime.model.pause import QueuePause
from duetime.model.state import Outcome, State
from duetime.model.validation import is_storable
from duetime.store.flow import Row, Rows

RECORD_WIDTH = 38

# On SQLite the last 48 bits of a token are the rowid of its action.
ROWID_BITS = 48
ROWID_MASK = (1 << ROWID_BITS) - 1


def record(row: Row) -> Record:
    """Read the first RECORD_WIDTH columns: `_action_columns.sql` or `_history_columns.sql`."""
    value: list[Any] = list(row[:RECORD_WIDTH])
    value[0] = UUID(value[0])
    value[4] = State(value[4])
    value[14] = _maybe_uuid(value[14])
    value[21] = outcome(value[21])
    value[25] = _maybe_uuid(value[25])
    return to_record(*value)


def key_match(row: Row) -> KeyMatch:
    """Read a row of `_unfinished_by_key.sql` or `_finished_by_key.sql`."""
    action_id, tenant, finished = cast("Any", row)
    return KeyMatch(UUID(action_id), tenant, bool(finished))


def claims(found: Iterable[Row]) -> list[Claim]:
    """Read rows of PostgreSQL's `claim.sql`, whose first columns are the clock and the turn.

    It calls no Python function for each row, which takes a third of the time of `Claim._make`.
    """
    return [*map(_AS_CLAIM, map(_AFTER_TURN, cast("Any", found)))]


_AFTER_TURN = itemgetter(slice(2, None))
_AS_CLAIM = partial(tuple.__new__, Claim)


def numbered_claims(tokens: str, found: Iterable[Sequence[Any]]) -> list[Claim]:
    """Read rows of SQLite's `claim_candidates.sql`, with the tokens that `claim.sql` writes."""
    found = list(found)
    require_integers(chain.from_iterable(map(_INTEGERS_OF_CANDIDATE, found)))
    require_maybe_integers(chain.from_iterable(map(_MAYBE_INTEGERS_OF_CANDIDATE, found)))
    first = int(tokens, 16) << ROWID_BITS
    return [
        Claim._make(
            (
                fast_uuid(int(row[1].replace("-", ""), 16)),
                fast_uuid(first | row[0] & ROWID_MASK),
                *row[2:],
            )
        )
        for row in found
    ]


# version, due_at, attempt, base_attempt and losses of a row of `claim_candidates.sql`.
_INTEGERS_OF_CANDIDATE = itemgetter(3, 8, 9, 10, 11)
# tick and expires_at.
_MAYBE_INTEGERS_OF_CANDIDATE = itemgetter(14, 16)


def require_integers(values: Iterable[object]) -> None:
    """Raise UnreadableRow for a value of another type, which a column of SQLite may hold."""
    _require(_INTEGER, values)


def require_maybe_integers(values: Iterable[object]) -> None:
    _require(_INTEGER_OR_NONE, values)


def require_texts(values: Iterable[object]) -> None:
    """Raise UnreadableRow for a value that is neither a text nor None."""
    _require(_TEXT_OR_NONE, values)


def require_storable(values: Sequence[object]) -> None:
    """Raise UnreadableRow for a value that is no text, or one that duetime stores nowhere."""
    require_texts(values)
    if not all(value is None or is_storable(cast("str", value)) for value in values):
        raise UnreadableRow("a text holds NUL, or is no UTF-8")


_INTEGER: frozenset[type] = frozenset({int})
_INTEGER_OR_NONE: frozenset[type] = frozenset({int, type(None)})
_TEXT_OR_NONE: frozenset[type] = frozenset({str, type(None)})


def _require(types: frozenset[type], values: Iterable[object]) -> None:
    others = {*map(type, values)} - types
    if others:
        found = ", ".join(sorted(other.__name__ for other in others))
        raise UnreadableRow(
            f"a row holds a value of another type than its column ({found}): it was written by "
            "other means than duetime; calls without connection= repair it, and log what it held"
        )


def stored_run(row: Row) -> StoredRun:
    value: list[Any] = list(row)
    value[0] = UUID(value[0])
    value[1] = UUID(value[1])
    value[8] = outcome(value[8])
    return StoredRun(*value)


def with_tracebacks(runs: Sequence[StoredRun], kept: Rows) -> list[StoredRun]:
    """Return the runs, the one that failed last with its traceback."""
    by_run = {UUID(str(run_id)): str(text) for run_id, text in kept}
    return [replace(run, traceback=by_run[run.id]) if run.id in by_run else run for run in runs]


def audit_entry(row: Row) -> StoredAuditEntry:
    value: list[Any] = list(row)
    require_texts((*value[2:7], *value[9:]))
    require_integers((value[1],))
    value[0] = UUID(value[0])
    value[7:9] = [_snapshot(text) for text in value[7:9]]
    return StoredAuditEntry(*value)


def _snapshot(text: object) -> Mapping[str, object]:
    """Return what an entry says of its subject, or the text itself if it is none of ours."""
    require_texts((text,))
    try:
        stored = json.loads(cast("str", text))
    except (ValueError, RecursionError):
        stored = None
    return stored if isinstance(stored, dict) else {"unreadable": text}


def sweep_result(row: Row, paused: object) -> SweepResult:
    """Read a row of `sweep.sql` or `look_ahead.sql`, and its column of paused queues."""
    now, lanes, leases, _, parents = cast("Any", row)[:5]
    return SweepResult(
        now,
        lane_heads(json.loads(lanes or "[]")),
        [expired_lease(lease) for lease in json.loads(leases or "[]")],
        [UUID(parent) for parent in json.loads(parents or "[]")],
        paused=paused_queues(paused),
    )


def paused_queues(text: object) -> dict[str, int | None]:
    """Read `_paused_queues.sql`."""
    return dict(json.loads(cast("str", text or "[]")))


def queue_pause(row: Row) -> QueuePause | None:
    """Read the row of a queue; None if it is not paused."""
    queue, paused_at, paused_by, note, until = cast("Any", row)
    if paused_at is None:
        return None
    require_texts((queue, paused_by, note))
    require_maybe_integers((paused_at, until))
    return QueuePause(queue, paused_at, paused_by, note, until)


def lane_heads(found: Iterable[Sequence[Any]]) -> list[LaneHead]:
    heads = [LaneHead(lane, next_due) for lane, next_due in found]
    require_integers(head.next_due for head in heads if head.next_due is not None)
    return heads


def expired_lease(row: Row) -> Expired:
    value = cast("Any", row)
    require_integers((value[3], value[5]))
    return Expired(as_uuid(value[0]), as_uuid(value[1]), *value[2:])


def as_uuid(value: UUID | str) -> UUID:
    return UUID(value) if isinstance(value, str) else value


def parse_id_array(array: str | None) -> set[UUID]:
    """Read an array of ids in PostgreSQL's text form, which all drivers return alike."""
    return set() if array is None else {UUID(id_) for id_ in array[1:-1].split(",")}


def outcome(text: str | None) -> Outcome | None:
    """Return the outcome; None for one that no version of duetime wrote."""
    return Outcome(text) if text in _OUTCOMES else None


_OUTCOMES = frozenset(Outcome)


def _maybe_uuid(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)


log = get_log("duetime.store")


@dataclass(frozen=True, slots=True)
class LockedJobs:
    """Jobs that this transaction has locked, the store's clock, and the names of jobs that other
    transactions have locked."""

    by_name: Mapping[str, JobRecord]
    now: int
    busy: frozenset[str]

    def replayed_ends(self, finishes: Iterable[Finish]) -> list[JobUpdate]:
        """Return the job updates to report again for finishes that were applied earlier."""
        jobs = ((self.by_name.get(finish.job or ""), finish) for finish in finishes)
        updates = (replayed_alert(job, finish) for job, finish in jobs if job is not None)
        return [update for update in updates if update is not None]


NO_LOCKED_JOBS = LockedJobs({}, 0, frozenset())


def readable_jobs(found: Rows) -> dict[str, JobRecord]:
    """Return jobs by name, without those that this version cannot read: another version may have
    written them."""
    read, unreadable = split_readable(found)
    for name, error in unreadable.items():
        log.error("job %s cannot be read by this version and is skipped: %s", name, error)
    return read


# What reading a job raises if its text was damaged, or written by another version.
UNREADABLE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def split_readable(found: Rows) -> tuple[dict[str, JobRecord], dict[str, Exception]]:
    """Return the jobs that this version can read, and the errors of the others."""
    read: dict[str, JobRecord] = {}
    unreadable: dict[str, Exception] = {}
    for record, _, name in cast("Any", found):
        try:
            job = of_text(record)
            if job.name != name:
                raise ValueError(f"it calls itself {job.name!r}")
            read[name] = job
        except UNREADABLE_ERRORS as error:
            unreadable[name] = error
    return read, unreadable


def job_names(found: Rows) -> set[str]:
    """Return the names of all jobs, readable or not."""
    return {cast("str", row[2]) for row in found}


def unfinished_occurrence(row: Row) -> tuple[str, Unfinished]:
    job, action_id, running, after, *rest = cast("Any", row)
    waits_for = None if after is None else as_uuid(after)
    return job, Unfinished(as_uuid(action_id), bool(running), waits_for, *rest)
