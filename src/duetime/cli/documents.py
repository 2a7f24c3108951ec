"""What `--json` prints: one document, instants in UTC, durations in seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import typer
from pydantic_core import to_jsonable_python

from duetime.app import Duetime
from duetime.errors import UnknownKind
from duetime.model.action import Action, Page, Run


def emit(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


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
    """`runs` and `created` stand in it where the command knows them."""
    values = {f.name: getattr(action, f.name) for f in fields(action) if f.name != "created"}
    values["payload"] = payload_data(app, action.payload)
    if created is not None:
        values["created"] = created
    if runs is not None:
        values["runs"] = [{f.name: getattr(run, f.name) for f in fields(run)} for run in runs]
    document: dict[str, Any] = to_jsonable_python(values, timedelta_mode="float")
    return document


def payload_data(app: Duetime, payload: object) -> object:
    """The payload as it stands in the store."""
    try:
        adapter = app.parts.payloads.of(payload).adapter
    except UnknownKind:
        return payload  # this process does not know its kind: it is plain data already
    return adapter.dump_python(payload, mode="json")
