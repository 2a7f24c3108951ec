"""Handlers that block their worker's loop, or take it down."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from duetime import State
from duetime.model.state import Outcome
from faults.campaign import Campaign, wait_until
from faults.campaign_stores import sqlite_setup
from faults.rough_app import RudeWork
from faults.work_order import Work

LEASE_SECONDS = 2.0


@pytest.fixture(params=["sqlite", "postgres"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Campaign]:
    setup = sqlite_setup(tmp_path)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        setup = replace(setup, url=url, direct=url)
    settings = {**setup.settings, "lease": LEASE_SECONDS, "sweep": 0.3}
    running = Campaign(replace(setup, module="faults.rough_app", settings=settings), 1, 0)
    running.observer.payload(RudeWork, kind="rude")
    running.observer.sync.find(limit=1)
    running.ledger.create()
    yield running
    running.processes.kill_all()
    running.close()


def test_a_handler_that_blocks_the_loop_keeps_its_lease(campaign: Campaign) -> None:
    """Two workers: the other worker would rescue a lease that is not renewed."""
    app = campaign.observer.sync
    blocking = [
        app.schedule(RudeWork(number, how, 2.5 * LEASE_SECONDS))
        for number, how in enumerate(("sleep", "busy"))
    ]
    for _ in range(2):
        campaign.processes.start()
    for action in blocking:
        assert app.wait(action.id, timeout=40).state is State.succeeded
        assert [run.outcome for run in app.runs(action.id)] == [Outcome.succeeded]
    assert len(campaign.ledger.lines()) == 4


def test_a_segfault_costs_its_neighbours_at_most_two_losses(campaign: Campaign) -> None:
    app = campaign.observer.sync
    killer = app.schedule(RudeWork(0, "segfault"))
    neighbours = [app.schedule(Work(number, 0.4), delay=number / 5) for number in range(1, 40)]
    procs = [campaign.processes.start(), campaign.processes.start()]

    def supervised() -> bool:
        procs[:] = [proc if proc.alive else campaign.processes.start() for proc in procs]
        return not campaign.unfinished()

    assert wait_until(supervised, 90)
    ended = app.get(killer.id)
    assert (ended.state, ended.losses) == (State.failed, 5)
    assert [run.outcome for run in app.runs(killer.id)] == [Outcome.lost] * 5
    finished = [app.get(neighbour.id) for neighbour in neighbours]
    assert {neighbour.state for neighbour in finished} == {State.succeeded}
    assert max(neighbour.losses for neighbour in finished) <= 2
    assert {neighbour.attempt for neighbour in finished} == {1}
