"""Cancel and reschedule race the claims of other processes: somebody wins, and all agree who."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from duetime.errors import IllegalState
from duetime.model.actions.action import Action
from duetime.model.state import State
from faults.ledger import Line, by_action
from faults.oracle import Law, Verdict
from faults.progress import Progress
from faults.stage import Place, Stage, conclude, pause, staged, wait_until
from faults.work import Work

WORKERS = 2
RACERS = 8
# An action can be taken from its pre-claim on, 0.3 s before it is due: aim around that.
DELAY = 0.6
# Of so many races some are won by each side.
ENOUGH_FOR_ALL = 500
SIDES = ("won by cancel", "won by reschedule", "lost by cancel", "lost by reschedule")


def race(place: Place, count: int, progress: Progress, seed: int = 1) -> Verdict:
    won: dict[UUID, Action] = {}
    lost: Counter[str] = Counter()
    with staged(place, per_second=2) as stage:
        hands = [stage.crew.hire() for _ in range(WORKERS)]
        assert wait_until(lambda: all(stage.has_started(hand) for hand in hands), 30)
        dice = random.Random(seed)
        with ThreadPoolExecutor(RACERS) as racers:
            rounds = [racers.submit(_race, stage, n, dice.random()) for n in range(count)]
            for done, one in enumerate(rounds):
                changed = one.result(60)
                if changed is not None:
                    won[changed.id] = changed
                else:
                    lost["lost by cancel" if _cancels(done) else "lost by reschedule"] += 1
                progress.show(done + 1, count)
        verdict = conclude(stage, Law())
        _check(stage, won, verdict)
    verdict.figures["races"] = verdict.figures["faults"] = count
    verdict.figures += lost
    if count >= ENOUGH_FOR_ALL:
        verdict.wrong += [f"no race was {side}" for side in SIDES if not verdict.figures[side]]
    return verdict


def _race(stage: Stage, number: int, chance: float) -> Action | None:
    """What came of a cancel or reschedule; None if it lost against a claim."""
    number += 500_000
    app, receipts = stage.app.sync, stage.customer.receipts
    receipts.tried.add(number)
    made = app.schedule(Work(number), delay=DELAY)
    receipts.acked[number] = str(made.id)
    pause(DELAY - 0.35 + chance * 0.15)
    try:
        if _cancels(number):
            return app.cancel(made.id, by="racer")
        return app.reschedule(made.id, delay=DELAY, by="racer")
    except IllegalState:
        return None


def _cancels(number: int) -> bool:
    return number % 2 == 1


def _check(stage: Stage, won: dict[UUID, Action], verdict: Verdict) -> None:
    """A cancel that was told to have won left no trace; a reschedule moved the start."""
    lines = by_action(stage.ledger.lines())
    for action in won.values():
        written = lines.get(str(action.id), [])
        cancelled = action.state is State.cancelled
        verdict.figures["won by cancel" if cancelled else "won by reschedule"] += 1
        if cancelled and (written or stage.observer.sync.get(action.id).state != State.cancelled):
            verdict.wrong.append(f"{action.id} was cancelled and then ran: {written}")
        if not cancelled and _early(action, written):
            verdict.wrong.append(f"{action.id} was rescheduled and ran before that: {written}")


def _early(action: Action, written: list[Line]) -> bool:
    assert action.due_at is not None
    due = action.due_at.timestamp() * 1e6
    return any(line.at < due for line in written)
