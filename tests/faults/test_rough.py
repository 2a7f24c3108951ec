"""Handlers that block their worker's loop, or take it down."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from duetime import State
from duetime.model.state import Outcome
from faults.places import sqlite_place
from faults.rough import Rude
from faults.stage import Stage, wait_until
from faults.work import Work

LEASE = 1.0


@pytest.fixture(params=["sqlite", "postgres"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    place = sqlite_place(tmp_path)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        place = replace(place, url=url, direct=url)
    settings = {**place.settings, "lease": LEASE, "sweep": 0.3}
    made = Stage(replace(place, module="faults.rough", settings=settings), 1, 0)
    made.observer.payload(Rude, kind="rude")
    made.observer.sync.find(limit=1)
    made.ledger.create()
    yield made
    made.crew.kill_all()
    made.close()


def test_a_handler_that_blocks_the_loop_keeps_its_lease(stage: Stage) -> None:
    """Two workers: the other one would take what is not renewed."""
    app = stage.observer.sync
    blocking = [
        app.schedule(Rude(number, how, 2.5 * LEASE)) for number, how in enumerate(("sleep", "busy"))
    ]
    for _ in range(2):
        stage.crew.hire()
    for action in blocking:
        assert app.wait(action.id, timeout=40).state is State.succeeded
        assert [run.outcome for run in app.runs(action.id)] == [Outcome.succeeded]
    assert len(stage.ledger.lines()) == 4


def test_a_segfault_costs_its_neighbours_little(stage: Stage) -> None:
    app = stage.observer.sync
    killer = app.schedule(Rude(0, "segfault"))
    neighbours = [app.schedule(Work(number, 0.4), delay=number / 5) for number in range(1, 40)]
    hands = [stage.crew.hire(), stage.crew.hire()]

    def supervised() -> bool:
        hands[:] = [hand if hand.alive else stage.crew.hire() for hand in hands]
        return not stage.unfinished()

    assert wait_until(supervised, 90)
    ended = app.get(killer.id)
    assert (ended.state, ended.losses) == (State.failed, 5)
    assert [run.outcome for run in app.runs(killer.id)] == [Outcome.lost] * 5
    found = [app.get(one.id) for one in neighbours]
    assert {one.state for one in found} == {State.succeeded}
    assert max(one.losses for one in found) <= 2
    assert {one.attempt for one in found} == {1}
