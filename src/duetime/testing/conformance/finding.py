"""`find`: every filter, and pages that skip no action."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from duetime.model.actions.action import Record
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.testing.conformance.probe import SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite


class Finding(Suite):
    async def test_an_empty_store_has_nothing_to_find(self, probe: Probe) -> None:
        assert await probe.find() == []

    @pytest.mark.parametrize("state", list(State))
    async def test_find_by_state(self, probe: Probe, state: State) -> None:
        records = {each: await probe.in_state(each) for each in State}
        assert await probe.find(state=state) == [records[state]]

    @pytest.mark.parametrize("state", [State.scheduled, State.running, State.succeeded])
    @pytest.mark.parametrize("field", ["kind", "queue", "correlation_id", "key", "tenant"])
    async def test_find_by_each_field(self, probe: Probe, field: str, state: State) -> None:
        here = await probe.in_state(state, **{field: "here"})
        await probe.in_state(state, **{field: "there"})
        await probe.in_state(state)
        assert await probe.find(**{field: "here"}) == [here]
        assert await probe.find(**{field: "nowhere"}) == []

    async def test_find_returns_one_tenant_or_the_untenanted_or_all(self, probe: Probe) -> None:
        untenanted, ours = await probe.add(), await probe.add(tenant="a")
        assert await probe.find(tenant=None) == [untenanted]
        assert await probe.find(tenant="a") == [ours]
        assert await probe.find(tenant=ANY) == [ours, untenanted]

    @pytest.mark.parametrize("state", [State.scheduled, State.succeeded])
    async def test_find_by_due_time(self, probe: Probe, state: State) -> None:
        """`due_from` is inclusive and `due_before` exclusive: adjacent ranges do not overlap."""
        start = probe.now - 3
        for i in range(4):
            await probe.in_state(state, due_at=start + i)
        assert await _dues(probe, due_from=start + 2) == [start + 2, start + 3]
        assert await _dues(probe, due_before=start + 2) == [start, start + 1]
        assert await _dues(probe, due_from=start + 1, due_before=start + 3) == [
            start + 1,
            start + 2,
        ]
        assert await _dues(probe, due_from=start + 1, due_before=start + 1) == []

    async def test_every_filter_must_match(self, probe: Probe) -> None:
        wanted = await probe.add(kind="a", queue="b", correlation_id="c", key="d", tenant="e")
        await probe.add(kind="x", queue="b", correlation_id="c", key="d", tenant="e")
        await probe.add(kind="a", queue="x", correlation_id="c", key="d2", tenant="e")
        await probe.add(kind="a", queue="b", correlation_id="x", key="d3", tenant="e")
        await probe.add(kind="a", queue="b", correlation_id="c", key="x", tenant="e")
        await probe.add(kind="a", queue="b", correlation_id="c", key="d", tenant="x")
        everything = {"kind": "a", "queue": "b", "correlation_id": "c", "key": "d", "tenant": "e"}
        assert await probe.find(state=State.scheduled, due_from=0, **everything) == [wanted]

    async def test_text_is_compared_as_it_is(self, probe: Probe) -> None:
        record = await probe.add(correlation_id="100%_A")
        for other in ("100%_a", "100__A", "%", "100%_A "):
            assert await probe.find(correlation_id=other) == []
        assert await probe.find(correlation_id="100%_A") == [record]

    async def test_the_newest_id_comes_first(self, probe: Probe) -> None:
        ids = [uuid4() for _ in range(12)]
        await probe.add_many([probe.new(id=item) for item in ids])
        claims = await probe.claim(limit=6)
        await probe.end(*(finish(claim) for claim in claims))
        assert [record.id for record in await probe.find()] == sorted(ids, reverse=True)

    async def test_before_leaves_out_its_own_id(self, probe: Probe) -> None:
        first, second, third = [await probe.add() for _ in range(3)]
        assert await probe.find(before=third.id) == [second, first]
        assert await probe.find(before=first.id) == []

    async def test_the_limit_holds_over_finished_and_unfinished(self, probe: Probe) -> None:
        records = [await probe.in_state(state) for state in [*State, *State]]
        found = await probe.find(limit=7)
        assert [record.id for record in found] == [record.id for record in records[:-8:-1]]

    @pytest.mark.parametrize("size", [1, 3, 4, 200])
    async def test_pages_walk_everything_exactly_once(self, probe: Probe, size: int) -> None:
        for state in [*State, *State]:
            await probe.in_state(state, correlation_id="c")
            await probe.in_state(state)
        assert await _walk(probe, size) == await probe.find(limit=200)
        assert await _walk(probe, size, correlation_id="c") == await probe.find(
            limit=200, correlation_id="c"
        )
        assert len(await _walk(probe, size, correlation_id="c")) == 10

    async def test_a_walk_misses_nothing_while_actions_finish_and_arrive(
        self, probe: Probe
    ) -> None:
        ids = [(await probe.add(due_at=probe.now + i)).id for i in range(9)]
        probe.pass_time(SECOND)
        seen = [record.id for record in await probe.find(limit=3)]
        while True:
            for claim in await probe.claim(limit=1):
                await probe.end(finish(claim))
            await probe.add(due_at=probe.now + SECOND)
            page = await probe.find(limit=3, before=seen[-1])
            if not page:
                break
            seen += [record.id for record in page]
        assert seen == sorted(ids, reverse=True)


async def _walk(probe: Probe, size: int, **wanted: Any) -> list[Record]:
    found: list[Record] = []
    before: UUID | None = None
    while page := await probe.find(limit=size, before=before, **wanted):
        assert len(page) <= size
        found += page
        before = page[-1].id
    return found


async def _dues(probe: Probe, **wanted: Any) -> list[int]:
    return sorted(record.due_at or 0 for record in await probe.find(**wanted))
