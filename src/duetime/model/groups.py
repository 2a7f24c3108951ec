"""Groups of actions: how many have the same error, kind, queue or state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from duetime.model.clock import from_micros
from duetime.model.state import State

GroupField = Literal["error", "kind", "queue", "state"]

# The most actions of a state that are counted.
MAX_GROUPED = 10_000


@dataclass(frozen=True, slots=True)
class Group:
    """Actions with the same value: how many, at least so many if `capped`, and the newest one.
    For errors `value` is the `error_group`."""

    value: str
    count: int
    capped: bool
    newest_id: UUID


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, the largest first. Since the creation time `examined_since` all were counted; None if
    there are no others. Iterates over its groups."""

    groups: Sequence[Group]
    examined_since: datetime | None = None

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def renamed(self, name: Callable[[str], str]) -> Groups:
        """Return the groups under other names; those that get the same name become one."""
        merged: dict[str, Group] = {}
        for group in self.groups:
            new = replace(group, value=name(group.value))
            merged[new.value] = _sum(merged.get(new.value), new)
        return Groups(_largest_first(merged.values()), self.examined_since)


@dataclass(frozen=True, slots=True)
class StateGroups:
    """The counts of one state: by value how many and the newest id. If not all were examined,
    the creation time of the last one that was."""

    state: State
    counts: Sequence[tuple[str, int, UUID]]
    examined_since: int | None = None


def grouped_states(by: GroupField, states: Iterable[State]) -> list[State]:
    """Return the states whose actions can be in a group: only failed ones have an error."""
    return [state for state in states if by != "error" or state is State.failed]


def merge_groups(by: GroupField, found: Sequence[StateGroups]) -> Groups:
    """Return the groups of all states, the largest first. A state that was not examined to its end
    may lack actions of every group, unless states are what is counted."""
    counts: dict[str, tuple[int, UUID, bool]] = {}
    any_capped = any(state.examined_since is not None for state in found)
    for state in found:
        capped = state.examined_since is not None if by == "state" else any_capped
        for value, count, newest in state.counts:
            total, newest_yet, capped_yet = counts.get(value, (0, newest, capped))
            counts[value] = (total + count, max(newest, newest_yet), capped or capped_yet)
    groups = [Group(value, total, capped, id_) for value, (total, id_, capped) in counts.items()]
    since = [state.examined_since for state in found if state.examined_since is not None]
    return Groups(_largest_first(groups), from_micros(max(since)) if since else None)


def _sum(group: Group | None, added: Group) -> Group:
    if group is None:
        return added
    newest = max(group.newest_id, added.newest_id)
    return Group(group.value, group.count + added.count, group.capped or added.capped, newest)


def _largest_first(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (-group.count, group.value))
