"""Campaign: many actions due at one instant, and the memory that their worker needs.

Its app has a handler that does nothing: writing a ledger would dominate the load.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from duetime import Duetime, State
from faults.campaign import Campaign, StoreSetup, pause, wait_until
from faults.oracle import Verdict, every_action
from faults.processes import ManagedProcess
from faults.progress import Progress
from faults.work_order import Work, WorkOrder

BATCH = 1_000
# Allowed growth of a worker, whatever the number of actions.
MAX_GROWTH_MEGABYTES = 60.0


def make(order: WorkOrder) -> Duetime:
    app = Duetime(order.url, **order.settings)

    @app.handler(kind="work")
    async def work(payload: Work) -> None:
        pass

    return app


def burst(setup: StoreSetup, count: int, progress: Progress) -> Verdict:
    """Drain `count` actions with one worker, as after an outage."""
    settings = {**setup.settings, "lease": 15, "timeout": 30, "concurrency": 100}
    campaign = Campaign(replace(setup, module="faults.burst", settings=settings), 1, 0)
    verdict = Verdict()
    try:
        at = datetime.now(UTC) + timedelta(seconds=2 + count / 4_000)
        for first in range(0, count, BATCH):
            batch = range(first, min(first + BATCH, count))
            campaign.observer.sync.schedule_many([(Work(number), at) for number in batch])
        proc = campaign.processes.start()
        _drain(campaign, proc, at, count, progress, verdict)
        not_stopped = campaign.processes.stop_all()
        verdict.wrong += [f"process {item.pid} did not stop in order" for item in not_stopped]
        _check(campaign, count, verdict)
    finally:
        campaign.processes.kill_all()
        campaign.close()
    return verdict


def _drain(
    campaign: Campaign,
    proc: ManagedProcess,
    at: datetime,
    count: int,
    progress: Progress,
    verdict: Verdict,
) -> None:
    assert wait_until(lambda: "started" in proc.log.read_text(), 60)
    before = _resident(proc)
    pause((at - datetime.now(UTC)).total_seconds())
    if not wait_until(lambda: not campaign.unfinished(), 60 + count / 500):
        verdict.wrong.append("the actions were not finished in time")
    seconds = (datetime.now(UTC) - at).total_seconds()
    growth = _peak(proc) - before
    progress.show(count, count)
    verdict.figures["megabytes before"] = round(before)
    verdict.figures["megabytes more at most"] = round(growth)
    verdict.figures["drained in a second"] = round(count / seconds)
    if growth > MAX_GROWTH_MEGABYTES:
        verdict.wrong.append(f"the worker grew by {growth:.0f} MB")


def _check(campaign: Campaign, count: int, verdict: Verdict) -> None:
    actions = list(every_action(campaign.observer))
    wrong = [item for item in actions if item.state is not State.succeeded or item.losses]
    verdict.figures["actions"] = len(actions)
    verdict.wrong += [f"{item.id}: {item.state}, {item.losses} losses" for item in wrong]
    if len(actions) != count:
        verdict.wrong.append(f"{len(actions)} of {count} actions are there")


def _resident(proc: ManagedProcess) -> float:
    return _memory(proc, "VmRSS")


def _peak(proc: ManagedProcess) -> float:
    return _memory(proc, "VmHWM")


def _memory(proc: ManagedProcess, what: str) -> float:
    """Return a figure of /proc in megabytes."""
    for line in Path(f"/proc/{proc.pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == what:
            return int(rest.split()[0]) / 1024
    raise AssertionError(f"/proc does not report {what}")
