"""Campaign: cancel and reschedule race with claims of other processes; all agree who won."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from duetime.errors import IllegalState
from duetime.model.actions.action import Action
from duetime.model.state import State
from faults.campaign import (
    Campaign,
    StoreSetup,
    finish_campaign,
    pause,
    running_campaign,
    wait_until,
)
from faults.ledger import Line, by_action
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.work_order import Work

WORKERS = 2
RACERS = 8
# Actions are pre-claimed 0.3 s before they are due; the races aim at that moment.
DELAY_SECONDS = 0.6
# With this number of races each side must win some.
MIN_FAULTS_FOR_ALL = 500
SIDES = ("won by cancel", "won by reschedule", "lost by cancel", "lost by reschedule")


def race(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    won: dict[UUID, Action] = {}
    lost: Counter[str] = Counter()
    with running_campaign(setup, per_second=2) as campaign:
        procs = [campaign.processes.start() for _ in range(WORKERS)]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in procs), 30)
        rng = random.Random(seed)
        with ThreadPoolExecutor(RACERS) as racers:
            rounds = [racers.submit(_race, campaign, n, rng.random()) for n in range(count)]
            for done, future in enumerate(rounds):
                changed = future.result(60)
                if changed is not None:
                    won[changed.id] = changed
                else:
                    lost["lost by cancel" if _cancels(done) else "lost by reschedule"] += 1
                progress.show(done + 1, count)
        verdict = finish_campaign(campaign, Expectations())
        check_winners(campaign, won, verdict)
    verdict.figures["races"] = verdict.figures["faults"] = count
    verdict.figures += lost
    if count >= MIN_FAULTS_FOR_ALL:
        verdict.wrong += [f"no race was {side}" for side in SIDES if not verdict.figures[side]]
    return verdict


def _race(campaign: Campaign, number: int, chance: float) -> Action | None:
    """Cancel or reschedule an action; return None if a claim came first."""
    number += 500_000
    app, receipts = campaign.app.sync, campaign.client.receipts
    receipts.tried.add(number)
    action = app.schedule(Work(number), delay=DELAY_SECONDS)
    receipts.acked[number] = str(action.id)
    pause(DELAY_SECONDS - 0.35 + chance * 0.15)
    try:
        if _cancels(number):
            return app.cancel(action.id, by="racer")
        return app.reschedule(action.id, delay=DELAY_SECONDS, by="racer")
    except IllegalState:
        return None


def _cancels(number: int) -> bool:
    return number % 2 == 1


def check_winners(campaign: Campaign, won: dict[UUID, Action], verdict: Verdict) -> None:
    """Check that cancelled actions never ran, and rescheduled ones not before their new time."""
    lines = by_action(campaign.ledger.lines())
    for action in won.values():
        written = lines.get(str(action.id), [])
        cancelled = action.state is State.cancelled
        verdict.figures["won by cancel" if cancelled else "won by reschedule"] += 1
        if cancelled and (
            written or campaign.observer.sync.get(action.id).state != State.cancelled
        ):
            verdict.wrong.append(f"{action.id} was cancelled and then ran: {written}")
        if not cancelled and _early(action, written):
            verdict.wrong.append(f"{action.id} was rescheduled and ran before that: {written}")


def _early(action: Action, written: list[Line]) -> bool:
    assert action.due_at is not None
    due = action.due_at.timestamp() * 1e6
    return any(line.at < due for line in written)
