"""By which index a page of actions is found: decided from the filter and the indexes that there
are. Any choice finds the same actions; it decides how many rows are examined."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from duetime.model.filter import Filter, Position, id_span
from duetime.model.state import State
from duetime.store.sql.statements.examined import nearest_time

# Indexes that are built without blocking writers, so that they may be missing, each with the
# statement that builds it on PostgreSQL.
INDEX_BUILDS: Mapping[str, str] = {
    "actions_tenant": "build_actions_tenant",
    "actions_by_key": "build_actions_by_key",
    "actions_children": "build_actions_children",
    "history_tenant": "build_history_tenant",
    "history_key": "build_history_key",
    "history_children": "build_history_children",
    "history_failed": "build_history_failed",
    "history_error_group": "build_history_error_group",
    "audit_at": "build_audit_at",
}
LATE_INDEXES = frozenset(INDEX_BUILDS)

Params = dict[str, object]


def named_params(wanted: Filter, ready: frozenset[str]) -> Params:
    """Return the parameters of `_named_actions.sql` and `_named_history.sql`: a value of the filter
    that an index finds, for each table; nothing for a table where no index does."""
    return {
        **_named(wanted, ready, "actions", in_use=bool(wanted.unfinished_states)),
        **_named(wanted, ready, "history", in_use=bool(wanted.finished_states)),
    }


def _named(wanted: Filter, ready: frozenset[str], table: str, *, in_use: bool) -> Params:
    key_index = {"actions": "actions_by_key", "history": "history_key"}[table]
    if not in_use:
        return {}
    choices = (
        _search(wanted) if key_index in ready else {},
        {"parent": None if wanted.after is None else str(wanted.after)}
        if f"{table}_children" in ready
        else {},
        {"key": wanted.key} if key_index in ready else {},
        {"correlation": wanted.correlation_id},
        {"job": wanted.job},
        _state_within(wanted, ready, table),
        {"tenant": _tenant(wanted)} if f"{table}_tenant" in ready and _sparse(wanted) else {},
    )
    for choice in choices:
        given = {name: value for name, value in choice.items() if value is not None}
        if given:
            return {f"{table}_{name}": value for name, value in {**given, "named": True}.items()}
    return {}


def _search(wanted: Filter) -> Params:
    search = wanted.search
    if search is None:
        return {}
    lowest, highest = id_span(search) or (None, None)
    span = {} if lowest is None else {"id_from": str(lowest), "id_to": str(highest)}
    return {"correlation": search, "key": search, "job": search, **span}


def _state_within(wanted: Filter, ready: frozenset[str], table: str) -> Params:
    """Return what finds the few actions that are in a state within a state."""
    if table == "actions":
        return {"parked": wanted.parked or None, "waiting": wanted.waiting or None}
    return {"group": wanted.error_group} if "history_error_group" in ready else {}


def _tenant(wanted: Filter) -> str | None:
    return wanted.tenant if isinstance(wanted.tenant, str) else None


def _sparse(wanted: Filter) -> bool:
    """Return whether the order of ids would not lead through the tenant's rows soon."""
    return wanted.sort.by != "created_at" or wanted.finished_states == {State.failed}


def ordered_params(wanted: Filter, ready: frozenset[str], after: UUID | None) -> Params:
    """Return the parameters of `_actions_window.sql` and `_history_window.sql` that begin after
    an id: within a tenant, within a kind, among failed actions, or among all."""
    down = wanted.sort.descending
    tenant = _tenant(wanted)
    params: Params = {"descending": down or None}
    if wanted.finished_states == {State.failed} and "history_failed" in ready:
        params["failed_only"] = True
    elif tenant is not None and {"actions_tenant", "history_tenant"} <= ready:
        return params | _within("tenant", tenant, after, down=down)
    elif len(wanted.kinds) == 1 and not wanted.unfinished_states:
        return params | _within("kind", wanted.kinds[0], after, down=down)
    return params | order_of_ids(wanted, after)


def order_of_ids(wanted: Filter, after: UUID | None) -> Params:
    """Return the parameters of the windows that begin after an id, among all actions."""
    down = wanted.sort.descending
    beyond = {"below" if down else "above": None if after is None else str(after)}
    return {"descending": down or None, **beyond}


def _within(column: str, value: str, after: UUID | None, *, down: bool) -> Params:
    """Return what stays within one value of a column: a range, and where it begins."""
    near, far = ("to", "from") if down else ("from", "to")
    params: Params = {f"{column}_{far}": value, f"{column}_{'down' if down else 'up'}": True}
    if after is None:
        return params | {f"{column}_{near}": value}
    beyond = "below" if down else "above"
    return params | {f"{column}_{beyond}": value, f"row_{beyond}": str(after)}


def time_params(wanted: Filter) -> Params:
    """Return the parameters that order named actions by a time, after the position given."""
    down = wanted.sort.descending
    params: Params = {"timed": True, "time_down" if down else "time_up": True}
    params["descending"] = down or None
    if wanted.follows is None:
        return params
    beyond = "below" if down else "above"
    position: Params = {
        f"instant_{beyond}": wanted.follows.value,
        f"row_{beyond}": str(wanted.follows.id),
    }
    return params | position


def instants(wanted: Filter, position: Position | None) -> Params:
    """Return the range of times in which the filter can match after a position."""
    event = wanted.sort.by.removesuffix("_at")
    first, before = getattr(wanted, f"{event}_from"), getattr(wanted, f"{event}_before")
    last = None if before is None else before - 1
    if position is None:
        return {"instant_from": first, "instant_to": last}
    next_time = nearest_time(position, wanted.sort)
    if wanted.sort.descending:
        last = next_time if last is None else min(last, next_time)
    else:
        first = next_time if first is None else max(first, next_time)
    return {"instant_from": first, "instant_to": last}
