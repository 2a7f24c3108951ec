"""Pages that examine few rows hold the same actions as the specification's, once each.

The stores may examine so few rows here that nearly every page ends early, within lanes, states and
crowds of one time; with all indexes, and while those that are built late are missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.model.actions.action import Record
from duetime.model.actions.found import Found
from duetime.model.filter import Filter, Sort
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.flows.sql_store import SqlStore
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from duetime.testing.conformance.probe import PARKED, SECOND, Probe, finish, reschedule
from servers import Server

ROWS = 100


@dataclass(frozen=True)
class Filled:
    """A store and the specification, with the same actions."""

    store: SqlStore
    specification: MemoryStore

    def ask(self, flow: Flow[Any]) -> Any:
        return self.store.perform_blocking(flow)


@pytest.fixture(scope="module", params=["sqlite", "postgres", "postgres with all indexes"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filled]:
    if request.param == "sqlite":
        path = Path(tmp_path_factory.mktemp("bounded")) / "x.db"
        yield _filled(lambda clock: SqliteStore(path, clock=clock))
        return
    server: Server = request.getfixturevalue("postgres_server")
    name = server.create_database()
    url = server.database_url(name)
    found = _filled(lambda clock: PostgresStore(url, clock=clock))
    if "all" in request.param:
        assert asyncio.run(found.store.build_indexes())
    yield found
    found.store.close()
    server.drop_database(name)


def _filled(make: Any) -> Filled:
    clock = FakeClock()
    stores = make(clock), MemoryStore(clock=clock)
    for store in stores:
        clock.set(FakeClock().now())
        asyncio.run(_fill(Probe(store, clock)))
        store.close()
    return Filled(*stores)


async def _fill(probe: Probe) -> None:
    """Add actions of all states, lanes and fields; crowds of them have the same times."""
    parent = None
    for number in range(ROWS):
        fields: dict[str, Any] = {
            "id": UUID(int=(number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128),
            "kind": ("mail", "sms", "call")[number % 3],
            "queue": ("default", "slow")[number % 2],
            "priority": number % 4,
            "tenant": (None, "a", "b")[number // 7 % 3],
            "correlation_id": (None, "c", "d")[number // 5 % 3],
            "key": None if number % 4 else f"k{number}",
        }
        state = [*State, State.scheduled, State.failed][number % 7]
        if number % 11 == 3 and parent is not None:
            await probe.child(parent, on="finished", **{**fields, "tenant": None})
        elif state is State.failed:
            claim = await probe.running(**fields)
            await probe.end(finish(claim, state, error=f"E{number % 3}rror: {number}"))
        elif number % 13 == 5:
            claim = await probe.running(**fields)
            await probe.end(reschedule(claim, lane=PARKED, refund=True))
        elif number % 17 == 9:
            claim = await probe.running(**fields)
            await probe.end(reschedule(claim, delay=SECOND))
        else:
            crowd = probe.now + SECOND + number // 60 * 1000
            due = {"due_at": crowd} if state is State.scheduled else {}
            record = await probe.in_state(state, **fields, **due)
            parent = record.id if fields["tenant"] is None else parent
        probe.pass_time(number % 29 == 0)
    probe.pass_time(SECOND + 500)


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | st.none() | st.none() | values


START = 1_767_225_600_000_000
micros = st.integers(-1, 8)
filters = st.builds(
    Filter,
    states=st.just(()) | st.lists(st.sampled_from(State), max_size=3, unique=True).map(tuple),
    kinds=st.just(()) | st.lists(st.sampled_from(["mail", "sms", "no"]), max_size=2).map(tuple),
    queue=_maybe(st.sampled_from(["default", "slow"])),
    tenant=st.sampled_from([ANY, ANY, None, "a", "b", "no"]),
    correlation_id=_maybe(st.sampled_from(["c", "d", "no"])),
    key=_maybe(st.sampled_from(["k0", "k4", "no"])),
    error_group=_maybe(st.sampled_from(["E1rror: *", "no"])),
    priority=_maybe(st.integers(0, 3)),
    parked=_maybe(st.booleans()),
    waiting=_maybe(st.booleans()),
    retrying=_maybe(st.booleans()),
    overdue=_maybe(st.booleans()),
    search=_maybe(st.sampled_from(["c", "k4", "9e3779b9", "3c6ef372fe94", "no"])),
    sort=st.builds(Sort, st.sampled_from(["created_at", "due_at", "finished_at"]), st.booleans()),
    limit=st.sampled_from([1, 2, 5, 40]),
)


@settings(max_examples=40, deadline=None)
@given(wanted=filters, most=st.sampled_from([12, 40, 300]))
def test_pages_hold_what_the_specification_holds(filled: Filled, wanted: Filter, most: int) -> None:
    _assert_same(filled, wanted, most)


ALONE: list[dict[str, Any]] = [
    {"error_group": "E1rror: *"},
    {"correlation_id": "c"},
    {"key": "k4"},
    {"search": "c"},
    {"tenant": "a"},
    {"tenant": None},
    {"parked": True},
    {"waiting": True},
    {"retrying": True},
    {"overdue": True},
    {"kinds": ("mail",)},
    {"states": (State.failed,)},
    {},
]


@pytest.mark.parametrize("most", [12, 40, 300])
@pytest.mark.parametrize("criterion", ALONE, ids=str)
def test_each_criterion_alone_holds_in_every_order(
    filled: Filled, criterion: dict[str, Any], most: int
) -> None:
    """Together, as above, they seldom find anything."""
    for by in ("created_at", "due_at", "finished_at"):
        for descending in (False, True):
            wanted = Filter(**criterion, sort=Sort(by, descending), limit=5)
            _assert_same(filled, wanted, most)


def _assert_same(filled: Filled, wanted: Filter, most: int) -> None:
    filled.store.max_examined = most
    whole = filled.specification.perform_blocking(
        filled.specification.find(replace(wanted, limit=10_000))
    )
    found = _walk(filled, wanted)
    assert [record.id for record in found] == [record.id for record in whole]
    # All but tokens, which each store makes.
    same = [replace(record, token=None) for record in found]
    assert same == [replace(record, token=None) for record in whole]


def _walk(filled: Filled, wanted: Filter) -> list[Record]:
    found: list[Record] = []
    for _ in range(50 * ROWS):
        page: Found = filled.ask(filled.store.find(wanted))
        assert len(page) <= wanted.limit
        found += page
        if page.next is None:
            return found
        assert page.next != wanted.follows
        wanted = replace(wanted, follows=page.next)
    raise AssertionError("the pages do not come to an end")


def test_short_and_empty_pages_have_a_next_one(filled: Filled) -> None:
    """The test above examines fewer rows than it needs."""
    filled.store.max_examined = 8
    wanted = Filter(kinds=("no",), limit=5)
    page: Found = filled.ask(filled.store.find(wanted))
    assert (len(page), page.next is None) == (0, False)


@settings(max_examples=20, deadline=None)
@given(wanted=filters, by=st.sampled_from(["error", "kind", "queue", "state"]))
def test_groups_are_those_of_the_specification(filled: Filled, wanted: Filter, by: Any) -> None:
    filled.store.max_examined = 300
    expected = filled.specification.perform_blocking(filled.specification.groups(by, wanted))
    assert filled.ask(filled.store.groups(by, wanted)) == expected


def test_groups_say_since_when_they_counted(filled: Filled) -> None:
    filled.store.max_examined = 10
    groups = filled.ask(filled.store.groups("kind", Filter()))
    assert groups.examined_since is not None
    assert all(group.capped for group in groups)
    assert sum(group.count for group in groups) <= 50
