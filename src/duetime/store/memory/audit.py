"""The audit log of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.actions.state_changes import audit_snapshot
from duetime.model.audit import AuditFilter, StoredAuditEntry
from duetime.model.ids import NewId
from duetime.store.base import Store
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryAudit(Store, ABC):
    """Writes and finds audit entries."""

    _tables: Tables
    _ids: NewId

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def audit(self, wanted: AuditFilter) -> list[StoredAuditEntry]:
        return self._tables.matching_audit(wanted)[: wanted.limit]

    @immediate
    def audit_schedules(self, created: Sequence[Record], act: Act) -> None:
        for record in created:
            entries = self._tables.audit.get(str(record.id), ())
            if record.id not in {entry.id for entry in entries}:
                self._tables.add_audit(schedule_entry(record, act))

    def _audit_action(self, verb: str, act: Act, before: Record, after: Record) -> None:
        snapshots = audit_snapshot(before), audit_snapshot(after) | act.link
        self._audit(verb, act, subject_of(before), before.tenant, *snapshots)

    def _audit(
        self,
        verb: str,
        act: Act,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None:
        entry = StoredAuditEntry(
            self._ids(),
            self._now(),
            act.by,
            tenant,
            verb,
            *subject,
            before,
            after,
            act.note,
            act.source,
            act.address,
        )
        self._tables.add_audit(entry)


def schedule_entry(record: Record, act: Act) -> StoredAuditEntry:
    """Return the entry of an action that was just added, under the id of the action."""
    return StoredAuditEntry(
        record.id,
        record.created_at,
        record.created_by,
        record.tenant,
        "schedule",
        *subject_of(record),
        {},
        audit_snapshot(record),
        act.note,
        act.source,
        act.address,
    )


def subject_of(record: Record) -> tuple[str, str]:
    return "action", str(record.id)
