"""Checks whether a history kept every guarantee, by the public API and the ledger alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from duetime import Duetime, State
from duetime.model.actions.action import Action, Run
from duetime.model.actions.claim import FATAL_LOSSES
from duetime.model.state import Outcome
from faults.client_process import Receipts
from faults.ledger import ENDED, STARTED, Line, by_action
from faults.ticking_app import PERIOD

# Outcomes of a run that may be followed by another run.
REPEATABLE = {Outcome.lost, Outcome.released, Outcome.retried, Outcome.snoozed}
FINAL_OUTCOMES: Mapping[State, Set[Outcome | None]] = {
    State.succeeded: {Outcome.succeeded},
    State.failed: {Outcome.failed, Outcome.lost},
    State.cancelled: {Outcome.cancelled, None, *REPEATABLE},
}

# When each process died or froze.
Silences = Mapping[int, Sequence[float]]


@dataclass(frozen=True)
class Case:
    """One action, its recorded runs, and its lines in the ledger."""

    action: Action
    runs: Sequence[Run]
    lines: Sequence[Line]

    def tokens(self, event: str) -> list[str]:
        return [line.token for line in self.lines if line.event == event]


@dataclass(frozen=True)
class Expectations:
    """What is allowed or required in this history beyond the general guarantees."""

    # Each succeeded action has exactly one effect.
    exactly_once: bool = False
    # No process dies or freezes; lost runs are claims whose reply was lost.
    unreported_claims: bool = False
    # Allowed seconds from the death of a process, or from such a claim, to the rescue.
    recovery: float = float("inf")


@dataclass
class Verdict:
    """Violations and figures of a history."""

    wrong: list[str] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)
    slowest_recovery: float = 0.0
    slowest_return: float = 0.0
    wake: float = 0.0
    slowest_call: float = 0.0

    def include(self, other: Verdict) -> None:
        """Add what was observed during the campaign."""
        self.wrong += other.wrong
        self.figures += other.figures
        self.slowest_return = max(self.slowest_return, other.slowest_return)
        self.wake = max(self.wake, other.wake)

    def add_violation(self, case: Case, what: str) -> None:
        outcomes = [str(run.outcome) for run in case.runs]
        lines = [(line.event, line.pid, line.token[-8:]) for line in case.lines]
        action = case.action
        self.wrong.append(f"{action.id} ({action.state}): {what}; runs {outcomes}; ledger {lines}")


def cases(app: Duetime, lines: Sequence[Line]) -> list[Case]:
    written = by_action(lines)
    return [
        Case(action, app.sync.runs(action.id), written.pop(str(action.id), []))
        for action in every_action(app)
    ]


def every_action(app: Duetime) -> Iterable[Action]:
    cursor: str | None = None
    while True:
        page = app.sync.find(limit=200, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


def judge(
    found: Sequence[Case], receipts: Receipts, silences: Silences, expectations: Expectations
) -> Verdict:
    verdict = Verdict()
    _check_receipts([case for case in found if case.action.job is None], receipts, verdict)
    _check_ticks(found, verdict)
    for case in found:
        _check_end(case, verdict)
        _check_times(case, verdict)
        _check_starts(case, verdict)
        _check_effects(case, expectations, verdict)
        _check_recovery(case, silences, expectations, verdict)
        _count(case, verdict)
    return verdict


def _check_receipts(found: Sequence[Case], receipts: Receipts, verdict: Verdict) -> None:
    """Acknowledged actions exist once, others that were tried at most once, and no more exist."""
    ids: dict[int, list[str]] = {}
    for case in found:
        ids.setdefault(case.action.payload.number, []).append(str(case.action.id))
    for number, acked in receipts.acked.items():
        if ids.get(number) != [acked]:
            verdict.wrong.append(
                f"number {number}: acknowledged as {acked}, found {ids.get(number)}"
            )
    for number, there in ids.items():
        if len(there) > 1 or number not in receipts.tried:
            verdict.wrong.append(f"number {number}: found as {there}")
    verdict.figures["acknowledged"] = len(receipts.acked)
    verdict.figures["never acknowledged, stored"] = len(ids.keys() - receipts.acked.keys())
    verdict.figures["never acknowledged, not stored"] = len(receipts.tried - ids.keys())


def _check_ticks(found: Sequence[Case], verdict: Verdict) -> None:
    """Each tick of a job became one action, without gaps between the first and the last."""
    jobs: dict[str, Counter[datetime]] = {}
    for case in found:
        if case.action.job is not None and case.action.tick is not None:
            jobs.setdefault(case.action.job, Counter())[case.action.tick] += 1
    for name, ticks in jobs.items():
        verdict.wrong += [f"{name}: {n} actions for {tick}" for tick, n in ticks.items() if n > 1]
        for earlier, later in pairwise(sorted(ticks)):
            if later - earlier != PERIOD:
                verdict.wrong.append(f"{name}: no tick between {earlier} and {later}")
        verdict.figures["ticks"] += len(ticks)


def _check_end(case: Case, verdict: Verdict) -> None:
    action = case.action
    if not action.state.finished:
        verdict.add_violation(case, "is not finished")
        return
    outcomes = [run.outcome for run in case.runs]
    last = outcomes[-1] if outcomes else None
    if last not in FINAL_OUTCOMES[action.state]:
        verdict.add_violation(case, f"its last run ended as {last}")
    if not set(outcomes[:-1]) <= REPEATABLE:
        verdict.add_violation(case, "it was run again though a run had ended it")
    lost = outcomes.count(Outcome.lost)
    if action.state is State.failed and last is Outcome.lost and lost < FATAL_LOSSES:
        verdict.add_violation(case, f"it failed as lost after {lost} losses")


def _check_times(case: Case, verdict: Verdict) -> None:
    """Compare each line with the due time of its own run; a retry is due later."""
    due = {
        str(run.id): (run.started_at - run.late_by).timestamp()
        for run in case.runs
        if run.started_at is not None and run.late_by is not None
    }
    if any(line.at / 1e6 < due.get(line.token, 0.0) for line in case.lines):
        verdict.add_violation(case, "it was started before it was due")


def _check_starts(case: Case, verdict: Verdict) -> None:
    """Each start belongs to a run on record, and each run has at most one start."""
    recorded = {str(run.id): run for run in case.runs}
    starts = Counter(case.tokens(STARTED))
    for token, times in starts.items():
        if times > 1:
            verdict.add_violation(case, f"the run {token} was started {times} times")
        if token not in recorded:
            verdict.add_violation(case, f"the start of {token} is not on record")
    for line in case.lines:
        run = recorded.get(line.token)
        if run is not None and run.worker is not None and f"-{line.pid}-" not in run.worker:
            verdict.add_violation(case, f"process {line.pid} ran what {run.worker} had claimed")


def _check_effects(case: Case, expectations: Expectations, verdict: Verdict) -> None:
    ended = case.tokens(ENDED)
    if case.action.state is State.succeeded:
        _check_success(case, verdict)
        if expectations.exactly_once and len(ended) != 1:
            verdict.add_violation(case, f"it has {len(ended)} effects")
    elif expectations.exactly_once and ended:
        verdict.add_violation(case, "it did not succeed and has an effect")


def _check_success(case: Case, verdict: Verdict) -> None:
    """The run that succeeded reached its end before its completion was stored."""
    last = case.runs[-1]
    ends = [line.at for line in case.lines if (line.token, line.event) == (str(last.id), ENDED)]
    if not ends:
        verdict.add_violation(case, "it succeeded on record, and no handler came to its end")
    elif last.finished_at is not None and min(ends) / 1e6 > last.finished_at.timestamp():
        verdict.add_violation(case, "it succeeded on record before its handler came to its end")


def _check_recovery(
    case: Case, silences: Silences, expectations: Expectations, verdict: Verdict
) -> None:
    for run in case.runs:
        if run.outcome is not Outcome.lost or run.finished_at is None:
            continue
        rescued = run.finished_at.timestamp()
        silent = (
            _claimed(run)
            if expectations.unreported_claims
            else _fell_silent(run, rescued, silences)
        )
        if silent is None:
            continue
        took = rescued - silent
        verdict.slowest_recovery = max(verdict.slowest_recovery, took)
        if took > expectations.recovery:
            verdict.add_violation(case, f"it was rescued {took:.1f} s after its worker fell silent")


def _claimed(run: Run) -> float | None:
    return None if run.started_at is None else run.started_at.timestamp()


def _fell_silent(run: Run, rescued: float, silences: Silences) -> float | None:
    return max((at for at in silences.get(_pid(run), ()) if at < rescued), default=None)


def _pid(run: Run) -> int:
    return int(run.worker.rsplit("-", 2)[1]) if run.worker else 0


def _count(case: Case, verdict: Verdict) -> None:
    figures = verdict.figures
    figures["actions"] += 1
    figures[f"ended {case.action.state}"] += 1
    for run in case.runs[:-1]:
        figures[f"runs {run.outcome}"] += 1
    figures["starts"] += len(set(case.tokens(STARTED)))
    figures["started again"] += len(set(case.tokens(STARTED))) > 1
    figures["effects beyond the first"] += max(0, len(case.tokens(ENDED)) - 1)
