"""Many actions due at one instant, and what their worker takes of memory.

As a module for a process, an app whose handler does nothing: the ledger would be most of it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from duetime import Duetime, State
from faults.crew import Hand
from faults.oracle import Verdict, every_action
from faults.progress import Progress
from faults.stage import Place, Stage, pause, wait_until
from faults.work import Order, Work

BATCH = 1_000
# What a worker may take beyond what it took before the crowd came, whatever its size.
MOST_MEGABYTES = 60.0


def make(order: Order) -> Duetime:
    app = Duetime(order.url, **order.settings)

    @app.handler(kind="work")
    async def work(payload: Work) -> None:
        pass

    return app


def crowd(place: Place, count: int, progress: Progress) -> Verdict:
    """Drain `count` with one worker; not a fault, but what follows an outage."""
    settings = {**place.settings, "lease": 15, "timeout": 30, "concurrency": 100}
    stage = Stage(replace(place, module="faults.crowd", settings=settings), 1, 0)
    verdict = Verdict()
    try:
        at = datetime.now(UTC) + timedelta(seconds=2 + count / 4_000)
        for first in range(0, count, BATCH):
            batch = range(first, min(first + BATCH, count))
            stage.observer.sync.schedule_many([(Work(number), at) for number in batch])
        hand = stage.crew.hire()
        _drain(stage, hand, at, count, progress, verdict)
        stubborn = stage.crew.dismiss()
        verdict.wrong += [f"process {one.pid} did not stop in order" for one in stubborn]
        _check(stage, count, verdict)
    finally:
        stage.crew.kill_all()
        stage.close()
    return verdict


def _drain(
    stage: Stage, hand: Hand, at: datetime, count: int, progress: Progress, verdict: Verdict
) -> None:
    assert wait_until(lambda: "started" in hand.log.read_text(), 60)
    before = _resident(hand)
    pause((at - datetime.now(UTC)).total_seconds())
    if not wait_until(lambda: not stage.unfinished(), 60 + count / 500):
        verdict.wrong.append("the crowd was not drained in time")
    took = (datetime.now(UTC) - at).total_seconds()
    grown = _peak(hand) - before
    progress.show(count, count)
    verdict.figures["megabytes before"] = round(before)
    verdict.figures["megabytes more at most"] = round(grown)
    verdict.figures["drained in a second"] = round(count / took)
    if grown > MOST_MEGABYTES:
        verdict.wrong.append(f"the worker grew by {grown:.0f} MB")


def _check(stage: Stage, count: int, verdict: Verdict) -> None:
    found = list(every_action(stage.observer))
    wrong = [one for one in found if one.state is not State.succeeded or one.losses]
    verdict.figures["actions"] = len(found)
    verdict.wrong += [f"{one.id}: {one.state}, {one.losses} losses" for one in wrong]
    if len(found) != count:
        verdict.wrong.append(f"{len(found)} of {count} actions are there")


def _resident(hand: Hand) -> float:
    return _memory(hand, "VmRSS")


def _peak(hand: Hand) -> float:
    return _memory(hand, "VmHWM")


def _memory(hand: Hand, what: str) -> float:
    """In megabytes."""
    for line in Path(f"/proc/{hand.pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == what:
            return int(rest.split()[0]) / 1024
    raise AssertionError(f"the system does not tell {what}")
