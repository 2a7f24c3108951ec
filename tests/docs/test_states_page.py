"""The moves that the documentation lists are those that a store allows, no more, no less."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from duetime.errors import IllegalState
from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claim
from duetime.model.state import FINISHED, State
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from duetime.testing.conformance.probe import Probe, finish, reschedule

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "states.md"
ROW = re.compile(r"^\| `(?P<start>\w+)` \| `(?P<end>\w+)` \| (?P<move>\w+) \|", re.MULTILINE)
EDGE = re.compile(r"^ +(?P<start>\w+) --> (?P<end>\w+): (?P<moves>.+)$", re.MULTILINE)

Moves = set[tuple[str, str, str]]
Attempt = Callable[[Probe, Record], Awaitable[object]]


async def claim(probe: Probe, record: Record) -> None:
    await probe.claim()


def finishing(state: State) -> Attempt:
    async def attempt(probe: Probe, record: Record) -> None:
        await probe.end(finish(claim_on(record), state))

    return attempt


async def ending_again(probe: Probe, record: Record) -> None:
    await probe.end(reschedule(claim_on(record)))


async def replace(probe: Probe, record: Record) -> None:
    await probe.add_many([probe.new(key=record.key)], "replace")


def claim_on(record: Record) -> Claim:
    """Return the claim on a record; a record without a token has none."""
    token = record.token or record.id
    return Claim(record.id, token, "", 1, "", "", None, None, 0, 1, 0, 0, "", None, None, None)


ATTEMPTS: list[tuple[str, Attempt]] = [
    ("claim", claim),
    ("reschedule", lambda probe, record: probe.reschedule(record.id, probe.now)),
    ("replace", replace),
    ("cancel", lambda probe, record: probe.cancel(record.id)),
    ("cancel", lambda probe, record: probe.cancel(record.id, running=True)),
    ("retry", lambda probe, record: probe.retry(record.id)),
    ("finish", finishing(State.succeeded)),
    ("finish", finishing(State.failed)),
    ("finish", finishing(State.cancelled)),
    ("again", ending_again),
]


async def allowed_moves() -> Moves:
    """Try every verb on an action in every state, and see what becomes of it."""
    moves: Moves = set()
    for start in State:
        for move, attempt in ATTEMPTS:
            clock = FakeClock()
            probe = Probe(MemoryStore(clock=clock), clock)
            before = await probe.in_state(start, key="k", due_at=probe.now)
            try:
                await attempt(probe, before)
            except IllegalState:
                continue
            after = await probe.get(before.id)
            if after != before:
                moves.add((start.value, after.state.value, move))
    return moves | await settlements()


async def settlements() -> Moves:
    """Only a child can be settled, so it is asked what becomes of one."""
    clock = FakeClock()
    probe = Probe(MemoryStore(clock=clock), clock)
    moves: Moves = set()
    for end in sorted(FINISHED):
        parent = await probe.finished(end)
        child = await probe.add(after=parent.id, on="succeeded", delay=0)
        [after] = await probe.settle(parent.id)
        moves.add((child.state.value, after.state.value, "settle"))
    return moves


async def test_the_table_lists_what_a_store_allows() -> None:
    rows = ROW.finditer(PAGE.read_text(encoding="utf-8"))
    assert {(row["start"], row["end"], row["move"]) for row in rows} == await allowed_moves()


async def test_the_diagram_draws_what_a_store_allows() -> None:
    edges = EDGE.finditer(PAGE.read_text(encoding="utf-8"))
    drawn = {(e["start"], e["end"], move) for e in edges for move in e["moves"].split(", ")}
    assert drawn == await allowed_moves()
