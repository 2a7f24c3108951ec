"""A filter, or a scope, as parameters: of `_action_matches.sql`, `_history_matches.sql` and
others."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.model.filter import Filter, id_span
from duetime.model.state import FINISHED, State
from duetime.model.tenant import Scope
from duetime.store.sql.statements.bulk_rows import json_param


def filter_params(wanted: Filter) -> dict[str, object]:
    """Return the parameters of what a filter selects. A statement must not be sent for a table in
    which no state can match: see Filter.finished_states and unfinished_states."""
    return {
        "queue": wanted.queue,
        "correlation_id": wanted.correlation_id,
        "key": wanted.key,
        "job": wanted.job,
        "error_group": wanted.error_group,
        "worker": wanted.worker,
        "created_by": wanted.by,
        "priority": wanted.priority,
        "parent": None if wanted.after is None else str(wanted.after),
        **scope_params(wanted.tenant),
        "due_from": wanted.due_from,
        "due_before": wanted.due_before,
        "created_from": wanted.created_from,
        "created_before": wanted.created_before,
        "finished_from": wanted.finished_from,
        "finished_before": wanted.finished_before,
        **_kind_params(wanted.kinds),
        **_state_params(wanted),
        **_flag_params(wanted),
        **_search_params(wanted.search),
    }


def scope_params(tenant: Scope) -> dict[str, object]:
    """Return the parameters of statements that reach the rows of a scope only: others are neither
    read nor locked."""
    return {
        "tenant": tenant if isinstance(tenant, str) else None,
        "untenanted": tenant is None or None,
    }


def _kind_params(kinds: Sequence[str]) -> dict[str, object]:
    several = len(kinds) > 1
    return {
        "kind": kinds[0] if len(kinds) == 1 else None,
        "any_kinds": json_param(kinds) if several else None,
    }


def _state_params(wanted: Filter) -> dict[str, object]:
    finished, unfinished = sorted(wanted.finished_states), wanted.unfinished_states
    several = 1 < len(finished) < len(FINISHED)
    return {
        "state": finished[0].value if len(finished) == 1 else None,
        "any_states": json_param(finished) if several else None,
        "scheduled": unfinished == {State.scheduled} or None,
        "running": unfinished == {State.running} or None,
    }


def _flag_params(wanted: Filter) -> dict[str, object]:
    flags = {
        "parked": wanted.parked,
        "waiting": wanted.waiting,
        "retrying": wanted.retrying,
        "overdue": wanted.overdue,
    }
    return {name: None if flag is None else int(flag) for name, flag in flags.items()}


def _search_params(search: str | None) -> dict[str, object]:
    lowest, highest = (None if search is None else id_span(search)) or (None, None)
    return {
        "search": search,
        "id_from": None if lowest is None else str(lowest),
        "id_to": None if highest is None else str(highest),
    }
