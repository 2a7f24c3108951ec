"""Checks every transaction of the store against an independent model of all jobs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.claim import SweepResult
from duetime.model.actions.completion import Finish
from duetime.model.clock import from_micros, maybe_from_micros
from duetime.model.jobs.change import AppliedJobChange
from duetime.model.state import Outcome, State
from job_simulation.expected_job import ExpectedJob, TickFate
from job_simulation.job_specs import JobSpec
from job_simulation.operator_checker import OperatorChecker
from job_simulation.recording_store import RecordingStore, UnfinishedByJob
from job_simulation.release import Release
from simulation.faulty_store import Call
from simulation.trace import Trace
from simulation.virtual_loop import Process

EDIT_VERBS = frozenset({"tick_jobs", "seed_jobs", "retire_jobs", "restore_jobs", "operator_call"})
COMPLETION_VERBS = frozenset({"complete", "rescue"})

Before = dict[Any, Any]


class JobChecker:
    """Keeps the expected state of all jobs. `release_of` returns what a process has deployed."""

    def __init__(
        self,
        store: RecordingStore,
        trace: Trace,
        alive: int,
        release_of: Callable[[Process], Release],
    ) -> None:
        self._store = store
        self._trace = trace
        self._alive = alive
        self._release_of = release_of
        self.expected_jobs: dict[str, ExpectedJob] = {}
        self.cancelled: set[UUID] = set()
        self._due_heap: list[tuple[int, str]] = []
        self._seen: dict[Process, int] = {}
        self._began: dict[Process, tuple[int, str]] = {}
        self._operator_checker = OperatorChecker(self)

    # -- calls -----------------------------------------------------------------------

    def before(self, call: Call[Any]) -> Before:
        if call.verb in EDIT_VERBS:
            return self._store.unfinished_by_job()
        if call.verb in COMPLETION_VERBS:
            return {fence.id: self._store.record(fence.id) for fence in call.args[0]}
        return {}

    def check_transaction(
        self, process: Process, call: Call[Any], before: Before, value: object
    ) -> None:
        now, changes = (
            self._store.now,
            {change.after.name: change for change in self._store.changes},
        )
        match call.verb:
            case "tick_jobs":
                self._ticked(process, now, before, changes, call.args[0].limit)
            case "seed_jobs":
                self._seeded(process, call.args[0].names, now, before, changes)
            case "restore_jobs":
                back = self._retired(process)[: call.args[0].limit]
                self._seeded(process, back, now, before, changes)
            case "retire_jobs":
                self._orphaned(now, before, changes)
            case "operator_call":
                self._operator_checker.check(call.args[0], now, before, changes, value)
            case "complete" | "rescue":
                self._completed(call, before, now)
            case "sweep" if isinstance(value, SweepResult) and value.known:
                # A worker whose row was deleted, and whose sweep comes late, declares no jobs.
                self._seen[process] = now
                self._began.setdefault(process, (now, process.name))
            case "unregister":
                self._seen.pop(process, None)
                self._began.pop(process, None)
        if call.verb not in EDIT_VERBS and changes:
            self.violation("a verb that is no edit changed jobs", call.verb, *changes)
        for name, change in sorted(changes.items()):
            self._trace.add(
                process.name, call.verb, name, *map(self._summary, self.records(change))
            )

    def records(self, change: AppliedJobChange | None) -> list[Record]:
        """Return the records of the occurrences that an edit reports."""
        occurrences = change.occurrences if change else ()
        records = [self._store.record(occurrence.action.id) for occurrence in occurrences]
        return [record for record in records if record is not None]

    def _summary(self, record: Record) -> str:
        """Return for example `a3:scheduled/a2`, where a3 waits for a2."""
        name, after = self._trace.action(record.id), self._trace.name("a", record.after)
        return f"{name}:{record.state.value}/{after}"

    # -- ticks -----------------------------------------------------------------------

    def _ticked(
        self,
        process: Process,
        now: int,
        before: UnfinishedByJob,
        changes: dict[str, AppliedJobChange],
        limit: int,
    ) -> None:
        for expected in self._due(now):
            name = expected.spec.name
            if name not in changes and len(changes) >= limit:
                self.push_due(expected)  # beyond the limit of this transaction
                continue
            fates = self.catch_up(expected, now, before, changes)
            if fates:
                lines = [f"{from_micros(t):%d %H:%M:%S} {fate}" for t, fate in fates.items()]
                self._trace.add(process.name, name, *lines[:3], len(lines))
        for name in sorted(changes.keys() - {a.spec.name for a in self._due_jobs}):
            if changes[name].occurrences:
                self.violation("an occurrence of a job without a due tick", name)

    def _due(self, now: int) -> list[ExpectedJob]:
        """Return the jobs that have a due tick, as the model computes it."""
        due: dict[str, ExpectedJob] = {}
        while self._due_heap and self._due_heap[0][0] <= now:
            tick, name = heapq.heappop(self._due_heap)
            if self.expected_jobs[name].next_tick == tick:
                due[name] = self.expected_jobs[name]
        self._due_jobs = [*due.values()]
        return self._due_jobs

    def push_due(self, expected: ExpectedJob) -> None:
        if expected.next_tick is not None:
            heapq.heappush(self._due_heap, (expected.next_tick, expected.spec.name))

    def catch_up(
        self,
        expected: ExpectedJob,
        now: int,
        before: UnfinishedByJob,
        changes: Mapping[str, AppliedJobChange],
        *,
        overtaken: bool = False,
    ) -> dict[int, TickFate]:
        """Check what became of due ticks under the current rule.

        With `overtaken`, an edit after which none may run skips them instead.
        """
        if expected.next_tick is None or expected.next_tick > now:
            return {}
        name = expected.spec.name
        fates = expected.fates(now, before.get(name, []))
        if overtaken:
            runs = {tick for tick, fate in fates.items() if fate in (TickFate.due, TickFate.queued)}
            fates |= dict.fromkeys(runs, TickFate.overtaken)
        self._compare(expected, fates, self.records(changes.get(name)))
        expected.ticks |= fates
        expected.advance(now)
        self.push_due(expected)
        return fates

    def arm(self, expected: ExpectedJob, now: int, spec: JobSpec | None = None) -> None:
        """Compute the next tick anew after an edit."""
        expected.arm(now, spec)
        self.push_due(expected)

    def _compare(
        self, expected: ExpectedJob, fates: Mapping[int, TickFate], records: Iterable[Record]
    ) -> None:
        name, by_tick = expected.spec.name, {record.tick: record for record in records}
        for tick, fate in fates.items():
            self._trace.count(fate.value)
            record = by_tick.pop(tick, None)
            if fate is TickFate.among and record is None:
                continue
            if record is None:
                self.violation("a tick has no record", name, from_micros(tick), fate.value)
            elif not _has_fate(record, fate, expected):
                self.violation(
                    "a tick has another fate than expected", name, from_micros(tick), fate.value
                )
        for record in by_tick.values():
            self.violation("a tick that was not due", name, maybe_from_micros(record.tick))

    # -- seeding---------------------------------------------------------------------

    def _seeded(
        self,
        process: Process,
        names: Iterable[str],
        now: int,
        before: UnfinishedByJob,
        changes: dict[str, AppliedJobChange],
    ) -> None:
        """Check a seeding.

        The youngest worker decides definitions; older code adds missing jobs and restores
        retired jobs.
        """
        specs, youngest = self._release_of(process).specs, self._is_youngest(process, now)
        for name in names:
            expected = self.expected_jobs.get(name)
            wanted = specs[name] if youngest or expected is None else expected.spec
            if expected is None:
                expected = self.expected_jobs[name] = ExpectedJob(wanted, declared=True)
                self.arm(expected, now)
                continue
            anew = expected.retired or expected.spec.rule != wanted.rule
            if expected.retired or expected.spec != wanted:
                self._trace.count("jobs redefined")
                self.catch_up(expected, now, before, changes)
            expected.retired = False
            if anew:
                self.arm(expected, now, wanted)
            expected.spec = wanted
        for change in changes.values():
            if change.cancelled:
                self.violation("seeding cancelled occurrences", change.after.name)

    def _is_youngest(self, process: Process, now: int) -> bool:
        began = [self._began[who] for who in self._live(now) if self._release_of(who).specs]
        return process not in self._began or all(start <= self._began[process] for start in began)

    def _live(self, now: int) -> list[Process]:
        return [who for who, seen in self._seen.items() if seen > now - self._alive]

    def _retired(self, process: Process) -> list[str]:
        """Return the retired jobs that a process declares."""
        known = {name: self.expected_jobs.get(name) for name in self._release_of(process).specs}
        return sorted(
            name for name, job in known.items() if job and job.retired and not job.removed
        )

    def declared_and_retired(self) -> set[str]:
        live_processes = self._live(self._store.now)
        return {name for process in live_processes for name in self._retired(process)}

    def _orphaned(
        self, now: int, before: UnfinishedByJob, changes: dict[str, AppliedJobChange]
    ) -> None:
        known = {name for who in self._live(now) for name in self._release_of(who).specs}
        gone = {
            name: expected
            for name, expected in self.expected_jobs.items()
            if expected.declared and not expected.retired and not expected.removed
            if name not in known
        }
        # A worker retires jobs at its second check, so this may happen later, but not otherwise.
        for name in sorted(changes.keys() & gone.keys()):
            self.catch_up(gone[name], now, before, changes, overtaken=True)
            gone[name].retired = True
            self.arm(gone[name], now)
            self._trace.count("jobs retired")
        if changes.keys() - gone.keys():
            self.violation("retired though it is declared", *sorted(changes.keys() - gone.keys()))

    # -- completions -----------------------------------------------------------------

    def _completed(self, call: Call[Any], before: Before, now: int) -> None:
        touched: dict[str, ExpectedJob] = {}
        over: set[UUID] = set()
        for completion in call.args[0]:
            was, is_ = before[completion.id], self._store.record(completion.id)
            if not isinstance(completion, Finish) or was is None or is_ is None or was is is_:
                continue
            if was.state.finished or not is_.state.finished or completion.id in over:
                continue
            over.add(completion.id)
            if was.job is not None:
                expected = touched[was.job] = self.expected_jobs[was.job]
                _count_result(expected, completion.state, completion.outcome, now)
                self._trace.count(f"occurrences {completion.state.value}")
        for name, expected in touched.items():
            job = self._store.job(name)
            assert job is not None
            actual = (job.consecutive_failures, job.last_outcome, job.last_finished_at)
            wanted = (expected.failures, expected.last_outcome, expected.last_finished_at)
            if actual != wanted:
                self.violation(
                    "a job reports another result than its occurrence", name, actual, wanted
                )

    # -- reporting -------------------------------------------------------------------

    @property
    def store(self) -> RecordingStore:
        return self._store

    @property
    def trace(self) -> Trace:
        return self._trace

    def violation(self, rule: str, *words: object) -> None:
        self._trace.violation(rule, *words)


def _has_fate(record: Record, fate: TickFate, expected: ExpectedJob) -> bool:
    tick, due = record.tick or 0, record.due_at
    match fate:
        case TickFate.due:
            jitter = expected.spec.jitter * 1_000_000
            right = due is not None and tick <= due <= tick + jitter
            return record.state is State.scheduled and right
        case TickFate.queued:
            return record.waits
        case TickFate.skipped | TickFate.misfired | TickFate.overtaken:
            word = "misfired" if fate is TickFate.misfired else "skipped"
            explained = record.error is not None and record.error.startswith(word)
            return explained and (record.state, record.outcome) == (
                State.cancelled,
                Outcome.skipped,
            )
    return False


def _count_result(expected: ExpectedJob, state: State, outcome: Outcome, now: int) -> None:
    expected.last_outcome, expected.last_finished_at = outcome, now
    if state is State.succeeded:
        expected.failures = 0
    elif state is State.failed:
        expected.failures += 1
