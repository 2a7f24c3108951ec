"""Ids of actions as people type them: whole, or a part of what a table, a log or the demo shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError
from duetime.model.actions.action import Action
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.tenant import Ambient, Scope

# Ids are ordered by time: below this, the beginning would match the actions of many hours.
MIN_BEGINNING = 8
# What the demo prints of an id. The store cannot search for an ending, so only so many of the
# newest actions are looked at.
MIN_ENDING = 6
SEARCHED_PAGES = 10
LISTED_MATCHES = 5
ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class TypedId:
    """Hexadecimal digits of an id: all, its beginning, or its ending if `ends` is set."""

    digits: str
    ends: bool = False

    @property
    def whole(self) -> bool:
        return len(self.digits) == ID_DIGITS

    def matches(self, action: Action) -> bool:
        digits = action.id.hex
        return digits.endswith(self.digits) if self.ends else digits.startswith(self.digits)

    def __str__(self) -> str:
        return f"ends with {self.digits}" if self.ends else f"begins with {self.digits}"


def parse_id(text: str) -> TypedId:
    """Parse an id, its first 8 or more digits, or its last 6 or more as in `…1a2b3c`."""
    match = re.fullmatch(r"(…|\.\.\.?)?([0-9a-f]+)", text.strip().lower().replace("-", ""))
    if match is None or not MIN_ENDING <= len(match[2]) <= ID_DIGITS:
        raise typer.BadParameter(
            f"{text!r} is no id: write the whole UUID, its first {MIN_BEGINNING} or more digits, "
            f"or its last {MIN_ENDING} or more after …"
        )
    return TypedId(match[2], ends=match[1] is not None or len(match[2]) < MIN_BEGINNING)


def find_id(app: Duetime, given: TypedId, tenant: Scope | Ambient) -> UUID:
    """Return the whole id; a CommandError unless exactly one action matches a part of one."""
    if given.whole:
        return UUID(given.digits)
    found = _ending(app, given, tenant) if given.ends else _beginning(app, given, tenant)
    if len(found) == 1:
        return found[0].id
    if found:
        listed = ", ".join(f"{action.id} ({action.kind})" for action in found[:LISTED_MATCHES])
        more = ", and more" if len(found) > LISTED_MATCHES else ""
        raise CommandError(f"more than one action {given}: {listed}{more}; write more digits")
    searched = f" among the newest {MAX_PAGE_SIZE * SEARCHED_PAGES:,}" if given.ends else ""
    raise CommandError(
        f"no action{searched} {given}: it was pruned after its retention, or belongs to another "
        "tenant (give --tenant or --any-tenant)"
    )


def find_target(
    app: Duetime,
    given: TypedId | None,
    kind: str | None,
    key: str | None,
    tenant: Scope | Ambient,
) -> dict[str, Any]:
    """Return the arguments that name the action to a verb: the whole id, or kind and key."""
    by_key = kind is not None and key is not None
    if (given is None) is not by_key or (kind is None) is not (key is None):
        raise typer.BadParameter("give the action's id, or else --kind and --key")
    if given is None:
        return {"kind": kind, "key": key}
    return {"action_id": find_id(app, given, tenant)}


def _beginning(app: Duetime, given: TypedId, tenant: Scope | Ambient) -> list[Action]:
    page = app.sync.find(q=given.digits, limit=MAX_PAGE_SIZE, tenant=tenant)
    return [action for action in page if given.matches(action)]


def _ending(app: Duetime, given: TypedId, tenant: Scope | Ambient) -> list[Action]:
    found: list[Action] = []
    cursor = None
    for _ in range(SEARCHED_PAGES):
        page = app.sync.find(cursor=cursor, limit=MAX_PAGE_SIZE, tenant=tenant)
        found += [action for action in page if given.matches(action)]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found
