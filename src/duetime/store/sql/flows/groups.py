"""The verb `groups`, for all SQL stores: how many actions have the same value, state by state."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.model.filter import NEWEST_FIRST, Filter
from duetime.model.groups import (
    MAX_GROUPED,
    GroupField,
    Groups,
    StateGroups,
    grouped_states,
    merge_groups,
)
from duetime.model.state import State
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.finding import NAMED_PART, FindingFlows, few_named
from duetime.store.sql.statements.access import Params, order_of_ids, ordered_params
from duetime.store.sql.statements.filter_params import filter_params


class GroupFlows(FindingFlows, ABC):
    """The flow of `groups`. Each state is a statement: others may change its actions meanwhile, so
    that an action may be counted twice, or not at all."""

    @flow(Mode.search)
    def groups(self, by: GroupField, wanted: Filter, *, most: int = MAX_GROUPED) -> Steps[Groups]:
        ready = yield from self._ready_indexes()
        criteria = replace(wanted, sort=NEWEST_FIRST, follows=None)
        states = criteria.unfinished_states | criteria.finished_states
        found: list[StateGroups] = []
        for state in grouped_states(by, sorted(states)):
            alone = replace(criteria, states=(state,))
            found.append((yield from self._of_state(by, alone, ready, most)))
        return merge_groups(by, found)

    def _of_state(
        self, by: GroupField, wanted: Filter, ready: frozenset[str], most: int
    ) -> Steps[StateGroups]:
        [state] = wanted.states
        window = min(self.max_examined, 2 * most)
        named = yield from few_named(wanted, ready, window // NAMED_PART)
        order = order_of_ids(wanted, None) if named else ordered_params(wanted, ready, None)
        params: Params = {
            **filter_params(wanted),
            **named,
            **order,
            f"by_{by}": True,
            "window": window,
            "most": most,
        }
        rows = yield Statement("group_finished" if state.finished else "group_unfinished", params)
        return _state_groups(state, cast("Any", rows), window, most)


def _state_groups(state: State, rows: Sequence[Any], window: int, most: int) -> StateGroups:
    """Read rows of `group_finished.sql` or `group_unfinished.sql`."""
    counted = [row for row in rows if row[0] is not None]
    [(_, examined, matching, oldest)] = [row for row in rows if row[0] is None]
    since = None
    if int(matching) > most:
        since = min(created_at for *_, created_at in counted)
    elif examined == window:
        since = oldest
    return StateGroups(state, [(value, n, UUID(id_)) for value, n, id_, _ in counted], since)
