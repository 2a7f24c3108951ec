"""The verbs of finding of a MemoryStore, which examines every action each time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace

from duetime.model.actions.action import Record
from duetime.model.actions.found import Found, position_of
from duetime.model.filter import NEWEST_FIRST, Filter, Position
from duetime.model.groups import (
    MAX_GROUPED,
    GroupField,
    Groups,
    StateGroups,
    grouped_states,
    merge_groups,
)
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryFinding(Store, ABC):
    """Finds actions, and counts them in groups."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def find(self, wanted: Filter) -> Found:
        placed = [
            (position, record)
            for record in self._tables.matching(wanted, self._now())
            if (position := position_of(record, wanted.sort)) is not None
            and _follows(position, wanted)
        ]
        placed.sort(key=lambda item: item[0], reverse=wanted.sort.descending)
        page = placed[: wanted.limit]
        last = page[-1][0] if page and len(placed) > wanted.limit else None
        return Found([record for _, record in page], last)

    @immediate
    def groups(self, by: GroupField, wanted: Filter, *, most: int = MAX_GROUPED) -> Groups:
        criteria = replace(wanted, sort=NEWEST_FIRST, follows=None)
        states = grouped_states(by, State)
        return merge_groups(by, [self._state_groups(by, criteria, state, most) for state in states])

    def _state_groups(self, by: GroupField, wanted: Filter, state: State, most: int) -> StateGroups:
        found = self._tables.matching(wanted, self._now())
        value_of = _VALUES[by]
        fitting = [r for r in found if r.state is state and value_of(r) is not None]
        counted = fitting[:most]
        groups: dict[str, list[Record]] = {}
        for record in counted:
            groups.setdefault(value_of(record) or "", []).append(record)
        more = len(fitting) > most
        return StateGroups(
            state,
            [(value, len(members), members[0].id) for value, members in groups.items()],
            counted[-1].created_at if more else None,
        )


def _follows(position: Position, wanted: Filter) -> bool:
    last = wanted.follows
    if last is None:
        return True
    return position < last if wanted.sort.descending else position > last


_VALUES: Mapping[GroupField, Callable[[Record], str | None]] = {
    "error": lambda record: record.error_group,
    "kind": lambda record: record.kind,
    "queue": lambda record: record.queue,
    "state": lambda record: record.state.value,
}
