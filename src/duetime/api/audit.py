"""The verb of the audit log: checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operation.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from duetime.api.arguments import MAX_NAME_LENGTH, TenantArgument, to_scope
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.actions.action import Page
from duetime.model.audit import (
    AUDITED_VERBS,
    AuditEntry,
    AuditFilter,
    StoredAuditEntry,
    as_audit_entry,
    from_audit_cursor,
    to_audit_cursor,
)
from duetime.model.clock import to_micros
from duetime.model.filter import page_limit
from duetime.model.jobs.name import MAX_JOB_NAME_LENGTH
from duetime.model.tenant import AMBIENT
from duetime.model.validation import check_name, check_optional, instant
from duetime.registry.runtime import AppRuntime


class AuditVerbs:
    """Builds the operations of one app's audit log."""

    def __init__(self, runtime: AppRuntime) -> None:
        self.runtime = runtime
        self._store = runtime.store

    def find(
        self,
        *,
        subject: UUID | str | None = None,
        by: str | None = None,
        verb: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Page[AuditEntry]]:
        """The entries that match, newest first, a page at a time. `subject` is an action's id or
        the name of a job or a queue; `since` is included, `before` is not."""
        size = page_limit(limit)
        wanted = AuditFilter(
            subject_id=None if subject is None else _to_subject(subject),
            by=check_optional("by", by, MAX_NAME_LENGTH),
            verb=None if verb is None else _to_verb(verb),
            tenant=to_scope(tenant),
            since=None if since is None else to_micros(instant("since", since)),
            before=None if before is None else to_micros(instant("before", before)),
            limit=size + 1,
        )
        if cursor is not None:
            wanted = replace(wanted, follows=from_audit_cursor(cursor, wanted))

        def page(entries: list[StoredAuditEntry]) -> Page[AuditEntry]:
            items = [as_audit_entry(entry) for entry in entries[:size]]
            more = len(entries) > size
            return Page(items, to_audit_cursor(entries[size - 1], wanted) if more else None)

        return Operation(self._store.audit(wanted), page, connection=connection)


def _to_subject(subject: UUID | str) -> str:
    """Return the id of an action as it is stored, or the name of a job."""
    if isinstance(subject, UUID):
        return str(subject)
    if not isinstance(subject, str):
        raise InvalidArgument("subject", subject, "give an action's id or a job's name")
    try:
        return str(UUID(subject))
    except ValueError:
        return check_name("subject", subject, MAX_JOB_NAME_LENGTH)


def _to_verb(verb: str) -> str:
    if verb not in AUDITED_VERBS:
        hint = did_you_mean(str(verb), AUDITED_VERBS)
        raise InvalidArgument("verb", verb, f"give one of {', '.join(AUDITED_VERBS)}{hint}")
    return verb
