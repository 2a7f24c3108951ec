"""The oracle sees what is wrong: in histories made by hand, and in mistakes planted in the code."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from duetime import Duetime, State
from duetime.model.actions.action import Action, Run
from duetime.model.state import Outcome
from faults.customer import Receipts
from faults.halt import halt
from faults.kill import kill
from faults.ledger import ENDED, STARTED, Line
from faults.mutants import MISTAKES
from faults.oracle import Case, Law, judge
from faults.places import sqlite_place
from faults.progress import Progress, table
from faults.stage import conclude, staged, wait_until
from faults.work import Work

DUE = datetime(2030, 1, 1, tzinfo=UTC)


def run(seconds: float = 1.0, outcome: Outcome = Outcome.succeeded, pid: int = 7) -> Run:
    return Run(
        id=uuid4(),
        action_id=uuid4(),
        attempt=1,
        worker=f"host-{pid}-abc",
        started_at=DUE,
        finished_at=DUE + timedelta(seconds=seconds),
        lease_expires_at=None,
        outcome=outcome,
        result=None,
        error=None,
        late_by=timedelta(0),
    )


def line(of: Run, event: str, seconds: float, pid: int = 7) -> Line:
    at = int((DUE + timedelta(seconds=seconds)).timestamp() * 1_000_000)
    return Line("", str(of.id), pid, 1, event, at, uuid4().hex)


def good(state: State = State.succeeded) -> Case:
    """An action whose first run was lost, and whose second succeeded."""
    lost, last = run(2.0, Outcome.lost, pid=6), run(3.0)
    lines = [line(lost, STARTED, 0.1, 6), line(last, STARTED, 2.1), line(last, ENDED, 2.5)]
    return Case(action(state), [lost, last], lines)


def action(state: State) -> Action:
    """As the store tells it, from an app that has made one."""
    app = Duetime("memory://")
    app.payload(Work, kind="work")
    made = app.sync.schedule(Work(1), at=DUE)
    return replace(made, state=state)


def wrongs(case: Case, law: Law | None = None, **receipts: Any) -> list[str]:
    told = {"tried": {1}, "acked": {1: str(case.action.id)}, **receipts}
    silences = {6: [DUE.timestamp()]}
    return judge([case], Receipts(**told), silences, law or Law()).wrong


def test_a_good_history_is_good() -> None:
    assert wrongs(good()) == []
    assert wrongs(good(), Law(exactly_once=True, recovery=2.5)) == []


def changed(change: Callable[[Case], Case]) -> Case:
    return change(good())


BAD: dict[str, tuple[str, Callable[[Case], Case]]] = {
    "left running": ("is not finished", lambda c: replace(c, action=action(State.running))),
    "started early": (
        "before it was due",
        lambda c: replace(c, lines=[line(c.runs[0], STARTED, -0.1, 6), *c.lines[1:]]),
    ),
    "unrecorded start": ("is not on record", lambda c: replace(c, runs=c.runs[1:])),
    "run after its end": (
        "though a run had ended it",
        lambda c: replace(c, runs=[replace(c.runs[0], outcome=Outcome.succeeded), c.runs[1]]),
    ),
    "no effect": ("no handler came to its end", lambda c: replace(c, lines=c.lines[:2])),
    "recorded too soon": (
        "before its handler came to its end",
        lambda c: replace(c, lines=[*c.lines[:2], line(c.runs[1], ENDED, 3.5)]),
    ),
    "another's run": (
        "ran what",
        lambda c: replace(c, lines=[*c.lines[:2], line(c.runs[1], ENDED, 2.5, pid=8)]),
    ),
    "one run twice": (
        "was started 2 times",
        lambda c: replace(c, lines=[*c.lines, line(c.runs[1], STARTED, 2.2)]),
    ),
    "wrong end": ("its last run ended as", lambda c: replace(c, action=action(State.cancelled))),
    "lost too soon": (
        "failed as lost after 1 losses",
        lambda c: replace(c, action=action(State.failed), runs=c.runs[:1], lines=c.lines[:1]),
    ),
}


@pytest.mark.parametrize(("said", "change"), BAD.values(), ids=BAD.keys())
def test_a_bad_history_is_told(said: str, change: Callable[[Case], Case]) -> None:
    assert any(said in one for one in wrongs(changed(change)))


def test_a_second_effect_is_told_where_there_must_be_one() -> None:
    case = good()
    double = replace(case, lines=[*case.lines, line(case.runs[0], ENDED, 1.0, pid=6)])
    assert wrongs(double) == []
    assert any("2 effects" in one for one in wrongs(double, Law(exactly_once=True)))


def ticks(*seconds: float) -> list[str]:
    """What is said of a job whose ticks came so."""
    case = good()
    made = [DUE + timedelta(seconds=one) for one in seconds]
    occurrences = [
        replace(case, action=replace(case.action, job="shop-tick", tick=tick)) for tick in made
    ]
    return judge(occurrences, Receipts(), {6: [DUE.timestamp()]}, Law()).wrong


def test_a_tick_that_is_missing_or_came_twice_is_told() -> None:
    assert ticks(0, 1, 2) == []
    assert any("no tick between" in one for one in ticks(0, 1, 3))
    assert any("2 actions for" in one for one in ticks(0, 1, 1, 2))


def test_a_late_rescue_is_told() -> None:
    assert any("rescued 2.0 s after" in one for one in wrongs(good(), Law(recovery=1.5)))


def test_a_late_rescue_of_a_claim_that_nobody_heard_of_is_told() -> None:
    law = Law(unheard=True, recovery=1.5)
    assert any("rescued 2.0 s after" in one for one in wrongs(good(), law))


def test_a_worker_that_ends_by_itself_is_told(tmp_path: Path) -> None:
    place = replace(sqlite_place(tmp_path), module="faults.nowhere")
    verdict = kill(place, 1, Progress("kill", silent=True))
    assert any("ended by itself with 1" in one for one in verdict.wrong)


def test_what_was_acknowledged_must_be_there_once() -> None:
    case = good()
    lost = wrongs(case, tried={1, 2}, acked={1: str(case.action.id), 2: str(uuid4())})
    assert any("number 2: acknowledged" in one for one in lost)
    assert any("number 1: found" in one for one in wrongs(case, tried=set(), acked={}))


def test_a_claim_that_a_crash_undid_is_no_fault() -> None:
    case = good()
    undone = replace(case, runs=case.runs[1:])
    assert wrongs(undone, Law(claims_may_vanish=True)) == []


ENDED_WELL = State.succeeded
SAID = {
    "unfenced": "before its handler came to its end",
    "unrun": "no handler came to its end",
    "early": "before it was due",
    "twice": "was started 2 times",
}


# So often a mistake may go unseen that shows by chance only.
TRIES = 5


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one != "unfenced"])
def test_a_mistake_in_the_code_is_told(mistake: str, tmp_path: Path) -> None:
    """On a busy machine nothing may come early in a first try."""
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        place = replace(sqlite_place(folder), module="faults.mutants", planted=mistake)
        with staged(place) as stage:
            stage.crew.hire()
            assert wait_until(lambda: len(stage.observer.sync.find(state=ENDED_WELL)) > 30, 20)
            verdict = conclude(stage, Law(), within=10)
        if any(SAID[mistake] in one for one in verdict.wrong):
            assert "lines" in (folder / "ledger.json").read_text()
            return
    pytest.fail(table(verdict))


def test_that_anybody_may_complete_is_told(tmp_path: Path) -> None:
    """One must stand still in its work, not amidst a commit, and not see that it lost its lease
    before it is done."""
    for seed in range(TRIES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        place = replace(sqlite_place(folder), module="faults.mutants", planted="unfenced")
        verdict = halt(place, 4, Progress("", silent=True), seed)
        if any(SAID["unfenced"] in one for one in verdict.wrong):
            return
    pytest.fail(table(verdict))
