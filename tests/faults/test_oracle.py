"""The oracle detects violations, in histories made by hand and in faults patched into the code."""

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
from faults.campaign import finish_campaign, running_campaign, wait_until
from faults.campaign_stores import sqlite_setup
from faults.client_process import Receipts
from faults.halt import halt
from faults.kill import kill
from faults.ledger import ENDED, STARTED, Line
from faults.mutant_app import MUTATIONS
from faults.oracle import Case, Expectations, judge
from faults.progress import Progress, table
from faults.work_order import Work

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
    """Return an action with this state, as an app returns it."""
    app = Duetime("memory://")
    app.payload(Work, kind="work")
    action_ = app.sync.schedule(Work(1), at=DUE)
    return replace(action_, state=state)


def violations_of(
    case: Case, expectations: Expectations | None = None, **receipts: Any
) -> list[str]:
    values = {"tried": {1}, "acked": {1: str(case.action.id)}, **receipts}
    silences = {6: [DUE.timestamp()]}
    return judge([case], Receipts(**values), silences, expectations or Expectations()).wrong


def test_a_good_history_has_no_violations() -> None:
    assert violations_of(good()) == []
    assert violations_of(good(), Expectations(exactly_once=True, recovery=2.5)) == []


def modified(change: Callable[[Case], Case]) -> Case:
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


@pytest.mark.parametrize(("expected", "change"), BAD.values(), ids=BAD.keys())
def test_a_bad_history_is_detected(expected: str, change: Callable[[Case], Case]) -> None:
    assert any(expected in text for text in violations_of(modified(change)))


def test_a_second_effect_is_detected_where_exactly_one_is_required() -> None:
    case = good()
    double = replace(case, lines=[*case.lines, line(case.runs[0], ENDED, 1.0, pid=6)])
    assert violations_of(double) == []
    assert any(
        "2 effects" in text for text in violations_of(double, Expectations(exactly_once=True))
    )


def ticks(*seconds: float) -> list[str]:
    """Return the violations of a job with ticks at these seconds."""
    case = good()
    action_ = [DUE + timedelta(seconds=text) for text in seconds]
    occurrences = [
        replace(case, action=replace(case.action, job="shop-tick", tick=tick)) for tick in action_
    ]
    return judge(occurrences, Receipts(), {6: [DUE.timestamp()]}, Expectations()).wrong


def test_missing_and_doubled_ticks_are_detected() -> None:
    assert ticks(0, 1, 2) == []
    assert any("no tick between" in text for text in ticks(0, 1, 3))
    assert any("2 actions for" in text for text in ticks(0, 1, 1, 2))


def test_a_late_rescue_is_detected() -> None:
    assert any(
        "rescued 2.0 s after" in text for text in violations_of(good(), Expectations(recovery=1.5))
    )


def test_a_late_rescue_of_an_unreported_claim_is_detected() -> None:
    expectations = Expectations(unreported_claims=True, recovery=1.5)
    assert any("rescued 2.0 s after" in text for text in violations_of(good(), expectations))


def test_an_unexpected_exit_of_a_worker_is_detected(tmp_path: Path) -> None:
    setup = replace(sqlite_setup(tmp_path), module="faults.nowhere")
    verdict = kill(setup, 1, Progress("kill", silent=True))
    assert any("ended by itself with 1" in text for text in verdict.wrong)


def test_an_acknowledged_action_must_exist_once() -> None:
    case = good()
    lost = violations_of(case, tried={1, 2}, acked={1: str(case.action.id), 2: str(uuid4())})
    assert any("number 2: acknowledged" in text for text in lost)
    assert any("number 1: found" in text for text in violations_of(case, tried=set(), acked={}))


def test_a_claim_undone_by_a_crash_is_detected() -> None:
    case = good()
    undone = replace(case, runs=case.runs[1:])
    assert any("is not on record" in text for text in violations_of(undone, Expectations()))


ENDED_WELL = State.succeeded
EXPECTED_VIOLATIONS = {
    "unfenced": "before its handler came to its end",
    "unrun": "no handler came to its end",
    "early": "before it was due",
    "twice": "was started 2 times",
}


# A mutation that shows by chance only may be missed this often.
MAX_TRIES = 5


@pytest.mark.parametrize("mutation", [text for text in MUTATIONS if text != "unfenced"])
def test_a_mutation_is_detected(mutation: str, tmp_path: Path) -> None:
    """On a loaded machine the first tries may show nothing."""
    for number in range(MAX_TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        setup = replace(sqlite_setup(folder), module="faults.mutant_app", planted=mutation)
        with running_campaign(setup) as campaign:
            campaign.processes.start()
            assert wait_until(lambda: len(campaign.observer.sync.find(state=ENDED_WELL)) > 30, 20)
            verdict = finish_campaign(campaign, Expectations(), within=10)
        if any(EXPECTED_VIOLATIONS[mutation] in text for text in verdict.wrong):
            assert "lines" in (folder / "ledger.json").read_text()
            return
    pytest.fail(table(verdict))


def test_completing_without_a_token_check_is_detected(tmp_path: Path) -> None:
    """A worker must freeze in a handler, not in a commit, and not notice its lost lease."""
    for seed in range(MAX_TRIES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        setup = replace(sqlite_setup(folder), module="faults.mutant_app", planted="unfenced")
        verdict = halt(setup, 4, Progress("", silent=True), seed)
        if any(EXPECTED_VIOLATIONS["unfenced"] in text for text in verdict.wrong):
            return
    pytest.fail(table(verdict))
