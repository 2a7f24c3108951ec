"""Campaign: PostgreSQL crashes between a pre-claim and its start; who cancels then is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from duetime.errors import IllegalState
from duetime.model.actions.action import Action
from duetime.model.state import State
from faults.campaign import (
    Campaign,
    StoreSetup,
    finish_campaign,
    running_campaign,
    wait_until,
)
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.race import check_winners
from faults.recovery import RARE_SWEEPS, check_recovered
from faults.work_order import Work

WORKERS = 2
PER_CRASH = 6
# The server must crash, recover and answer between the claim and the due time.
PRECLAIM_SECONDS, DELAY_SECONDS = 2.0, 2.3
# A renewal in between would find that the claim is gone: here, it hardly ever comes in time.
LEASE_SECONDS = 30.0


def crash_after_claim(setup: StoreSetup, count: int, progress: Progress) -> Verdict:
    timing = {"lease": LEASE_SECONDS, "preclaim": PRECLAIM_SECONDS, "concurrency": 20}
    setup = replace(setup, settings={**setup.settings, **RARE_SWEEPS, **timing})
    won: dict[UUID, Action] = {}
    seen = Verdict()
    with running_campaign(setup, per_second=2) as campaign:
        procs = [campaign.processes.start() for _ in range(WORKERS)]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in procs), 30)
        for done in range(1, count + 1):
            for changed in _strike(campaign, done, seen):
                won[changed.id] = changed
            progress.show(done, count)
            check_recovered(campaign, procs, seen)
        verdict = finish_campaign(campaign, Expectations())
        check_winners(campaign, won, verdict)
    verdict.include(seen)
    verdict.figures["faults"] = count
    if not verdict.figures["claimed before a crash"]:
        verdict.wrong.append("no action was claimed before a crash")
    return verdict


def _strike(campaign: Campaign, number: int, seen: Verdict) -> list[Action]:
    """Crash the server once actions are claimed, and try to change them before they are due."""
    actions = [_schedule(campaign, 500_000 + number * PER_CRASH + n) for n in range(PER_CRASH)]
    ids = [action.id for action in actions]
    wait_until(lambda: _running(campaign, ids) == PER_CRASH, DELAY_SECONDS)
    seen.figures["claimed before a crash"] += _running(campaign, ids)
    assert campaign.setup.server is not None
    campaign.setup.server.restart("immediate")
    return [
        changed for place, each in enumerate(ids) if (changed := _change(campaign, each, place))
    ]


def _schedule(campaign: Campaign, number: int) -> Action:
    campaign.client.receipts.tried.add(number)
    action = campaign.app.sync.schedule(Work(number), delay=DELAY_SECONDS)
    campaign.client.receipts.acked[number] = str(action.id)
    return action


def _running(campaign: Campaign, ids: Sequence[UUID]) -> int:
    return sum(campaign.observer.sync.get(each).state is State.running for each in ids)


def _change(campaign: Campaign, action_id: UUID, place: int) -> Action | None:
    """Cancel or reschedule an action; return None if the store says that it is running."""
    try:
        if place % 2:
            return campaign.app.sync.cancel(action_id, by="operator")
        return campaign.app.sync.reschedule(action_id, delay=2 * DELAY_SECONDS, by="operator")
    except IllegalState:
        return None
