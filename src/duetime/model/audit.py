"""The audit log: who changed which subject, and its fields before and after."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.clock import from_micros, nearest_micros
from duetime.model.tenant import ANY, Scope

# The verbs that write an entry.
AUDITED_VERBS = (
    *("schedule", "replace", "cancel", "reschedule", "retry", "repeat", "bulk", "erase"),
    "sweep",
    *("put", "pause", "resume", "trigger", "remove", "restore", "backfill"),
    *("set", "create", "revoke", "sign-in", "sign-out", "refuse"),
    *("subscribe", "ask-to-confirm", "confirm", "change", "mute", "unmute", "test", "unsubscribe"),
)
# The fields of snapshots that are stored as microseconds since 1970.
INSTANTS = frozenset(
    {"due_at", "after_at", "next_due_at", "paused_until", "expires_at", "muted_until"}
)
MAX_FIELDS_NAMED = 50
DIGEST_LENGTH = 16
DIGEST_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class StoredAuditEntry:
    """An administrative change, written in its transaction and never modified."""

    id: UUID
    at: int
    by: str
    tenant: str | None
    verb: str
    subject: str
    subject_id: str
    before: Mapping[str, object]
    after: Mapping[str, object]
    note: str | None = None
    source: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An administrative change as users see it.

    `subject` is "action", "job", "queue", "transition", "bulk", "erase", "grant", "api-key",
    "link", "session", "subscription" or "request", `subject_id` the action's id, the name of the
    job or the queue, `Model.column`, the id of the bulk, the erasure, the grant, key, link, session
    or subscription, or the route of the request.
    """

    id: UUID
    at: datetime
    by: str
    tenant: str | None
    verb: str
    subject: str
    subject_id: str
    before: Mapping[str, object]
    after: Mapping[str, object]
    note: str | None
    source: str | None
    address: str | None


def as_audit_entry(stored: StoredAuditEntry) -> AuditEntry:
    return AuditEntry(
        stored.id,
        from_micros(nearest_micros(stored.at)),
        stored.by,
        stored.tenant,
        stored.verb,
        stored.subject,
        stored.subject_id,
        _readable(stored.before),
        _readable(stored.after),
        stored.note,
        stored.source,
        stored.address,
    )


def _readable(snapshot: Mapping[str, object]) -> Mapping[str, object]:
    """Return a snapshot with its instants as datetimes, and without values of payloads."""
    return {name: _readable_value(name, value) for name, value in snapshot.items()}


def _readable_value(name: str, value: object) -> object:
    if name == "payload" and not str(value).startswith(DIGEST_PREFIX):
        # Earlier versions wrote a job's payload as it was.
        return payload_digest(value if isinstance(value, str) else json.dumps(value))
    return _instant(value) if name in INSTANTS and isinstance(value, int) else value


def _instant(micros: int) -> object:
    try:
        return from_micros(micros)
    except OverflowError:
        # The row was damaged when the entry was written.
        return micros


# When an entry was written, and its id: newest first, an entry follows those that are larger.
AuditPosition = tuple[int, UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Matches entries by every field that is not None, `since` <= at < `before`; newest first.

    `follows` is the last entry of the previous page.
    """

    subject_id: str | None = None
    by: str | None = None
    verb: str | None = None
    tenant: Scope = ANY
    since: int | None = None
    before: int | None = None
    follows: AuditPosition | None = None
    limit: int = 50


def to_audit_cursor(last: StoredAuditEntry, wanted: AuditFilter) -> str:
    """Return the cursor of the page after an entry. It holds a hash of the filter."""
    data = last.at.to_bytes(8, "big", signed=True) + last.id.bytes + _filter_hash(wanted)
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_audit_cursor(cursor: str, wanted: AuditFilter) -> AuditPosition:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True)
        position = int.from_bytes(data[:8], "big", signed=True), UUID(bytes=data[8:24])
    except (ValueError, TypeError):
        raise InvalidArgument(
            "cursor", cursor, "pass the next_cursor of a page unchanged"
        ) from None
    if data[24:] != _filter_hash(wanted):
        raise InvalidArgument(
            "cursor", cursor, "it belongs to another filter: pass the arguments of its page again"
        )
    return position


def _filter_hash(wanted: AuditFilter) -> bytes:
    parts = replace(wanted, follows=None, limit=0)
    return hashlib.sha256(repr(parts).encode()).digest()[:6]


def payload_digest(payload: str) -> str:
    """Return what an audit entry shows of a payload, never its values."""
    return f"{DIGEST_PREFIX}{hashlib.sha256(payload.encode()).hexdigest()[:DIGEST_LENGTH]}"


def changed_fields(before: str, after: str) -> list[str]:
    """Return the names of the top-level fields in which two payloads differ."""
    old, new = _fields(before), _fields(after)
    changed = (name for name in {**old, **new} if _field(old, name) != _field(new, name))
    return sorted(changed)[:MAX_FIELDS_NAMED]


def _fields(payload: str) -> Mapping[str, object]:
    try:
        data = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _field(fields: Mapping[str, object], name: str) -> object:
    """Return a field as JSON, which tells 1 from true; None if the payload lacks it."""
    return json.dumps(fields[name]) if name in fields else None
