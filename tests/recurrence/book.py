"""The book of a history: it sees every transaction of the store, knows by itself what each must
do to jobs, and holds the store to it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.claim import Swept
from duetime.model.actions.completion import Finish
from duetime.model.clock import from_micros, maybe_from_micros
from duetime.model.jobs.change import Changed
from duetime.model.state import Outcome, State
from recurrence.account import Account, How
from recurrence.acts import Acts
from recurrence.ground import Ground, Waiting
from recurrence.release import Release
from recurrence.timetable import Spec
from simulation.faulty import Call
from simulation.loop import Process
from simulation.trace import Trace

EDITS = frozenset({"due", "seeding", "orphaned", "returned", "act"})
ENDS = frozenset({"complete", "rescue"})

Before = dict[Any, Any]


class Book:
    """The accounts of all jobs. `release_of` tells what a process has deployed."""

    def __init__(
        self,
        ground: Ground,
        trace: Trace,
        alive: int,
        release_of: Callable[[Process], Release],
    ) -> None:
        self._ground = ground
        self._trace = trace
        self._alive = alive
        self._release_of = release_of
        self.accounts: dict[str, Account] = {}
        self.cancelled: set[UUID] = set()
        self._owing: list[tuple[int, str]] = []
        self._seen: dict[Process, int] = {}
        self._began: dict[Process, tuple[int, str]] = {}
        self._acts = Acts(self)

    # -- seeing ----------------------------------------------------------------------

    def before(self, call: Call[Any]) -> Before:
        if call.verb in EDITS:
            return self._ground.unfinished_by_job()
        if call.verb in ENDS:
            return {one.id: self._ground.record(one.id) for one in call.args[0]}
        return {}

    def saw(self, process: Process, call: Call[Any], before: Before, value: object) -> None:
        now, made = self._ground.now, {one.after.name: one for one in self._ground.changes}
        match call.verb:
            case "due":
                self._ticked(process, now, before, made, call.args[0].limit)
            case "seeding":
                self._seeded(process, call.args[0].names, now, before, made)
            case "returned":
                back = self._retired(process)[: call.args[0].limit]
                self._seeded(process, back, now, before, made)
            case "orphaned":
                self._orphaned(now, before, made)
            case "act":
                self._acts.done(call.args[0], now, before, made, value)
            case "complete" | "rescue":
                self._completed(call, before, now)
            case "sweep" if isinstance(value, Swept) and value.known:
                # One that is forgotten, and whose sweep comes late, does not say what it declares.
                self._seen[process] = now
                self._began.setdefault(process, (now, process.name))
            case "leave":
                self._seen.pop(process, None)
                self._began.pop(process, None)
        if call.verb not in EDITS and made:
            self.wrong("a verb that is no edit changed jobs", call.verb, *made)
        for name, changed in sorted(made.items()):
            self._trace.add(process.name, call.verb, name, *map(self._told, self.records(changed)))

    def records(self, changed: Changed | None) -> list[Record]:
        """The rows of what an edit says it made."""
        made = changed.occurrences if changed else ()
        found = [self._ground.record(one.action.id) for one in made]
        return [record for record in found if record is not None]

    def _told(self, record: Record) -> str:
        """`a3:scheduled/a2` waits for a2."""
        name, after = self._trace.action(record.id), self._trace.name("a", record.after)
        return f"{name}:{record.state.value}/{after}"

    # -- ticks -----------------------------------------------------------------------

    def _ticked(
        self,
        process: Process,
        now: int,
        before: Waiting,
        made: dict[str, Changed],
        limit: int,
    ) -> None:
        for account in self._due(now):
            name = account.spec.name
            if name not in made and len(made) >= limit:
                self.owe(account)  # one transaction deals with so many at most
                continue
            verdicts = self.catch_up(account, now, before, made)
            if verdicts:
                told = [f"{from_micros(t):%d %H:%M:%S} {how}" for t, how in verdicts.items()]
                self._trace.add(process.name, name, *told[:3], len(told))
        for name in sorted(made.keys() - {a.spec.name for a in self._dealt}):
            if made[name].occurrences:
                self.wrong("a job that owes no tick had one", name)

    def _due(self, now: int) -> list[Account]:
        """Those that owe a tick that has come; found by the book's own reckoning."""
        found: dict[str, Account] = {}
        while self._owing and self._owing[0][0] <= now:
            tick, name = heapq.heappop(self._owing)
            if self.accounts[name].next_owed == tick:
                found[name] = self.accounts[name]
        self._dealt = [*found.values()]
        return self._dealt

    def owe(self, account: Account) -> None:
        if account.next_owed is not None:
            heapq.heappush(self._owing, (account.next_owed, account.spec.name))

    def catch_up(
        self,
        account: Account,
        now: int,
        before: Waiting,
        made: Mapping[str, Changed],
        *,
        overtaken: bool = False,
    ) -> dict[int, How]:
        """What has come is dealt with by the rule in force; by an edit after which none may
        run, too."""
        if account.next_owed is None or account.next_owed > now:
            return {}
        name = account.spec.name
        verdicts = account.verdicts(now, before.get(name, []))
        if overtaken:
            runs = {tick for tick, how in verdicts.items() if how in (How.due, How.queued)}
            verdicts |= dict.fromkeys(runs, How.overtaken)
        self._compare(account, verdicts, self.records(made.get(name)))
        account.ticks |= verdicts
        account.dealt_with(now)
        self.owe(account)
        return verdicts

    def arm(self, account: Account, now: int, spec: Spec | None = None) -> None:
        """An edit starts the reckoning anew."""
        account.arm(now, spec)
        self.owe(account)

    def _compare(
        self, account: Account, verdicts: Mapping[int, How], records: Iterable[Record]
    ) -> None:
        name, found = account.spec.name, {one.tick: one for one in records}
        for tick, how in verdicts.items():
            self._trace.count(how.value)
            record = found.pop(tick, None)
            if how is How.among and record is None:
                continue
            if record is None:
                self.wrong("a tick has no record", name, from_micros(tick), how.value)
            elif not _is(record, how, account):
                self.wrong("a tick was dealt with otherwise", name, from_micros(tick), how.value)
        for record in found.values():
            self.wrong("a tick that was not owed", name, maybe_from_micros(record.tick))

    # -- code ------------------------------------------------------------------------

    def _seeded(
        self,
        process: Process,
        names: Iterable[str],
        now: int,
        before: Waiting,
        made: dict[str, Changed],
    ) -> None:
        """By the youngest; older code adds what is missing, and brings back what is retired."""
        specs, youngest = self._release_of(process).specs, self._is_youngest(process, now)
        for name in names:
            account = self.accounts.get(name)
            wanted = specs[name] if youngest or account is None else account.spec
            if account is None:
                account = self.accounts[name] = Account(wanted, declared=True)
                self.arm(account, now)
                continue
            anew = account.retired or account.spec.rule != wanted.rule
            if account.retired or account.spec != wanted:
                self._trace.count("jobs redefined")
                self.catch_up(account, now, before, made)
            account.retired = False
            if anew:
                self.arm(account, now, wanted)
            account.spec = wanted
        for one in made.values():
            if one.cancelled:
                self.wrong("seeding cancelled occurrences", one.after.name)

    def _is_youngest(self, process: Process, now: int) -> bool:
        began = [self._began[who] for who in self._live(now) if self._release_of(who).specs]
        return process not in self._began or all(one <= self._began[process] for one in began)

    def _live(self, now: int) -> list[Process]:
        return [who for who, seen in self._seen.items() if seen > now - self._alive]

    def _retired(self, process: Process) -> list[str]:
        """Of what a process declares."""
        known = {name: self.accounts.get(name) for name in self._release_of(process).specs}
        return sorted(
            name for name, job in known.items() if job and job.retired and not job.removed
        )

    def declared_and_retired(self) -> set[str]:
        live = self._live(self._ground.now)
        return {name for process in live for name in self._retired(process)}

    def _orphaned(self, now: int, before: Waiting, made: dict[str, Changed]) -> None:
        known = {name for who in self._live(now) for name in self._release_of(who).specs}
        gone = {
            name: account
            for name, account in self.accounts.items()
            if account.declared and not account.retired and not account.removed
            if name not in known
        }
        # At the second look of the same worker: so it may be later, but nothing else.
        for name in sorted(made.keys() & gone.keys()):
            self.catch_up(gone[name], now, before, made, overtaken=True)
            gone[name].retired = True
            self.arm(gone[name], now)
            self._trace.count("jobs retired")
        if made.keys() - gone.keys():
            self.wrong("retired though it is declared", *sorted(made.keys() - gone.keys()))

    # -- ends ------------------------------------------------------------------------

    def _completed(self, call: Call[Any], before: Before, now: int) -> None:
        touched: dict[str, Account] = {}
        over: set[UUID] = set()
        for ending in call.args[0]:
            was, is_ = before[ending.id], self._ground.record(ending.id)
            if not isinstance(ending, Finish) or was is None or is_ is None or was is is_:
                continue
            if was.state.finished or not is_.state.finished or ending.id in over:
                continue
            over.add(ending.id)
            if was.job is not None:
                account = touched[was.job] = self.accounts[was.job]
                _count_end(account, ending.state, ending.outcome, now)
                self._trace.count(f"occurrences {ending.state.value}")
        for name, account in touched.items():
            job = self._ground.job(name)
            assert job is not None
            kept = (job.consecutive_failures, job.last_outcome, job.last_finished_at)
            right = (account.failures, account.last_outcome, account.last_finished_at)
            if kept != right:
                self.wrong("a job tells another end than its occurrence", name, kept, right)

    # -- judging ---------------------------------------------------------------------

    @property
    def ground(self) -> Ground:
        return self._ground

    @property
    def trace(self) -> Trace:
        return self._trace

    def wrong(self, rule: str, *words: object) -> None:
        self._trace.violation(rule, *words)


def _is(record: Record, how: How, account: Account) -> bool:
    tick, due = record.tick or 0, record.due_at
    match how:
        case How.due:
            jitter = account.spec.jitter * 1_000_000
            right = due is not None and tick <= due <= tick + jitter
            return record.state is State.scheduled and right
        case How.queued:
            return record.waits
        case How.skipped | How.misfired | How.overtaken:
            word = "misfired" if how is How.misfired else "skipped"
            told = record.error is not None and record.error.startswith(word)
            return told and (record.state, record.outcome) == (State.cancelled, Outcome.skipped)
    return False


def _count_end(account: Account, state: State, outcome: Outcome, now: int) -> None:
    account.last_outcome, account.last_finished_at = outcome, now
    if state is State.succeeded:
        account.failures = 0
    elif state is State.failed:
        account.failures += 1
