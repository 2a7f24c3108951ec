"""What the book expects of each verb of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duetime.errors import DuetimeError
from duetime.model.actions.action import Record
from duetime.model.clock import from_micros
from duetime.model.jobs.change import Changed
from duetime.model.jobs.job import Overlap
from duetime.model.state import State
from recurrence.account import Account, How
from recurrence.act import Act
from recurrence.ground import Waiting

if TYPE_CHECKING:
    from recurrence.book import Book


class Acts:
    """Entered in the book when the store has done them, whatever their author was told."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def done(
        self, act: Act, now: int, before: Waiting, made: dict[str, Changed], value: object
    ) -> None:
        account = self._book.accounts.get(act.name)
        allowed = self._is_allowed(act, account, now)
        if allowed == isinstance(value, DuetimeError):
            self._book.wrong("refused" if allowed else "allowed", act.verb, act.name, value)
            return
        if made.keys() - {act.name}:
            self._book.wrong("an act changed another job", act.name, *made)
        if not allowed:
            self._book.trace.count("acts refused")
            return
        self._book.trace.count(f"acts: {act.verb}")
        unfinished, records = before.get(act.name, []), self._book.records(made.get(act.name))
        if account is None:
            self._first_put(act, now)
            return
        match act.verb:
            case "pause":
                self._pause(account, act, now, before, made)
            case "resume" if account.is_paused(now):
                account.paused, account.until = False, None
                self._book.arm(account, now)
            case "trigger":
                self._trigger(account, act, unfinished, records)
            case "remove":
                self._book.catch_up(account, now, before, made, overtaken=True)
                account.removed = True
                self._book.arm(account, now)
                self._must_be_cancelled([one for one in unfinished if one.token is None])
            case "restore" if account.removed:
                account.removed = False
                self._book.arm(account, now)
            case "put":
                self._put(account, act, now, before, made)
            case "backfill":
                self._backfill(account, act, records)
        if act.verb in ("resume", "restore") and records:
            self._book.wrong("an act made occurrences", act.verb, act.name)

    def _is_allowed(self, act: Act, account: Account | None, now: int) -> bool:
        if act.verb == "put":
            return True
        if account is None or (account.removed and act.verb != "restore"):
            return False
        if act.verb == "pause":
            return act.until is None or act.until > now
        return act.verb != "backfill" or act.end <= now

    def _first_put(self, act: Act, now: int) -> None:
        assert act.spec is not None
        account = self._book.accounts[act.name] = Account(act.spec, declared=False)
        self._book.arm(account, now)

    def _put(
        self, account: Account, act: Act, now: int, before: Waiting, made: dict[str, Changed]
    ) -> None:
        assert act.spec is not None
        anew = account.removed or act.spec.rule != account.spec.rule
        if account.removed or act.spec != account.spec:
            self._book.catch_up(account, now, before, made)
        if account.removed:
            account.paused, account.until, account.failures = False, None, 0
        account.removed = False
        if anew:
            self._book.arm(account, now, act.spec)
        account.spec = act.spec

    def _pause(
        self, account: Account, act: Act, now: int, before: Waiting, made: dict[str, Changed]
    ) -> None:
        if account.is_paused(now) and account.until == act.until:
            return
        unfinished = before.get(act.name, [])
        self._book.catch_up(account, now, before, made, overtaken=True)
        account.paused, account.until = True, act.until
        self._book.arm(account, now)
        waiting = [one for one in unfinished if one.token is None and one.tick is not None]
        self._must_be_cancelled(waiting)
        self._must_go_on([one for one in unfinished if one not in waiting])

    def _trigger(
        self, account: Account, act: Act, unfinished: Sequence[Record], records: Sequence[Record]
    ) -> None:
        in_turn = bool(unfinished) and account.spec.overlap is not Overlap.allow
        if len(records) != 1:
            self._book.wrong("a trigger made not one action", act.name, len(records))
            return
        record = records[0]
        account.triggers[record.id] = act.by
        told = (record.tick, record.triggered_by, record.state, record.waits)
        if told != (None, act.by, State.scheduled, in_turn):
            self._book.wrong("a trigger made something else", act.name, *told)

    def _backfill(self, account: Account, act: Act, records: Sequence[Record]) -> None:
        # What has come and was not dealt with yet is for the workers.
        end = act.end if account.next_owed is None else min(act.end, account.next_owed)
        missing = [t for t in account.ticks_within(act.start, end) if not account.has_record(t)]
        found = sorted(one.tick for one in records if one.tick is not None)
        if found != missing:
            odd = [str(from_micros(tick)) for tick in sorted({*found} ^ {*missing})]
            self._book.wrong("a backfill made other ticks", act.name, *odd[:5])
        if any(one.triggered_by != act.by or one.state.finished for one in records):
            self._book.wrong("a backfill made something else", act.name)
        account.ticks |= dict.fromkeys(missing, How.backfilled)
        self._book.trace.count(How.backfilled.value, len(missing))

    # -- what became of the others ---------------------------------------------------

    def _must_be_cancelled(self, waiting: Sequence[Record]) -> None:
        for one in waiting:
            self._book.cancelled.add(one.id)
            after = self._book.ground.record(one.id)
            if after is None or after.state is not State.cancelled:
                self._book.wrong("what waited was not cancelled", one.job)
            self._book.trace.count("occurrences cancelled")

    def _must_go_on(self, others: Sequence[Record]) -> None:
        """What runs is left alone; a trigger may have become due, and nothing worse."""
        for one in others:
            after = self._book.ground.record(one.id)
            freed = one.waits and after is not None and after.state is State.scheduled
            if after is not one and not freed:
                self._book.wrong("what runs or was triggered was touched", one.job)
