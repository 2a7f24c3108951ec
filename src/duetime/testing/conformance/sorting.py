"""`find` in other orders, and `groups`: pages that show everything once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from duetime.model.actions.action import Record
from duetime.model.filter import Sort, SortField
from duetime.model.groups import GroupField
from duetime.model.state import FINISHED, State
from duetime.testing.conformance.probe import LATER, SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite

FIELDS: tuple[SortField, ...] = ("created_at", "due_at", "finished_at")
KINDS_AND_TENANTS = [(kind, tenant) for kind in ("a", "b") for tenant in (None, "x", "y")]


class Sorting(Suite):
    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("field", FIELDS)
    async def test_each_order(self, probe: Probe, field: SortField, descending: bool) -> None:
        await _fill(probe)
        expected = sorted(await probe.all(), key=lambda record: _key(record, field))
        expected = [record for record in expected if _is_in(record, field)]
        found = await probe.find(sort=Sort(field, descending), limit=200)
        assert found == (expected[::-1] if descending else expected)
        assert len(found) == {"created_at": 60, "due_at": 24, "finished_at": 36}[field]

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("field", FIELDS)
    @pytest.mark.parametrize(
        "criteria",
        [
            {},
            {"tenant": "x"},
            {"tenant": None},
            {"kind": "a"},
            {"kind": "b", "tenant": "y"},
            {"correlation_id": "even"},
            {"states": (State.running, State.failed)},
            {"state": State.failed},
            {"error_group": "even"},
            {"due_from": 0},
            {"search": "even"},
            {"queue": "none"},
        ],
    )
    async def test_pages_in_each_order_hold_everything_once(
        self, probe: Probe, field: SortField, descending: bool, criteria: dict[str, Any]
    ) -> None:
        await _fill(probe)
        wanted = {**criteria, "sort": Sort(field, descending)}
        whole = await probe.find(limit=200, **wanted)
        for size in (1, 3, 7):
            assert await walk(probe, size, **wanted) == whole

    @pytest.mark.parametrize("descending", [False, True])
    async def test_many_at_one_time_are_in_the_order_of_their_ids(
        self, probe: Probe, descending: bool
    ) -> None:
        when = probe.now
        ids = [(await probe.add(due_at=when + n // 9)).id for n in range(27)]
        for record in await probe.find(limit=200):
            assert record.due_at is not None
        found = await walk(probe, 2, sort=Sort("due_at", descending))
        assert [record.id for record in found] == (ids[::-1] if descending else ids)

    async def test_a_walk_by_due_time_misses_nothing_while_others_are_claimed(
        self, probe: Probe
    ) -> None:
        ids = [(await probe.add(due_at=probe.now + n)).id for n in range(8)]
        probe.pass_time(SECOND)
        page = await probe.find_page(limit=3, sort=Sort("due_at", False))
        seen = [record.id for record in page]
        for claim in await probe.claim(limit=5):
            await probe.end(finish(claim))
        while page.next:
            page = await probe.find_page(limit=3, sort=Sort("due_at", False), follows=page.next)
            seen += [record.id for record in page]
        assert seen == [*ids[:3], *ids[5:]]

    async def test_a_waiting_child_has_no_place_in_the_order_of_due_times(
        self, probe: Probe
    ) -> None:
        parent = await probe.add(delay=LATER)
        await probe.child(parent.id)
        assert await probe.find(sort=Sort("due_at", True)) == [parent]

    @pytest.mark.parametrize("by", ["kind", "queue", "state"])
    async def test_groups_count_each_value(self, probe: Probe, by: GroupField) -> None:
        await _fill(probe)
        records = await probe.all()
        counts: dict[str, list[UUID]] = {}
        for record in records:
            counts.setdefault(str(getattr(record, by)), []).append(record.id)
        groups = await probe.groups(by)
        assert {group.value: (group.count, group.newest_id) for group in groups} == {
            value: (len(ids), max(ids)) for value, ids in counts.items()
        }
        assert groups.examined_since is None
        assert not any(group.capped for group in groups)
        order = [(-group.count, group.value) for group in groups]
        assert order == sorted(order)

    async def test_groups_of_errors_leave_out_what_has_none(self, probe: Probe) -> None:
        await _fill(probe)
        groups = await probe.groups("error")
        assert {group.value: group.count for group in groups} == {"even": 6, "odd": 6}
        for group in groups:
            failed = await probe.find(error_group=group.value, limit=200)
            assert (group.count, group.newest_id) == (len(failed), failed[0].id)

    async def test_groups_count_no_more_than_they_may(self, probe: Probe) -> None:
        newest = [(await probe.add(delay=LATER)).id for _ in range(3)][-1]
        for most, capped in ((2, True), (3, False)):
            groups = await probe.groups("kind", most=most)
            [(count, is_capped, id_)] = [(g.count, g.capped, g.newest_id) for g in groups]
            assert (count, is_capped, id_) == (most, capped, newest)
            assert (groups.examined_since is not None) == capped

    async def test_groups_keep_to_the_filter(self, probe: Probe) -> None:
        await _fill(probe)
        groups = await probe.groups("kind", tenant="x", states=(State.failed, State.running))
        assert {group.value: group.count for group in groups} == {"a": 4, "b": 4}
        assert len(await probe.groups("state", tenant="nobody")) == 0
        assert len(await probe.groups("error", state=State.succeeded)) == 0


async def walk(probe: Probe, size: int, **wanted: Any) -> list[Record]:
    """Return what all pages hold; each is at most `size` long."""
    page = await probe.find_page(limit=size, **wanted)
    found = [*page]
    while page.next is not None:
        assert len(page) <= size
        page = await probe.find_page(limit=size, follows=page.next, **wanted)
        found += page
    return found


async def _fill(probe: Probe) -> None:
    """Add two actions of each state, kind and tenant; some share their times."""
    number = 0
    for state in State:
        for kind, tenant in KINDS_AND_TENANTS:
            for turn in range(2):
                number += 1
                name = "even" if number % 2 == 0 else "odd"
                given: dict[str, Any] = {"kind": kind, "tenant": tenant, "correlation_id": name}
                if state is State.failed:
                    claim = await probe.running(**given)
                    await probe.end(finish(claim, state, error=name))
                else:
                    await probe.in_state(state, **given)
                probe.pass_time(turn)


def _is_in(record: Record, field: SortField) -> bool:
    finished = record.state in FINISHED
    return {"created_at": True, "due_at": not finished, "finished_at": finished}[field]


def _key(record: Record, field: SortField) -> tuple[int, UUID]:
    value = 0 if field == "created_at" else getattr(record, field)
    return (value or 0, record.id)
