"""The audit log, for all SQL stores: found by filter, and written by the verbs that change."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from uuid import UUID

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.actions.state_changes import audit_snapshot
from duetime.model.audit import AuditFilter, StoredAuditEntry
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows import records
from duetime.store.sql.statements.bulk_rows import json_param

AuditRow = Mapping[str, object]


class AuditFlows(Store, ABC):
    """The flow of `audit`."""

    @flow(Mode.read)
    def audit(self, wanted: AuditFilter) -> Steps[list[StoredAuditEntry]]:
        follows_at, follows_id = wanted.follows or (None, None)
        params = {
            "subject_id": wanted.subject_id,
            "by": wanted.by,
            "verb": wanted.verb,
            "tenant": wanted.tenant if isinstance(wanted.tenant, str) else None,
            "untenanted": wanted.tenant is None or None,
            "audited_since": wanted.since,
            "audited_before": wanted.before,
            "follows_at": follows_at,
            "follows_id": None if follows_id is None else str(follows_id),
            "limit": wanted.limit,
        }
        return [records.audit_entry(row) for row in (yield Statement("audit", params))]

    @flow(Mode.write, resend=True)
    def audit_schedules(self, created: Sequence[Record], act: Act) -> Steps[None]:
        for by, actions in groupby(sorted(created, key=_actor), key=_actor):
            yield _insert_schedule_entries(by, list(actions), act)


def _actor(record: Record) -> str:
    return record.created_by


def _insert_schedule_entries(by: str, created: Sequence[Record], act: Act) -> Statement:
    rows = [audit_row(r.id, r.tenant, str(r.id), {}, audit_snapshot(r)) for r in created]
    return insert_audit(
        "schedule", replace(act, by=by), created[0].created_at, rows, name="audit_add_new"
    )


def audit_row(
    entry_id: UUID,
    tenant: str | None,
    subject_id: str,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> AuditRow:
    """Return an entry as a row of `insert_audit`, whose statement keeps the snapshots as JSON."""
    return {
        "id": entry_id,
        "tenant": tenant,
        "subject_id": subject_id,
        "before": before,
        "after": after,
    }


def insert_audit(
    verb: str,
    act: Act,
    now: int,
    rows: Sequence[AuditRow],
    subject: str = "action",
    name: str = "audit_add",
) -> Statement:
    who = {"by": act.by, "note": act.note, "source": act.source, "address": act.address}
    what = {"verb": verb, "now": now, "subject": subject, "rows": json_param(rows)}
    return Statement(name, {**who, **what})
