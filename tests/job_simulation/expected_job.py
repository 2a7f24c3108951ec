"""Model of one job by its documentation: which ticks are due, and what must become of them.

It uses nothing of the code under test but the ticks of a recurrence.
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
from job_simulation.job_specs import JobSpec

SECOND = 1_000_000
MISFIRE_AFTER_MICROS = 10 * SECOND
# Beyond this number only the oldest and the newest misfires have a record each.
MAX_LISTED_MISFIRES = 100


class TickFate(StrEnum):
    """What becomes of a tick."""

    due = "runs"
    queued = "waits for its turn"
    skipped = "skipped: overlap"
    misfired = "misfired"
    among = "misfired, one of many"
    overtaken = "skipped: overtaken by an edit"
    backfilled = "backfilled"


# Ticks without a record of their own; a backfill may insert it.
WITHOUT_RECORD = frozenset({TickFate.among})


@dataclass(slots=True)
class ExpectedJob:
    """Expected state of a job. Ticks after `cursor` are due; none while it is None."""

    spec: JobSpec
    declared: bool
    cursor: int | None = None
    next_tick: int | None = None
    paused: bool = False
    paused_by: str | None = None
    until: int | None = None
    removed: bool = False
    retired: bool = False
    ticks: dict[int, TickFate] = field(default_factory=dict)
    triggers: dict[UUID, str] = field(default_factory=dict)
    failures: int = 0
    last_outcome: Outcome | None = None
    last_finished_at: int | None = None

    def has_record(self, tick: int) -> bool:
        return tick in self.ticks and self.ticks[tick] not in WITHOUT_RECORD

    def is_paused(self, now: int) -> bool:
        return self.paused and (self.until is None or now < self.until)

    # -- due ticks -------------------------------------------------------------------

    def arm(self, now: int, spec: JobSpec | None = None) -> None:
        """Compute ticks from now on, or from the end of a pause, perhaps by a new definition."""
        self.spec = spec or self.spec
        paused = self.is_paused(now)
        if self.removed or self.retired or (paused and self.until is None):
            self._arm_after(None)
        else:
            self._arm_after(max(now, (self.until or 0) - 1) if paused else now)

    def advance(self, now: int) -> None:
        self._arm_after(now)

    def due_ticks(self, now: int) -> list[int]:
        return [*self._iter_due(now)]

    def _iter_due(self, now: int) -> Iterator[int]:
        tick = self.next_tick
        while tick is not None and tick <= now:
            yield tick
            tick = self._next(tick)

    def _arm_after(self, cursor: int | None) -> None:
        self.cursor = cursor
        self.next_tick = None if cursor is None else self._next(cursor)

    def _next(self, after: int) -> int | None:
        tick = self.spec.rule.next(from_micros(after))
        return None if tick is None else to_micros(tick)

    def ticks_within(self, start: int, end: int) -> list[int]:
        """Return the ticks of the current rule with start <= tick < end."""
        ticks = []
        tick = self._next(start - 1)
        while tick is not None and tick < end:
            ticks.append(tick)
            tick = self._next(tick)
        return ticks

    # -- fates -----------------------------------------------------------------------

    def fates(self, now: int, unfinished: Sequence[Record]) -> dict[int, TickFate]:
        """Return the expected fate of each due tick."""
        due_ticks = self.due_ticks(now)
        fresh = [tick for tick in due_ticks if now - tick <= MISFIRE_AFTER_MICROS]
        late = due_ticks[: len(due_ticks) - len(fresh)]
        caught_up = self._late_ticks_to_run(late, now, bool(fresh))
        fates = _misfire_fates(late[: len(late) - len(caught_up)])
        in_turn = bool(caught_up) and self.spec.misfire.policy is MisfirePolicy.all
        fates |= self._runs([*caught_up, *fresh], in_turn, unfinished)
        return {tick: fate for tick, fate in fates.items() if not self.has_record(tick)}

    def _late_ticks_to_run(self, late: list[int], now: int, fresh: bool) -> list[int]:
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
    ) -> dict[int, TickFate]:
        """Return the fates of ticks that may run.

        Ticks caught up under the policy `all`, and those after them, wait in a queue of any
        length.
        """
        fates: dict[int, TickFate] = {}
        overlap = self.spec.overlap
        busy = bool(unfinished)
        any_waits = any(record.waits for record in unfinished)
        for tick in ticks:
            if self.has_record(tick):
                continue
            if overlap is Overlap.allow or not busy:
                fates[tick], busy = TickFate.due, True
            elif in_turn or (overlap is Overlap.queue and not any_waits):
                fates[tick], any_waits = TickFate.queued, True
            else:
                fates[tick] = TickFate.skipped
        return fates


def _misfire_fates(ticks: Sequence[int]) -> dict[int, TickFate]:
    if len(ticks) <= MAX_LISTED_MISFIRES:
        return dict.fromkeys(ticks, TickFate.misfired)
    among = dict.fromkeys(ticks[1:-MAX_LISTED_MISFIRES], TickFate.among)
    return among | dict.fromkeys([ticks[0], *ticks[-MAX_LISTED_MISFIRES:]], TickFate.misfired)
