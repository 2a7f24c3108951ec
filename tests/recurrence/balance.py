"""The end of a history: every tick and trigger of the books is in the store, once."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.clock import from_micros
from duetime.model.lane import readable_lane
from duetime.model.state import Outcome, State
from recurrence.account import Account
from recurrence.book import Book
from recurrence.ground import Ground

SECOND = 1_000_000


class Balance:
    """Compares the accounts with the rows; `slack` seconds are what a healthy cluster needs."""

    def __init__(self, book: Book, ground: Ground, slack: float) -> None:
        self._book = book
        self._ground = ground
        self._late = ground.now - int(slack * SECOND)
        self._records = ground.snapshot()

    def check(self) -> None:
        kept: dict[str, Counter[int]] = {name: Counter() for name in self._book.accounts}
        for record in self._records.values():
            if record.job is None:
                self._book.wrong("an action without a job", record.id)
            elif record.tick is not None:
                kept[record.job][record.tick] += 1
            self._check_end(record)
        for name in sorted(self._book.declared_and_retired()):
            self._book.wrong("retired for good, though it is declared", name)
        for name, account in self._book.accounts.items():
            self._check_account(name, account, kept[name])
            self._check_triggers(name, account)

    def _check_account(self, name: str, account: Account, kept: Counter[int]) -> None:
        for tick, count in kept.items():
            if count > 1:
                self._book.wrong("a tick has several records", name, from_micros(tick), count)
            if not account.has_record(tick):
                self._book.wrong("a record of no tick", name, from_micros(tick))
        for tick in account.ticks:
            if account.has_record(tick) and tick not in kept:
                self._book.wrong("the record of a tick is gone", name, from_micros(tick))
        if account.next_owed is not None and account.next_owed < self._late:
            self._book.wrong("a tick never came", name, from_micros(account.next_owed))

    def _check_triggers(self, name: str, account: Account) -> None:
        for action_id, by in account.triggers.items():
            record = self._records.get(action_id)
            if record is None or record.triggered_by != by or record.job != name:
                self._book.wrong("a trigger is lost", name, by)

    def _check_end(self, record: Record) -> None:
        if record.state is State.cancelled and record.outcome is not Outcome.skipped:
            if record.id not in self._book.cancelled:
                self._book.wrong("cancelled by nobody", record.job, record.error)
        elif record.waits:
            if record.after is None or self._is_over(record.after):
                self._book.wrong("waits for what is over", record.job)
        elif record.state is State.scheduled and (record.due_at or 0) < self._late:
            lane = readable_lane(self._ground.lane_text(record.id) or "")
            if lane is None or lane.parked is None:
                self._book.wrong("due, and nobody runs it", record.job, record.due_at)

    def _is_over(self, action_id: UUID) -> bool:
        record = self._records.get(action_id)
        return record is None or record.state.finished
