"""The page on which an action is scheduled, by a form made for its kind, or a finished one is
repeated with another payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.call import json_response
from duetime.admin.declarations import declaration_of
from duetime.admin.documents import Documents
from duetime.admin.pages.actions import ACTIONS_PATH
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.payload_fields import UNSET, PayloadField, fields_of
from duetime.admin.pages.payload_form import (
    TypedPayload,
    check_payload,
    choice_value,
    shown_values,
    typed_payload,
)
from duetime.errors import ActionNotFound, DuplicateKey, InvalidArgument, PermissionDenied
from duetime.model.actions.action import Action
from duetime.model.lane import Priority
from duetime.model.payloads.registry import PayloadType
from duetime.words.languages import said

SCHEDULE_PAGE = PageTable()

SCHEDULE_PATH = "/schedule"
IF_EXISTS = ("raise", "return", "replace")
# What a verb may find wrong, beside the payload.
NAMED_FIELDS = ("at", "delay", "expires", "queue", "priority", "key", "correlation_id", "note")


class ScheduleQuery(BaseModel):
    """Which kind is scheduled, or which finished action is repeated."""

    kind: str | None = None
    repeat: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleForm:
    """The form for a kind: its fields, what they hold, and what is wrong with them."""

    entry: PayloadType
    fields: Sequence[PayloadField]
    values: Mapping[str, str]
    hints: Mapping[str, str]
    repeated: Action | None
    errors: dict[str, str] = field(default_factory=dict)
    # When the action would be due; None if it cannot be told.
    due: datetime | None = None

    def attributes(self, part: PayloadField) -> dict[str, str]:
        """Return what every kind of field has."""
        described = {
            "id": f"field-{part.name}",
            "name": part.name,
            "aria-describedby": f"hint-{part.name} error-{part.name}",
            "spellcheck": "false",
            "autocomplete": "new-password" if part.type == "secret" else "off",
        }
        if part.required and not part.nullable and part.type != "switch":
            described["aria-required"] = "true"
        return described | ({"aria-invalid": "true"} if part.name in self.errors else {})


@SCHEDULE_PAGE.show(SCHEDULE_PATH, "actions.schedule")
async def show_schedule(page: ThisPage) -> Response:
    """The form for the kind that the address names, or the kinds to choose from."""
    asked = await _asked(page)
    return _render(page, None if asked is None else _shown_form(page, *asked))


@SCHEDULE_PAGE.act(SCHEDULE_PATH, "actions.schedule", on=show_schedule)
async def schedule_action(page: ThisPage) -> Response:
    """Schedule the action, and show it; or show the form again, each error at its field."""
    asked = await _asked(page)
    if asked is None:
        raise page.invalid("kind", None, "schedule_kind_missing")
    entry, repeated = asked
    typed, errors = _checked(page, entry)
    if errors:
        return _again(page, entry, repeated, errors)
    payload = page.app.runtime.payloads.parse(entry.kind, typed.text)
    try:
        return _done(page, await _scheduled(page, payload, repeated))
    except DuplicateKey:
        taken = {"key": page.text("schedule_key_taken")}
        return _again(page, entry, repeated, taken, 409)
    except InvalidArgument as error:
        if error.argument not in NAMED_FIELDS:
            raise
        wrong = {error.argument: said(error.remedy, page.language)}
        return _again(page, entry, repeated, wrong)


@SCHEDULE_PAGE.act("/schedule/check", "actions.schedule")
async def check_schedule(page: ThisPage) -> Response:
    """Tell a script what is wrong with what was typed so far, and when the action would be due."""
    asked = await _asked(page)
    errors = {} if asked is None else _checked(page, asked[0])[1]
    due = _due(page)
    echo = "" if due is None else page.text("schedule_due_at", at=page.exact(due))
    return json_response({"errors": errors, "due": echo})


# -- steps ----------------------------------------------------------------------------------------


async def _asked(page: FramedPage) -> tuple[PayloadType, Action | None] | None:
    """Return the kind to schedule, and the action that is repeated; None if neither is chosen."""
    query, payloads = page.query(ScheduleQuery), page.app.runtime.payloads
    if query.repeat is not None:
        if not page.allows("actions.read"):
            raise PermissionDenied("actions.read", page.caller.identity.tenant)
        action = await page.app.get(_id(query.repeat), tenant=page.scope)
        return payloads.named(action.kind), action
    return None if query.kind is None else (payloads.named(query.kind), None)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ActionNotFound(cast("UUID", text)) from None


def _checked(page: FramedPage, entry: PayloadType) -> tuple[TypedPayload, dict[str, str]]:
    """Return the payload that was typed, and what is wrong with it and its time, by field."""
    fields = fields_of(entry)
    typed = typed_payload(entry, fields, page.field, page.instant, page.text)
    if not typed.errors:
        check_payload(entry, fields, typed, page.text)
    return typed, typed.errors | _time_errors(page)


def _time_errors(page: FramedPage) -> dict[str, str]:
    errors = {}
    for name in ("at", "expires"):
        try:
            page.instant(name)
        except InvalidArgument as error:
            errors[name] = error.remedy
    try:
        if _delay(page) is not None and page.field("at"):
            errors["delay"] = page.text("schedule_either")
    except InvalidArgument as error:
        errors["delay"] = error.remedy
    return errors


def _delay(page: FramedPage) -> float | None:
    """Return the delay in seconds."""
    typed = (page.field("delay") or "").strip().replace(",", ".")
    try:
        seconds = float(typed) if typed else None
    except ValueError:
        seconds = -1.0
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise page.invalid("delay", typed, "schedule_delay_invalid")
    return seconds


def _due(page: FramedPage) -> datetime | None:
    """Return when what was typed would be due: for a delay, to the second."""
    if _time_errors(page):
        return None
    now = page.now.replace(microsecond=0)
    try:
        return page.instant("at") or now + timedelta(seconds=_delay(page) or 0)
    except OverflowError:
        return None


def _shown_form(
    page: FramedPage,
    entry: PayloadType,
    repeated: Action | None,
    errors: Mapping[str, str] | None = None,
) -> ScheduleForm:
    fields = fields_of(entry)
    sent = bool(page.form)
    values = shown_values(fields, _repeated_payload(page, repeated), page.zone)
    if sent:
        values = {part.name: "" if part.secret else page.typed(part.name) for part in fields}
    return ScheduleForm(
        entry=entry,
        fields=fields,
        values=values,
        hints={part.name: _hint(page, part) for part in fields},
        repeated=repeated,
        errors=dict(errors or {}),
        due=_due(page) if sent else None,
    )


def _hint(page: FramedPage, part: PayloadField) -> str:
    """Return what is said below a field."""
    hints = [part.hint]
    if part.type == "lines":
        hints.append(page.text("payload_lines_hint"))
    elif part.type == "json":
        hints.append(page.text("payload_json_hint"))
    elif part.type == "instant":
        hints.append(page.text("zone_hint", zone=page.zone.name))
    if not part.required and part.type != "switch":
        hints.append(page.text("payload_optional"))
    return " ".join(filter(None, hints))


def _repeated_payload(page: FramedPage, repeated: Action | None) -> object:
    """Return the payload of the repeated action as far as the reader may see it."""
    if repeated is None:
        return UNSET
    return Documents(page.app, page.caller).action(repeated).get("payload", UNSET)


async def _scheduled(page: FramedPage, payload: Any, repeated: Action | None) -> Action:
    """Schedule the action, or repeat one, whose queue and the like the new one has."""
    when: dict[str, Any] = {"at": page.instant("at"), "delay": _delay(page)}
    act: dict[str, Any] = {"by": page.by, "note": page.note}
    if repeated is not None:
        return await page.app.repeat(repeated.id, payload=payload, tenant=page.scope, **when, **act)
    return await page.app.schedule(
        payload,
        correlation_id=page.field("correlation_id") or None,
        key=page.field("key") or None,
        if_exists=cast("Any", page.field("if_exists") or "raise"),
        priority=cast("Any", page.field("priority") or "normal"),
        queue=page.field("queue") or None,
        expires=page.instant("expires"),
        tenant=page.tenant,
        **when,
        **act,
    )


def _again(
    page: FramedPage,
    entry: PayloadType,
    repeated: Action | None,
    errors: Mapping[str, str],
    status: int = 422,
) -> Response:
    """Show the form with what was typed, and each error at its field."""
    page.declaration = declaration_of(show_schedule)
    return _render(page, _shown_form(page, entry, repeated, errors), status)


def _done(page: FramedPage, action: Action) -> Response:
    """Show the action, or the form again to those who may not see actions."""
    path = f"{ACTIONS_PATH}/{action.id}" if page.can_open("actions") else SCHEDULE_PATH
    found = not action.created and page.field("if_exists") == "return"
    if found or action.due_at is None:
        return page.done_at(path, "done_schedule_existing")
    return page.done_at(path, "done_schedule", at=page.exact(action.due_at))


def _render(page: FramedPage, form: ScheduleForm | None, status: int = 200) -> Response:
    return page.render(
        "schedule.html",
        status,
        form=form,
        kinds=[entry.kind for entry in page.app.runtime.payloads.schedulable()],
        priorities={each.name: page.text(f"priority_{each.name}") for each in Priority},
        if_exists={each: page.text(f"if_exists_{each}") for each in IF_EXISTS},
        choice_value=choice_value,
    )
