"""The page about the audit log: who changed what, and how it was before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.documents import Document, Documents
from duetime.admin.exports import EXPORT_PAGE, export
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.model.audit import AUDITED_VERBS
from duetime.model.safe_text import safe_json

AUDIT_PAGE = PageTable()

AUDIT_PATH = "/audit"
EXPORT_PATH = f"{AUDIT_PATH}/export"
# Of a value before or after.
MAX_VALUE_LENGTH = 1000
# The place that shows a subject, and the path of its page; its id stands for `{}`.
SUBJECT_PAGES: Mapping[str, tuple[str, str]] = {
    "action": ("actions", "/actions/{}"),
    "job": ("jobs", "/jobs/{}"),
    "queue": ("queues", "/queues"),
    "transition": ("transitions", "/transitions"),
    "subscription": ("alerts", "/alerts/subscriptions"),
}
# The subjects that the settings show to administrators.
SUBJECTS_OF_SETTINGS = frozenset({"grant", "api-key"})


class AuditPageQuery(BaseModel):
    """What the address asks for; the instants are in the zone that it names."""

    subject: str | None = None
    by: str | None = None
    verb: str | None = None
    since: str | None = None
    before: str | None = None
    zone: str | None = None
    cursor: str | None = None

    @property
    def filter(self) -> dict[str, str | None]:
        """The parameters of the filter, as an address has them."""
        return self.model_dump(exclude={"cursor"}, exclude_none=True)


@dataclass(frozen=True, slots=True)
class AuditedField:
    """A field of a subject as text, before and after; None where it had none."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry as far as the reader may see it, and the address of its subject's page."""

    entry: Document
    lead: str | None
    changes: Sequence[AuditedField]


@AUDIT_PAGE.show(AUDIT_PATH, "audit.read", place="audit")
async def show_audit(page: ThisPage) -> Response:
    """The entries that the filter of the address matches, newest first."""
    query = page.query(AuditPageQuery)
    wanted = _wanted(page, query)
    found = await page.app.audit.find(**wanted, cursor=query.cursor, tenant=page.scope)
    documents = Documents(page.app, page.caller)
    return page.render(
        "audit.html",
        rows=[_row(page, documents.entry(entry)) for entry in found],
        next_cursor=found.next_cursor,
        query=query,
        wanted=wanted,
        verb_words={verb: page.named("verb", verb) for verb in AUDITED_VERBS},
        kept=[pair for pair in page.kept_query if pair[0] not in AuditPageQuery.model_fields],
        export_address=page.link(EXPORT_PATH, **query.filter),
    )


@AUDIT_PAGE.show(EXPORT_PATH, "audit.read", limit=None)
async def export_entries(page: ThisPage) -> Response:
    """The newest 10,000 entries of the filter as a file, as the API exports them."""
    wanted = _wanted(page, page.query(AuditPageQuery))
    response = await export(
        page,
        lambda cursor: page.app.audit.find(
            **wanted, limit=EXPORT_PAGE, cursor=cursor, tenant=page.scope
        ),
        Documents(page.app, page.caller).entry,
    )
    response.headers["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
    return response


# -- steps ----------------------------------------------------------------------------------------


def _wanted(page: FramedPage, query: AuditPageQuery) -> dict[str, Any]:
    """Return the filter of the address as `audit.find` takes it."""
    return {
        "subject": query.subject,
        "by": query.by,
        "verb": query.verb,
        "since": page.asked_instant("since"),
        "before": page.asked_instant("before"),
    }


def _row(page: FramedPage, entry: Document) -> EntryRow:
    changes = [*_changes(page, entry["before"], entry["after"])]
    return EntryRow(entry, _lead(page, entry["subject"], entry["subject_id"]), changes)


def _lead(page: FramedPage, subject: str, subject_id: str) -> str | None:
    """Return the address of the page that shows a subject, if the reader may open it."""
    if subject in SUBJECTS_OF_SETTINGS:
        return page.link("/settings") if page.allows("admin") else None
    place, path = SUBJECT_PAGES.get(subject, ("", ""))
    return page.link(path.replace("{}", subject_id)) if page.can_open(place) else None


def _changes(
    page: FramedPage, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[AuditedField]:
    """Yield the fields that an entry names, and that are not the same before and after."""
    for name in {**before, **after}:
        if name not in before or name not in after or before[name] != after[name]:
            yield AuditedField(name, _text(page, name, before), _text(page, name, after))


def _text(page: FramedPage, name: str, snapshot: Mapping[str, object]) -> str | None:
    if name not in snapshot:
        return None
    value = snapshot[name]
    if isinstance(value, datetime):
        return page.exact(value)
    text = value if isinstance(value, str) else _json(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


def _json(value: object) -> str:
    return safe_json(json.dumps(value, ensure_ascii=False, default=str))
