"""Jobs as a store keeps them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from duetime.model.audit import changed_fields, payload_digest
from duetime.model.clock import from_micros, seconds_of
from duetime.model.recurrence.base import BEGINNING, END, Recurrence
from duetime.model.recurrence.serialize import from_text
from duetime.model.recurrence.within import Within
from duetime.model.state import Outcome

if TYPE_CHECKING:
    from pydantic import ConfigDict

# Keys of a stored job that differ from the names of their fields.
STORED_KEYS = {"alert_token": "told_by"}


def stored_key(field: str) -> str:
    """Return the key under which a field of a job is stored."""
    return STORED_KEYS.get(field, field)


# Unknown keys are errors, by which a text that a newer version wrote is recognised.
STRICT: ConfigDict = {"extra": "forbid", "alias_generator": stored_key}


class Overlap(StrEnum):
    """How a tick is treated while an earlier occurrence is unfinished."""

    skip = "skip"
    queue = "queue"
    allow = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """A job as code or `put` defines it: durations in microseconds, rules and data as text."""

    __pydantic_config__ = STRICT

    name: str
    kind: str
    payload_version: int
    payload: str
    recurrence: str
    tz: str
    queue: str
    priority: int
    misfire: str
    overlap: Overlap
    jitter: int
    alert_after: int
    retry: str | None
    tenant: str | None
    # Left out of the stored text where they are None: see `serialize.py`.
    misfire_after: int | None = None
    starts_at: int | None = None
    ends_at: int | None = None
    timeout: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as stored, with instants in microseconds; `next_due_at` is its next tick, if any."""

    __pydantic_config__ = STRICT

    definition: JobDefinition
    app: str
    # Whether code defines the job; otherwise `put` does.
    declared: bool
    version: int
    created_at: int
    created_by: str
    modified_at: int | None = None
    modified_by: str | None = None
    next_due_at: int | None = None
    last_tick: int | None = None
    last_started_at: int | None = None
    last_finished_at: int | None = None
    last_outcome: Outcome | None = None
    consecutive_failures: int = 0
    last_error: str | None = None
    # When the failing alert was raised, and the token of the run that raised or cleared it.
    failing_since: int | None = None
    alert_token: str | None = None
    triggered_by: str | None = None
    paused_at: int | None = None
    paused_by: str | None = None
    pause_note: str | None = None
    paused_until: int | None = None
    retired_at: int | None = None
    removed_at: int | None = None
    # The text that the job was read from, if it has keys that only a newer version knows.
    read_from: str | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def tenant(self) -> str | None:
        return self.definition.tenant

    @property
    def failing(self) -> bool:
        """Whether it failed so often in a row that the alert was raised, and is not cleared."""
        return self.failing_since is not None

    def paused(self, now: int) -> bool:
        until = self.paused_until
        return self.paused_at is not None and (until is None or now < until)

    def exhausted(self, now: int) -> bool:
        """Whether the rule has no further tick: the job is not removed, retired or paused."""
        stopped = self.removed_at is not None or self.retired_at is not None or self.paused(now)
        return self.next_due_at is None and not stopped

    def unpaused(self) -> JobRecord:
        if self.paused_at is None:
            return self
        return replace(self, paused_at=None, paused_by=None, pause_note=None, paused_until=None)


def misfire_after_of(job: JobRecord, default: float) -> float:
    """Return how many seconds late a tick of the job may be and still run."""
    own = job.definition.misfire_after
    return default if own is None else seconds_of(own)


def rule_of(job: JobRecord) -> Recurrence:
    """Return the rule of a job. Raises InvalidRecurrence if its text cannot be read."""
    return rule_of_definition(job.definition)


def rule_of_definition(definition: JobDefinition) -> Recurrence:
    """Return the rule, without the ticks before `starts_at` and after `ends_at`."""
    rule = _rule(definition.recurrence, definition.tz)
    start, end = definition.starts_at, definition.ends_at
    if start is None and end is None:
        return rule
    first = BEGINNING if start is None else from_micros(start)
    return Within(rule, first, END if end is None else from_micros(end))


@lru_cache(maxsize=4096)
def _rule(text: str, tz: str) -> Recurrence:
    return from_text(text, tz)


def audit_snapshots(
    before: JobRecord | None, after: JobRecord
) -> tuple[dict[str, object], dict[str, object]]:
    """Return what an audit entry records of a job before and after a change: of the payload its
    digest and the names of the changed fields, never a value."""
    snapshots = _audit_snapshot(before), _audit_snapshot(after)
    if before is not None:
        names = changed_fields(before.definition.payload, after.definition.payload)
        if names:
            snapshots[1]["payload_changed"] = names
    return snapshots


def _audit_snapshot(job: JobRecord | None) -> dict[str, object]:
    if job is None:
        return {}
    definition = job.definition
    return {
        "recurrence": definition.recurrence,
        "tz": definition.tz,
        "kind": definition.kind,
        "payload": payload_digest(definition.payload),
        "queue": definition.queue,
        "priority": definition.priority,
        "misfire": definition.misfire,
        "misfire_after": definition.misfire_after,
        "starts_at": definition.starts_at,
        "ends_at": definition.ends_at,
        "overlap": definition.overlap.value,
        "jitter": definition.jitter,
        "alert_after": definition.alert_after,
        "retry": definition.retry,
        "timeout": definition.timeout,
        "version": job.version,
        "paused": job.paused_at is not None,
        "paused_by": job.paused_by,
        "pause_note": job.pause_note,
        "paused_until": job.paused_until,
        "removed": job.removed_at is not None,
        "next_due_at": job.next_due_at,
    }
