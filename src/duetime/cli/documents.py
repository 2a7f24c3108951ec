"""The documents that `--json` prints: instants in UTC, durations in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from pydantic_core import to_jsonable_python

from duetime.api.arguments import DataclassInstance
from duetime.app import Duetime
from duetime.errors import UnknownKind
from duetime.model.actions.action import Action, Page, Run
from duetime.model.audit import AuditEntry
from duetime.model.groups import Groups
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.jobs.view import Job
from duetime.model.notifications.notification import Notification


def page_document(app: Duetime, page: Page[Action]) -> dict[str, Any]:
    items = [action_document(app, action) for action in page]
    return {"items": items, "next_cursor": page.next_cursor}


def action_document(
    app: Duetime,
    action: Action,
    *,
    runs: Sequence[Run] | None = None,
    created: bool | None = None,
) -> dict[str, Any]:
    """The fields of an action, with `runs` and `created` if they are given."""
    values = {f.name: getattr(action, f.name) for f in fields(action) if f.name != "created"}
    values["payload"] = payload_data(app, action.kind, action.payload)
    if created is not None:
        values["created"] = created
    if runs is not None:
        values["runs"] = [{f.name: getattr(run, f.name) for f in fields(run)} for run in runs]
    return _document(values)


def groups_document(groups: Groups) -> dict[str, Any]:
    listed = [{f.name: getattr(group, f.name) for f in fields(group)} for group in groups]
    return _document({"groups": listed, "examined_since": groups.examined_since})


def job_document(app: Duetime, job: Job) -> dict[str, Any]:
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    values["payload"] = payload_data(app, job.kind, job.payload)
    return _document(values)


def job_page_document(app: Duetime, page: Page[Job]) -> dict[str, Any]:
    return {"items": [job_document(app, job) for job in page], "next_cursor": page.next_cursor}


def occurrence_document(occurrence: Occurrence) -> dict[str, Any]:
    return _document({field.name: getattr(occurrence, field.name) for field in fields(occurrence)})


def audit_page_document(page: Page[AuditEntry]) -> dict[str, Any]:
    return {"items": [*map(audit_document, page)], "next_cursor": page.next_cursor}


def audit_document(entry: AuditEntry) -> dict[str, Any]:
    return _document({field.name: getattr(entry, field.name) for field in fields(entry)})


def notification_page_document(page: Page[Notification]) -> dict[str, Any]:
    return {"items": [*map(plain_document, page)], "next_cursor": page.next_cursor}


def plain_document(value: DataclassInstance) -> dict[str, Any]:
    """The fields of a value that holds nothing but plain data."""
    return _document(asdict(value))


def _document(values: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = to_jsonable_python(values, timedelta_mode="float")
    return document


def payload_data(app: Duetime, kind: str, payload: object) -> object:
    """The payload as the store keeps it."""
    try:
        entry = app.runtime.payloads.named(kind)
    except UnknownKind:
        return payload  # the kind is not declared here: the payload is plain data already
    if not isinstance(payload, entry.type):
        return payload  # its type rejected the data, which is therefore plain, too
    return entry.adapter.dump_python(payload, mode="json")
