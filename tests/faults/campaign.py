"""A running campaign: its store, ledger, client thread and processes, and its final checks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from duetime import State
from faults.client_process import MAX_WORK_SECONDS, ClientThread, Receipts, client_app
from faults.ledger import Ledger
from faults.oracle import Expectations, Verdict, cases, judge
from faults.processes import ManagedProcess, ProcessGroup, count_lines
from faults.proxy import Proxy
from faults.work_order import WorkOrder
from servers import OwnServer

LEASE_SECONDS, SWEEP_SECONDS = 1.5, 0.5
SETTINGS: dict[str, Any] = {
    "lease": LEASE_SECONDS,
    "sweep": SWEEP_SECONDS,
    "poll_unheard": 0.3,
    "grace": 2,
    "preclaim": 0.3,
    "concurrency": 8,
    "timeout": 3,
}
# Extra seconds for recovery on a loaded machine, beyond lease and sweep.
MARGIN_SECONDS = 4.0
MAX_CALL_SECONDS = 30.0


@dataclass(frozen=True)
class StoreSetup:
    """A store, the app of its workers, and their settings.

    Processes use `url`, which may lead through a proxy; checks use `direct`.
    """

    url: str
    direct: str
    folder: Path
    module: str = "faults.plain_app"
    planted: str = ""
    exactly_once: bool = False
    # Whether the app has jobs.
    ticking: bool = False
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))
    server: OwnServer | None = None
    proxy: Proxy | None = None

    @property
    def order(self) -> WorkOrder:
        return WorkOrder(
            self.url, self.direct, self.module, planted=self.planted, settings=self.settings
        )


class Campaign:
    """The parts of a campaign."""

    def __init__(self, setup: StoreSetup, per_second: float, work: float) -> None:
        self.setup = setup
        self.observer = client_app(setup.direct, setup.settings)
        self.ledger = Ledger(setup.direct)
        self.processes = ProcessGroup(setup.order, setup.folder)
        self.app = client_app(setup.url, setup.settings)
        self.client = ClientThread(self.app, 1, per_second, work)
        self._firsts = iter(range(1_000_000, 10**9, 100_000))

    def next_first(self) -> int:
        """Return the first number for another client process."""
        return next(self._firsts)

    def receipts(self) -> Receipts:
        """Return the receipts of all clients."""
        receipts = Receipts()
        receipts.add(self.client.receipts)
        for proc in self.processes.members:
            receipts.read(proc.output.read_text())
        return receipts

    def pause_jobs(self) -> None:
        """Pause all jobs: occurrences finish, and no new ones are inserted."""
        for job in self.observer.sync.jobs.list(limit=200):
            self.observer.sync.jobs.pause(job.name)

    def has_started(self, proc: ManagedProcess) -> int:
        """Return how many lines a process has written to the ledger."""
        return count_lines(self.setup.direct, proc.pid)

    def settle(self, within: float) -> bool:
        """Wait until all actions are finished; return False after `within` seconds."""
        return wait_until(lambda: not self.unfinished(), within)

    def unfinished(self) -> bool:
        # Each state is queried twice: an action may change its state between two queries.
        states = (State.scheduled, State.running) * 2
        return any(len(self.observer.sync.find(state=state, limit=1)) for state in states)

    def close(self) -> None:
        self.ledger.close()
        for app in (self.app, self.observer):
            app.sync.close()


@contextmanager
def running_campaign(
    setup: StoreSetup, per_second: float = 12, work: float = MAX_WORK_SECONDS
) -> Iterator[Campaign]:
    """Run a campaign with a client whose actions take up to `work` seconds.

    All processes are killed at the end.
    """
    campaign = Campaign(setup, per_second, work)
    campaign.observer.sync.find(limit=1)
    campaign.ledger.create()
    campaign.client.start()
    try:
        yield campaign
    finally:
        campaign.client.stop()
        campaign.processes.kill_all()
        campaign.close()


def finish_campaign(campaign: Campaign, expectations: Expectations, within: float = 60) -> Verdict:
    """Stop injecting faults, let all actions finish, and check the history."""
    campaign.client.stop()
    campaign.processes.kill_clients()
    unexpected_exits = campaign.processes.unexpected_exits()
    campaign.pause_jobs()
    # There may be no worker left to finish the rest.
    if not campaign.settle(0 if unexpected_exits else within):
        campaign.processes.request_stacks()
    not_stopped = campaign.processes.stop_all()
    expectations = replace(
        expectations, exactly_once=expectations.exactly_once or campaign.setup.exactly_once
    )
    lines = campaign.ledger.lines()
    receipts = campaign.receipts()
    verdict = judge(
        cases(campaign.observer, lines), receipts, campaign.processes.silences(), expectations
    )
    verdict.wrong += [
        f"process {proc.pid} ended by itself with {proc.process.returncode}: {proc.log}"
        for proc in unexpected_exits
    ]
    verdict.wrong += [
        f"process {proc.pid} did not stop in order on SIGTERM" for proc in not_stopped
    ]
    slowest = verdict.slowest_call = campaign.client.receipts.slowest
    verdict.figures["calls refused as unavailable"] = campaign.client.receipts.refused
    if slowest > MAX_CALL_SECONDS:
        verdict.wrong.append(f"a call took {slowest:.1f} s")
    if verdict.wrong:
        _save_evidence(campaign, verdict)
    return verdict


def _save_evidence(campaign: Campaign, verdict: Verdict) -> None:
    """Save the ledger of a history with violations."""
    lines = [line._asdict() for line in campaign.ledger.lines()]
    path = campaign.setup.folder / "ledger.json"
    path.write_text(json.dumps({"wrong": verdict.wrong, "lines": lines}, indent=1))


def wait_until(condition: Callable[[], object], within: float) -> bool:
    """Poll until the condition holds; return False after `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        pause(0.05)
    return True


def pause(seconds: float) -> None:
    """Sleep, to pace a campaign."""
    threading.Event().wait(seconds)
