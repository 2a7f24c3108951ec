"""The documents that the API answers with: the fields of Python's values, under their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, create_model

from duetime.admin.identity.access import Access
from duetime.model.access.masking import DATA_FIELDS, Reader, error_class
from duetime.model.actions.action import Action, Run
from duetime.model.audit import AuditEntry
from duetime.model.groups import GroupField, Groups
from duetime.model.health.stats import LivingWorker, Stats
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.jobs.view import Job
from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.reason import Reason

if TYPE_CHECKING:
    from duetime.app import Duetime

Document = dict[str, Any]

# Fields that some callers do not see.
MASKED_FIELDS = frozenset({*DATA_FIELDS, "traceback"})


class Documents:
    """Writes the values of one app as far as a caller may see them."""

    def __init__(self, app: Duetime, access: Access) -> None:
        self._payloads = app.runtime.payloads
        self._access = access
        self._reader = Reader(access.allows("payload.read"), access.administrator)

    def action(self, action: Action, *, created: bool | None = None) -> Document:
        document = self._seen(action, action.kind)
        if created is None:
            del document["created"]
        if "payload" in document:
            document["payload"] = self._payload(action.kind, action.payload)
        return document

    def run(self, run: Run, kind: str) -> Document:
        return self._seen(run, kind)

    def job(self, job: Job) -> Document:
        document = self._seen(job, job.kind)
        if "payload" in document:
            document["payload"] = self._payload(job.kind, job.payload)
        return document

    def occurrence(self, occurrence: Occurrence, kind: str) -> Document:
        return self._seen(occurrence, kind)

    def reason(self, reason: Reason) -> Reason:
        """Return why an action does not run; without `payload.read`, an error that it quotes is
        named by its class."""
        return reason if self._reader.reads_payloads else reason.naming_errors(error_class)

    def groups(self, by: GroupField, groups: Groups) -> Document:
        """Without `payload.read`, errors are counted by their class."""
        masked = by == "error" and not self._reader.reads_payloads
        seen = groups.renamed(error_class) if masked else groups
        return {
            "groups": [shallow(group) for group in seen],
            "examined_since": seen.examined_since,
        }

    def seen_again(self, document: Document) -> Document:
        """Return what the caller sees now of an action whose document was written before: they may
        have lost rights since."""
        known = self._payloads.find(document["kind"]) is not None
        return self._reader.shown(document, kind_known=known)

    def stats(self, stats: Stats) -> Document:
        """Workers serve all tenants: whoever may not read them does not see them here either."""
        document = shallow(stats)
        if not self._access.allows("workers.read"):
            del document["workers"]
        return document

    def entry(self, entry: AuditEntry) -> Document:
        """Addresses of administrators are none of a tenant's business. The filter of a bulk may
        name an error by its text."""
        document = shallow(entry) | {"after": self._seen_filter(entry.after)}
        if not self._access.administrator:
            del document["address"]
        return document

    def notification(self, notification: Notification) -> Document:
        """Without `payload.read`, the errors of its events are named by their class."""
        events = [self._seen_event(event) for event in notification.events]
        return shallow(notification) | {"events": events}

    def error(self, text: str) -> str:
        """Return the text of an error; without `payload.read`, its class."""
        return text if self._reader.reads_payloads else error_class(text)

    def _seen_filter(self, after: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted = after.get("filter")
        if not isinstance(wanted, Mapping) or not isinstance(wanted.get("error_group"), str):
            return after
        seen = {**wanted, "error_group": self.error(wanted["error_group"])}
        return {**after, "filter": seen}

    def _seen_event(self, event: NotificationEvent) -> NotificationEvent:
        error = event.data.get("error")
        if not isinstance(error, str):
            return event
        return replace(event, data={**event.data, "error": self.error(error)})

    def _seen(self, value: Any, kind: str) -> Document:
        return self._reader.shown(shallow(value), kind_known=self._payloads.find(kind) is not None)

    def _payload(self, kind: str, payload: object) -> object:
        """The payload as JSON, its secret fields masked."""
        entry = self._payloads.find(kind)
        if entry is None or not isinstance(payload, entry.type):
            return payload
        return entry.adapter.dump_python(payload, mode="json")


def shallow(value: Any) -> Document:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def page(items: Sequence[Document], next_cursor: str | None) -> Document:
    return {"items": items, "next_cursor": next_cursor}


# -- their models ---------------------------------------------------------------------------------


def model_of(
    value: type,
    name: str,
    *,
    without: Iterable[str] = (),
    maybe: frozenset[str] = MASKED_FIELDS,
) -> type[BaseModel]:
    """Return the model of a dataclass's document. `maybe` names fields that some callers do not
    see: they are absent then."""
    hints = get_type_hints(value)
    described: dict[str, Any] = {
        field.name: (_described(hints[field.name]), None if field.name in maybe else ...)
        for field in fields(value)
        if field.name not in without
    }
    return create_model(name, __doc__=value.__doc__, **described)


def page_of(model: type[BaseModel]) -> type[BaseModel]:
    return create_model(
        f"{model.__name__}Page",
        __doc__="Items, and the cursor of the next page; null after the last one.",
        items=(list[model], ...),  # type: ignore[valid-type]
        next_cursor=(str | None, ...),
    )


def _described(hint: Any) -> Any:
    """Return how a type is written in JSON: a duration as seconds, what has no type as anything."""
    if isinstance(hint, TypeVar) or hint is object:
        return Any
    if hint is timedelta:
        return float
    return float | None if timedelta in get_args(hint) else hint


ActionModel = model_of(Action, "Action", without={"created"})
ScheduledModel = model_of(Action, "ScheduledAction")
RunModel = model_of(Run, "Run")
JobModel = model_of(Job, "Job")
OccurrenceModel = model_of(Occurrence, "Occurrence")
AuditEntryModel = model_of(AuditEntry, "AuditEntry", maybe=frozenset({"address"}))
StatsModel = model_of(Stats, "Stats", maybe=frozenset({"workers"}))
WorkerModel = model_of(LivingWorker, "Worker")
NotificationModel = model_of(Notification, "Notification", maybe=frozenset())

ActionPage = page_of(ActionModel)
JobPage = page_of(JobModel)
AuditPage = page_of(AuditEntryModel)
NotificationPage = page_of(NotificationModel)
