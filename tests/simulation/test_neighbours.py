"""What an action that kills its worker costs the actions that run beside it, in virtual time."""

import asyncio
import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from duetime.model.actions.action import Record
from duetime.model.actions.claim import FATAL_LOSSES, SUSPECT_LOSSES
from duetime.model.state import Outcome, State
from simulation import cluster as simulated
from simulation.cluster import Cluster
from simulation.handler_script import Script, Step
from simulation.handlers import Work
from simulation.scenario import Faults, Scenario, draw
from simulation.trace import Trace
from simulation.virtual_loop import SimLoop

NEIGHBOURS = 15
RUN_SECONDS = 15.0
# The default settings, and how soon the actions of a dead worker are claimed again.
LEASE_SECONDS, SWEEP_SECONDS, RESCUE_SECONDS = 15.0, 10.0, 30.0
# In thirds of a lease: far more than all of it takes.
MAX_ROUNDS = 200
SCRIPTS = [
    Script("work", (Step(1.0, "poison"),)),
    *[Script("work", (Step(RUN_SECONDS, "ok"),))] * NEIGHBOURS,
]


def scenario(seed: int, nodes: int) -> Scenario:
    drawn = draw(seed)
    settings = replace(
        drawn.settings,
        concurrency=100,
        queues=None,
        lease=LEASE_SECONDS,
        sweep=SWEEP_SECONDS,
        poll=SWEEP_SECONDS,
        preclaim=0.5,
        batch=500,
    )
    return replace(
        drawn,
        nodes=nodes,
        actions=len(SCRIPTS),
        latency=0.001,
        settings=settings,
        faults=Faults(),
        some_without_handlers=False,
    )


async def run_all(cluster: Cluster) -> list[Record]:
    """Schedule all actions at once, due now, and return their records when all have finished."""
    client, store = cluster._client, cluster._real_store
    cluster._calm_down()  # so that a worker that died is started again soon
    async with store.listen(cluster._network.deliver_wakes):
        for slot in range(cluster._scenario.nodes):
            cluster._boot(slot)
        requests = [(Work(number), client._clock.now()) for number in range(len(SCRIPTS))]
        operation = client._verbs.schedule_many(requests)
        actions = operation.to_result(await client._store.perform(operation.flow))
        for _ in range(MAX_ROUNDS):
            if not store.unfinished():
                break
            await asyncio.sleep(LEASE_SECONDS / 3)
        cluster._shut_down()
        await asyncio.sleep(0)
    return [record for action in actions if (record := store.record(action.id))]


@pytest.fixture(params=range(5))
def seed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    scripts: Iterator[Script] = iter(SCRIPTS)
    monkeypatch.setattr(simulated, "draw_script", lambda rng, scenario: next(scripts))
    return int(request.param)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_a_neighbour_is_lost_twice_at_most_and_then_waits_for_its_turn(
    seed: int, nodes: int
) -> None:
    loop = SimLoop()
    trace = Trace(loop.time)
    with simulated.errors_as_violations(trace):
        poison, *neighbours = loop.run_until_complete(
            run_all(Cluster(loop, scenario(seed, nodes), trace))
        )
    loop.close()
    assert trace.violations == []
    assert (poison.state, poison.outcome, poison.losses) == (
        State.failed,
        Outcome.lost,
        FATAL_LOSSES,
    )
    assert {neighbour.state for neighbour in neighbours} == {State.succeeded}
    assert max(neighbour.losses for neighbour in neighbours) == SUSPECT_LOSSES
    turns = math.ceil(NEIGHBOURS / nodes) * RUN_SECONDS
    assert max(map(seconds_until_finished, neighbours)) < FATAL_LOSSES * RESCUE_SECONDS + turns


def seconds_until_finished(record: Record) -> float:
    assert record.finished_at is not None
    return (record.finished_at - record.created_at) / 1_000_000
