"""The kind and key that name an action instead of its id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from duetime.errors import ActionNotFound, InvalidArgument
from duetime.model.state import State
from duetime.model.tenant import ANY

KeyStates = Literal["any", "unfinished", "failed"]


@dataclass(frozen=True, slots=True)
class ActionKey:
    """Names the unfinished action that holds a key; with "failed", the newest failed one that had
    the key; with "any", the unfinished one or else the newest finished one."""

    kind: str
    key: str
    among: KeyStates

    def may_name(self, state: State) -> bool:
        match self.among:
            case "unfinished":
                return not state.finished
            case "failed":
                return state is State.failed
            case _:
                return True


class KeyMatch(NamedTuple):
    """The unfinished action, or the newest finished one, of a tenant that an ActionKey may name."""

    id: UUID
    tenant: str | None
    finished: bool


def named_id(wanted: ActionKey, matches: Iterable[KeyMatch]) -> UUID:
    """Return the id of the match that is named. InvalidArgument if matches of several tenants are
    in scope: a guess could change the action of another customer."""
    found = sorted(matches, key=lambda match: (match.finished, -match.id.int))
    if not found:
        raise ActionNotFound(kind=wanted.kind, key=wanted.key, among=wanted.among)
    if len({match.tenant for match in found}) > 1:
        raise InvalidArgument(
            "tenant",
            ANY,
            f"actions of several tenants have kind {wanted.kind!r} and key {wanted.key!r}, as "
            "find() shows: name the tenant",
        )
    return found[0].id
