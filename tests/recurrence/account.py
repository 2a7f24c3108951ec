"""One job by the rules of its documentation: which ticks it owes, and what must become of them.

Nothing here asks the code under test, but for the ticks of a recurrence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.clock import from_micros, to_micros
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.misfire import MisfirePolicy
from duetime.model.state import Outcome
from recurrence.timetable import Spec

SECOND = 1_000_000
MISFIRE_AFTER = 10 * SECOND
# Of more misfires than these, the newest have a record each, and the others one for all.
LISTED = 100


class How(StrEnum):
    """How a tick is accounted for."""

    due = "runs"
    queued = "waits for its turn"
    skipped = "skipped: overlap"
    misfired = "misfired"
    among = "misfired, one of many"
    overtaken = "skipped: overtaken by an edit"
    backfilled = "backfilled"


# These have no record of their own, so that a backfill may make one.
WITHOUT_RECORD = frozenset({How.among})


@dataclass(slots=True)
class Account:
    """Ticks after `cursor` are owed; none while it is None."""

    spec: Spec
    declared: bool
    cursor: int | None = None
    next_owed: int | None = None
    paused: bool = False
    until: int | None = None
    removed: bool = False
    retired: bool = False
    ticks: dict[int, How] = field(default_factory=dict)
    triggers: dict[UUID, str] = field(default_factory=dict)
    failures: int = 0
    last_outcome: Outcome | None = None
    last_finished_at: int | None = None

    def has_record(self, tick: int) -> bool:
        return tick in self.ticks and self.ticks[tick] not in WITHOUT_RECORD

    def is_paused(self, now: int) -> bool:
        return self.paused and (self.until is None or now < self.until)

    # -- owing -----------------------------------------------------------------------

    def arm(self, now: int, spec: Spec | None = None) -> None:
        """From now on, or from the end of a pause, perhaps by another rule."""
        self.spec = spec or self.spec
        paused = self.is_paused(now)
        if self.removed or self.retired or (paused and self.until is None):
            self._owe_after(None)
        else:
            self._owe_after(max(now, (self.until or 0) - 1) if paused else now)

    def dealt_with(self, now: int) -> None:
        self._owe_after(now)

    def owed(self, now: int) -> list[int]:
        return [*self._owed(now)]

    def _owed(self, now: int) -> Iterator[int]:
        tick = self.next_owed
        while tick is not None and tick <= now:
            yield tick
            tick = self._next(tick)

    def _owe_after(self, cursor: int | None) -> None:
        self.cursor = cursor
        self.next_owed = None if cursor is None else self._next(cursor)

    def _next(self, after: int) -> int | None:
        tick = self.spec.rule.next(from_micros(after))
        return None if tick is None else to_micros(tick)

    def ticks_within(self, start: int, end: int) -> list[int]:
        """Of the rule in force, start <= tick < end."""
        found = []
        tick = self._next(start - 1)
        while tick is not None and tick < end:
            found.append(tick)
            tick = self._next(tick)
        return found

    # -- what must become of what is owed --------------------------------------------

    def verdicts(self, now: int, unfinished: Sequence[Record]) -> dict[int, How]:
        """Each tick that has come, and how it must be accounted for."""
        owed = self.owed(now)
        fresh = [tick for tick in owed if now - tick <= MISFIRE_AFTER]
        late = owed[: len(owed) - len(fresh)]
        made_up = self._made_up(late, now, bool(fresh))
        verdicts = _misfires(late[: len(late) - len(made_up)])
        in_turn = bool(made_up) and self.spec.misfire.policy is MisfirePolicy.all
        verdicts |= self._runs([*made_up, *fresh], in_turn, unfinished)
        return {tick: how for tick, how in verdicts.items() if not self.has_record(tick)}

    def _made_up(self, late: list[int], now: int, fresh: bool) -> list[int]:
        misfire = self.spec.misfire
        match misfire.policy:
            case MisfirePolicy.skip:
                return []
            case MisfirePolicy.once:
                return [] if fresh else late[-1:]
            case MisfirePolicy.all:
                window = round(misfire.window * SECOND)
                return [tick for tick in late if now - tick <= window][-misfire.limit :]

    def _runs(
        self, ticks: Sequence[int], in_turn: bool, unfinished: Sequence[Record]
    ) -> dict[int, How]:
        """What is made up under `all`, and what comes with it, waits for its turn, however many
        do."""
        verdicts: dict[int, How] = {}
        overlap = self.spec.overlap
        busy, one_waits = bool(unfinished), any(one.waits for one in unfinished)
        for tick in ticks:
            if self.has_record(tick):
                continue
            if overlap is Overlap.allow or not busy:
                verdicts[tick], busy = How.due, True
            elif in_turn or (overlap is Overlap.queue and not one_waits):
                verdicts[tick], one_waits = How.queued, True
            else:
                verdicts[tick] = How.skipped
        return verdicts


def _misfires(ticks: Sequence[int]) -> dict[int, How]:
    if len(ticks) <= LISTED:
        return dict.fromkeys(ticks, How.misfired)
    among = dict.fromkeys(ticks[1:-LISTED], How.among)
    return among | dict.fromkeys([ticks[0], *ticks[-LISTED:]], How.misfired)
