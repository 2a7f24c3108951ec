"""Hypothesis state machine with a rule for every verb of jobs, beside ticks and runs.

Two apps, one in memory, get the same calls; after each their jobs, actions and audit entries are
alike. Ids are made by each app: occurrences are compared by the name "<job> 3" for the third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from duetime import ANY, Action, Duetime, Job
from duetime.errors import DuetimeError
from duetime.model.actions.claim import Claim, ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.audit import AuditFilter
from duetime.model.filter import Filter
from duetime.model.ids import TimeOrderedIds
from duetime.model.jobs.bulk import JobBulk
from duetime.model.jobs.selectors import DueJobs
from duetime.model.jobs.ticks import apply_ticks
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.store.settlement import settle_descendants
from duetime.testing import FakeClock

ANSWERS = (Action, Job, JobBulk)
ALL = 10_000
NO_ID = UUID(int=0)
FAR = 10**15
START = FakeClock().now()
NAMES = ("shop-a", "shop-b", "shop-c")
RULES = ("*/30 * * * *", "0 * * * *", "*/10 * * * *")
OVERLAPS = ("skip", "queue", "allow")
LANES = tuple(lane_of("default", priority, None) for priority in range(4))
EVERY_JOB: Any = {"removed": True, "tenant": ANY, "limit": 200}

names = st.sampled_from(NAMES)
actors = st.sampled_from(("ann", "bob"))
notes = st.sampled_from((None, "stock-take"))
scopes = st.sampled_from((ANY,) * 4 + (None, "a"))
# Minutes from now; a pause cannot end in the past.
ends = st.sampled_from((None, None, 1, 30, -1))


@dataclass(frozen=True)
class Note:
    text: str = ""


class JobSide:
    """One of the two apps, with the names of its occurrences."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.app = Duetime(store=store, clock=clock, name="shop")
        self.app.payload(Note, kind="note")
        self.store = store
        self.claims: dict[str, Claim] = {}
        self._new_id = TimeOrderedIds()
        self._names: dict[str, str] = {}
        self._seen: Counter[str | None] = Counter()

    def ask(self, verb: Callable[[JobSide], Any]) -> Any:
        """Return the answer of a verb, or its error, as they are compared."""
        try:
            answer = verb(self)
        except DuetimeError as error:
            return type(error).__name__, str(error)
        if isinstance(answer, Action):
            self.records()
        return self._named(asdict(answer) if isinstance(answer, ANSWERS) else answer)

    def records(self) -> Any:
        """Return all actions in the order of their names."""
        found = self.store.perform_blocking(self.store.find(Filter(limit=ALL)))
        for record in sorted(found, key=lambda record: record.id):
            if str(record.id) not in self._names:
                self._seen[record.job] += 1
                self._names[str(record.id)] = f"{record.job} {self._seen[record.job]}"
        compared = [self._without_ids(replace(record, token=None)) for record in found]
        return sorted(compared, key=lambda record: str(record["id"]))

    def entries(self) -> Any:
        """Return all audit entries; those of one transaction may come in any order."""
        found = self.store.perform_blocking(self.store.audit(AuditFilter(limit=ALL)))
        return sorted(str(self._without_ids(replace(entry, id=NO_ID))) for entry in found)

    def _without_ids(self, value: Any) -> Any:
        return self._named({field: getattr(value, field) for field in type(value).__slots__})

    def _named(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._named(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._named(item) for item in value]
        return self._names.get(str(value), value) if isinstance(value, UUID | str) else value

    # -- what workers do -------------------------------------------------------------

    def tick(self) -> list[str]:
        """Apply the ticks that have come; return of which jobs."""
        decide = partial(apply_ticks, new_id=self._new_id, misfire_after=60)
        edited = self.store.perform_blocking(self.store.edit_jobs(DueJobs("shop", ALL), decide))
        return sorted(changed.after.name for changed in edited.changes)

    def start(self) -> list[str]:
        """Start the runs of all occurrences that are due; return their names."""
        order = ClaimOrder("w1", [LaneSpan(lane, -FAR, 0) for lane in LANES], ALL, FAR)
        claimed = self.store.perform_blocking(self.store.claim(order))
        self.records()
        started = {self._names[str(claim.id)]: claim for claim in claimed.claims}
        self.claims |= started
        return sorted(started)

    def end(self, name: str, state: State) -> None:
        """End the run of an occurrence, and settle the one that waits for it."""
        claim = self.claims.pop(name)
        error = "ValueError: no stock" if state is State.failed else None
        finish = Finish(
            *(claim.id, claim.token, state, Outcome(state.value)),
            error=error,
            started_at=claim.due_at,
            job=claim.job,
            triggered_by=claim.triggered_by,
        )
        self.store.perform_blocking(self.store.complete([finish]))
        self.store.perform_blocking(settle_descendants(self.store, [claim.id]))


class JobMachine(RuleBasedStateMachine):
    """Compares the jobs of an app on a store with those of an app in memory."""

    def __init__(self, clock: FakeClock, checked: Store) -> None:
        super().__init__()
        clock.set(START)
        self.clock = clock
        self.expected = JobSide(MemoryStore(clock=clock), clock)
        self.checked = JobSide(checked, clock)

    def ask(self, verb: Callable[[JobSide], Any]) -> Any:
        expected = self.expected.ask(verb)
        assert self.checked.ask(verb) == expected
        return expected

    @invariant()
    def all_is_alike(self) -> None:
        self.ask(lambda side: [asdict(job) for job in side.app.sync.jobs.list(**EVERY_JOB)])
        self.ask(JobSide.records)
        self.ask(JobSide.entries)

    @initialize()
    def begin(self) -> None:
        """Start with jobs, so that each rule has something to do."""
        for name, rule_text, overlap in zip(NAMES, RULES, OVERLAPS, strict=True):
            self.put(name, rule_text, overlap, 2, None, "ann")

    # -- the verbs of users ----------------------------------------------------------

    @rule(
        name=names,
        recurrence=st.sampled_from(RULES),
        overlap=st.sampled_from(OVERLAPS),
        alert_after=st.sampled_from((1, 2)),
        version=st.sampled_from((None, None, 0, 2)),
        by=actors,
    )
    def put(
        self,
        name: str,
        recurrence: str,
        overlap: Any,
        alert_after: int,
        version: int | None,
        by: str,
    ) -> None:
        how: Any = {"overlap": overlap, "alert_after": alert_after, "version": version, "by": by}
        self.ask(
            lambda side: side.app.sync.jobs.put(name, recurrence, payload=Note(overlap), **how)
        )

    @rule(name=names, by=actors, note=notes, end=ends, scope=scopes)
    def pause(self, name: str, by: str, note: str | None, end: int | None, scope: Any) -> None:
        act: Any = {"by": by, "note": note, "until": self._in(end), "tenant": scope}
        self.ask(lambda side: side.app.sync.jobs.pause(name, **act))

    @rule(name=names, by=actors, scope=scopes)
    def resume(self, name: str, by: str, scope: Any) -> None:
        self.ask(lambda side: side.app.sync.jobs.resume(name, by=by, tenant=scope))

    @rule(
        verb=st.sampled_from(("pause", "resume")),
        several=st.lists(st.sampled_from((*NAMES, "no-such")), min_size=1, max_size=4, unique=True),
        by=actors,
        note=notes,
        end=ends,
        scope=scopes,
    )
    def bulk(
        self, verb: Any, several: list[str], by: str, note: str | None, end: int | None, scope: Any
    ) -> None:
        """Pause or resume several; the second time nothing of it changes."""
        until = self._in(end) if verb == "pause" else None
        act: Any = {"by": by, "note": note, "until": until, "tenant": scope}
        first = self.ask(lambda side: side.app.sync.jobs.bulk(verb, several, **act))
        again = self.ask(lambda side: side.app.sync.jobs.bulk(verb, several, **act))
        if isinstance(first, dict):
            assert again["changed"] == []
            named = [*first["changed"], *first["unchanged"], *first["not_found"]]
            assert sorted(named) == sorted(several)

    @rule(name=names, by=actors)
    def trigger(self, name: str, by: str) -> None:
        self.ask(lambda side: side.app.sync.jobs.trigger(name, by=by, tenant=ANY))

    @rule(name=names, by=actors, minutes=st.sampled_from((5, 70)))
    def backfill(self, name: str, by: str, minutes: int) -> None:
        end = self.clock.now()
        start = end - timedelta(minutes=minutes)
        for dry_run in (True, False):
            how: Any = {"dry_run": dry_run, "by": by, "tenant": ANY}
            self.ask(partial(_backfill, name, start, end, how))

    @rule(name=names, by=actors, scope=scopes, restoring=st.booleans())
    def remove(self, name: str, by: str, scope: Any, restoring: bool) -> None:
        self.ask(lambda side: side.app.sync.jobs.remove(name, by=by, tenant=scope))
        if restoring:
            self.ask(lambda side: side.app.sync.jobs.restore(name, by=by, tenant=scope))

    # -- the work of workers ---------------------------------------------------------

    @rule(minutes=st.sampled_from((1, 9, 61)))
    def time_passes(self, minutes: int) -> None:
        self.clock.advance(minutes=minutes)

    @rule(minutes=st.sampled_from((0, 10, 60)), starting=st.booleans())
    def tick(self, minutes: int, starting: bool) -> None:
        self.clock.advance(minutes=minutes)
        self.ask(JobSide.tick)
        if starting:
            self.ask(JobSide.start)

    @rule(state=st.sampled_from((State.succeeded, State.failed, State.failed, State.cancelled)))
    @precondition(lambda self: self.expected.claims)
    def end_runs(self, state: State) -> None:
        for name in sorted(self.expected.claims):
            self.ask(lambda side, name=name: side.end(name, state))  # type: ignore[misc]

    def _in(self, minutes: int | None) -> datetime | None:
        return None if minutes is None else self.clock.now() + timedelta(minutes=minutes)


def _backfill(
    name: str, start: datetime, end: datetime, how: Mapping[str, Any], side: JobSide
) -> Any:
    return side.app.sync.jobs.backfill(name, start, end, **how)
