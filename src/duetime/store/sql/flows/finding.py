"""The verb `find`, for all SQL stores: pages of bounded cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.found import MAX_EXAMINED, Found
from duetime.model.filter import Filter, Position, Sort
from duetime.store.base import Store
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql.flows.lost_data import read_records
from duetime.store.sql.statements.access import (
    Params,
    instants,
    named_params,
    order_of_ids,
    ordered_params,
    time_params,
)
from duetime.store.sql.statements.bulk_rows import json_param
from duetime.store.sql.statements.examined import (
    ExaminedRow,
    Reached,
    after_time,
    in_order_of_ids,
    in_order_of_times,
    is_beyond,
    time_after,
)
from duetime.store.sql.statements.filter_params import filter_params

# Named actions are all read and sorted. More than this part of MAX_EXAMINED in a table are rather
# examined in order; what remains of it after counting them is left for that.
NAMED_PART = 8
# The first rows examined of lanes or states, for each row of the page; each round that does not
# fill the page examines so many times as many.
FIRST_ROUND, ROUND_FACTOR = 4, 4


class FindingFlows(Store, ABC):
    """The flow of `find`. It finds ids first, and then reads their actions: those that do not
    match any more by then are left out."""

    max_examined = MAX_EXAMINED

    @abstractmethod
    def _ready_indexes(self) -> Steps[frozenset[str]]:
        """Return which of LATE_INDEXES can be used."""

    @flow(Mode.search)
    def find(self, wanted: Filter) -> Steps[Found]:
        if not wanted.unfinished_states | wanted.finished_states:
            return Found([])
        # One more than a page shows whether another one follows.
        reached = yield from self._reach(replace(wanted, limit=wanted.limit + 1))
        page = reached.page(wanted.limit)
        return Found((yield from _read(wanted, page.matches)), page.end)

    def _reach(self, wanted: Filter) -> Steps[Reached]:
        ready = yield from self._ready_indexes()
        crowd = self.max_examined // NAMED_PART
        named = yield from few_named(wanted, ready, crowd)
        most = self.max_examined - 2 * crowd
        if wanted.sort.by == "created_at":
            return (yield from _by_id(wanted, ready, named, most))
        if named:
            return (yield from _named_by_time(wanted, named, most))
        return (yield from _by_time(wanted, ready, most))


def few_named(wanted: Filter, ready: frozenset[str], crowd: int) -> Steps[Params]:
    """Return the parameters that name actions of the filter, for each table with few of them. All
    tables must be named for an order of time, which no other statement has for both."""
    named = named_params(wanted, ready)
    if named:
        counted = yield Statement("count_named", {**named, "window": crowd})
        counts = dict(zip(("actions", "history"), cast("Any", counted[0]), strict=True))
        few = {table for table, count in counts.items() if count < crowd}
        named = {name: value for name, value in named.items() if name.split("_")[0] in few}
    tables = {"actions": wanted.unfinished_states, "history": wanted.finished_states}
    complete = all(f"{table}_named" in named for table, states in tables.items() if states)
    return named if complete or wanted.sort.by == "created_at" else {}


def _by_id(wanted: Filter, ready: frozenset[str], named: Params, most: int) -> Steps[Reached]:
    after = None if wanted.follows is None else wanted.follows.id
    order = order_of_ids(wanted, after) if named else ordered_params(wanted, ready, after)
    window = most // (2 if wanted.unfinished_states and wanted.finished_states else 1)
    rows = yield _ids_statement(wanted, {**named, **order, "window": window})
    examined_rows = [
        ExaminedRow(Position(0, UUID(id_)), bool(fits), place == window)
        for id_, fits, place, *_ in cast("Any", rows)
    ]
    return in_order_of_ids(examined_rows, wanted.sort)


def _named_by_time(wanted: Filter, named: Params, most: int) -> Steps[Reached]:
    """Sort all named actions by a time."""
    order = {**time_params(wanted), "window": most}
    rows = cast("Any", (yield _ids_statement(wanted, {**named, **order})))
    return Reached([Position(value, UUID(id_)) for id_, fits, _, value, _ in rows if fits], None)


def _ids_statement(wanted: Filter, params: Params) -> Statement:
    name = {
        (True, True): "find_ids",
        (True, False): "find_unfinished_ids",
        (False, True): "find_finished_ids",
    }[bool(wanted.unfinished_states), bool(wanted.finished_states)]
    return Statement(name, {**filter_params(wanted), **params, "limit": wanted.limit})


def _by_time(wanted: Filter, ready: frozenset[str], most: int) -> Steps[Reached]:
    """Examine the lanes, or the states, in the order of time, round by round until the page is
    full; then those that have one and the same time, if there are too many for a round."""
    sort, position, matches = wanted.sort, wanted.follows, list[Position]()
    for window in _rounds(wanted.limit, most // 2):
        rows = yield _times_statement(wanted, ready, position, window)
        reached = in_order_of_times(_examined_times(rows), sort, position)
        matches += reached.matches
        tied = reached.end is not None and not is_beyond(reached.end, position, sort)
        position = position if tied else reached.end
        if position is None or len(matches) >= wanted.limit:
            return Reached(matches, position)
    if not tied:
        return Reached(matches, position)
    tie = time_after(reached.end, sort)
    same_time = yield from _at_one_time(wanted, ready, position, tie, most // 2)
    return Reached([*matches, *same_time.matches], same_time.end)


def _rounds(limit: int, most: int) -> Iterator[int]:
    """Yield how many rows each round examines, `most` together."""
    left, window = most, limit * FIRST_ROUND
    while left > 0:
        yield min(window, left)
        left -= window
        window *= ROUND_FACTOR


def _times_statement(
    wanted: Filter, ready: frozenset[str], position: Position | None, window: int
) -> Statement:
    finished = wanted.sort.by == "finished_at"
    group = wanted.error_group if "history_error_group" in ready else None
    params: Params = {
        **filter_params(wanted),
        **instants(wanted, position),
        "window": window,
        "time_down": wanted.sort.descending or None,
        "range_states": json_param(sorted(wanted.finished_states)) if finished else None,
        "by_group": None if group is None else True,
    }
    return Statement("find_finished_at_ids" if finished else "find_due_ids", params)


def _examined_times(rows: Rows) -> list[ExaminedRow]:
    return [
        ExaminedRow(Position(value, UUID(id_)), bool(fits), bool(last))
        for id_, fits, last, value in cast("Any", rows)
    ]


def _at_one_time(
    wanted: Filter, ready: frozenset[str], position: Position | None, time: int, most: int
) -> Steps[Reached]:
    """Examine actions in the order of their ids, for those that have one time."""
    sort = wanted.sort
    event = sort.by.removesuffix("_at")
    criteria: dict[str, Any] = {f"{event}_from": time, f"{event}_before": time + 1}
    same_time = replace(
        wanted,
        states=tuple(sorted(wanted.unfinished_states or wanted.finished_states)),
        sort=Sort("created_at", sort.descending),
        follows=position if position is not None and position.value == time else None,
        **criteria,
    )
    reached = yield from _by_id(same_time, ready, {}, most)
    matches = [Position(time, position.id) for position in reached.matches]
    end = after_time(time, sort) if reached.end is None else Position(time, reached.end.id)
    return Reached(matches, end)


def _read(wanted: Filter, positions: Sequence[Position]) -> Steps[list[Record]]:
    """Return the actions at these positions, in that order, if they still match."""
    if not positions:
        return []
    params = {
        **filter_params(wanted),
        "ids": json_param(position.id for position in positions),
        "unfinished": bool(wanted.unfinished_states) or None,
        "finished": bool(wanted.finished_states) or None,
    }
    found = yield from read_records(Statement("find_records", params))
    by_id = {record.id: record for record in found}
    return [by_id[position.id] for position in positions if position.id in by_id]
