"""A job as a store keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from duetime.model.recurrence.base import Recurrence
from duetime.model.recurrence.serialize import from_text
from duetime.model.state import Outcome

if TYPE_CHECKING:
    from pydantic import ConfigDict

# What is read from a store says so if a newer version wrote more than is known here.
STRICT: ConfigDict = {"extra": "forbid"}


class Overlap(StrEnum):
    """What becomes of a tick that finds an occurrence unfinished."""

    skip = "skip"
    queue = "queue"
    allow = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What code, or `put`, says of a job: instants in microseconds, rules and data as text."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as stored. `next_due_at` is its next tick; None while it has none."""

    __pydantic_config__ = STRICT

    definition: Definition
    app: str
    # By code; otherwise by `put`.
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
    # Since when it is told to be failing, and by which end it was told to be, or not to be.
    failing_since: int | None = None
    told_by: str | None = None
    triggered_by: str | None = None
    paused_at: int | None = None
    paused_by: str | None = None
    pause_note: str | None = None
    paused_until: int | None = None
    retired_at: int | None = None
    removed_at: int | None = None
    # The text it was read from, if a newer version wrote more in it than is understood here.
    read_from: str | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def tenant(self) -> str | None:
        return self.definition.tenant

    def paused(self, now: int) -> bool:
        until = self.paused_until
        return self.paused_at is not None and (until is None or now < until)

    def over(self, now: int) -> bool:
        """Whether no tick will come, though nobody keeps it from coming."""
        kept = self.removed_at is not None or self.retired_at is not None or self.paused(now)
        return self.next_due_at is None and not kept

    def unpaused(self) -> JobRecord:
        if self.paused_at is None:
            return self
        return replace(self, paused_at=None, paused_by=None, pause_note=None, paused_until=None)


def rule_of(job: JobRecord) -> Recurrence:
    return rule_in(job.definition)


def rule_in(definition: Definition) -> Recurrence:
    return _rule(definition.recurrence, definition.tz)


@lru_cache(maxsize=4096)
def _rule(text: str, tz: str) -> Recurrence:
    return from_text(text, tz)


def told(job: JobRecord | None) -> dict[str, object]:
    """What an audit entry says of a job before or after an act."""
    if job is None:
        return {}
    definition = job.definition
    return {
        "recurrence": definition.recurrence,
        "tz": definition.tz,
        "kind": definition.kind,
        "payload": definition.payload,
        "queue": definition.queue,
        "priority": definition.priority,
        "misfire": definition.misfire,
        "overlap": definition.overlap.value,
        "jitter": definition.jitter,
        "alert_after": definition.alert_after,
        "version": job.version,
        "paused": job.paused_at is not None,
        "pause_note": job.pause_note,
        "paused_until": job.paused_until,
        "removed": job.removed_at is not None,
        "next_due_at": job.next_due_at,
    }
