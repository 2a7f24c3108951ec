"""Runs in flight: claims whose completion is not stored yet."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from duetime.errors import LeaseLost
from duetime.logs import get_log
from duetime.model.actions.chain import RunTraces
from duetime.model.actions.claim import SUSPECT_LOSSES, Claim, Fence
from duetime.model.actions.current_run import run_fields
from duetime.registry.context import Stop

if TYPE_CHECKING:
    from duetime.telemetry.run_span import RunSpan
    from duetime.worker.claiming.slots import Pool

log = get_log("duetime.worker")


class InFlightRun:
    """One claim on its way through this worker."""

    __slots__ = (
        "claim",
        "finished_at",
        "lease_expires",
        "lost",
        "pool",
        "renew_until",
        "span",
        "started_at",
        "stop",
        "task",
    )

    def __init__(self, claim: Claim, pool: Pool, lease_expires: float) -> None:
        self.claim = claim
        self.pool = pool
        self.lease_expires = lease_expires
        self.renew_until: float | None = None
        self.lost = False
        self.started_at: int | None = None
        self.finished_at: int | None = None
        self.stop = Stop()
        self.task: Task[None] | None = None
        # Only where an SDK is.
        self.span: RunSpan | None = None

    @property
    def trace(self) -> str | None:
        """The context of this run, as it is stored; None without an SDK."""
        return None if self.span is None else self.span.trace

    @property
    def log_fields(self) -> dict[str, object]:
        """The fields of log records about this run, written outside of it."""
        return run_fields(self.claim, self.trace)

    def mark_lost(self) -> None:
        """Another worker may own the action: never start this run, and ask it to stop if it is
        running."""
        self.lost = True
        self.stop.ask("lost")

    def report_refused(self) -> None:
        """Another worker owns the action, so that the store has refused the outcome."""
        log.warning("%s", LeaseLost(self.claim.id), extra=self.log_fields)
        if self.span is not None:
            self.span.refused()


class RunsInFlight:
    """All runs in flight. The heartbeat's thread reads them: iterating copies in one step.

    Keyed by the integer of the action's id: hashing a UUID is a Python call, and each run is looked
    up four times.
    """

    def __init__(self) -> None:
        self._runs: dict[int, InFlightRun] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[InFlightRun]:
        return iter(list(self._runs.values()))

    def add(self, run: InFlightRun) -> None:
        """Add a run. An older run of the same action has lost its lease."""
        number = run.claim.id.int
        older = self._runs.get(number)
        if older is not None:
            older.mark_lost()
        self._runs[number] = run

    def owns(self, action_id: UUID, token: UUID, now: float) -> bool:
        """Return whether this run is ours and may still be renewed."""
        run = self._runs.get(action_id.int)
        if run is None or run.claim.token != token:
            return False
        return run.renew_until is None or now < run.renew_until

    def drop(self, run: InFlightRun) -> None:
        """Forget the run, unless its action was claimed again in the meantime."""
        number = run.claim.id.int
        if self._runs.get(number) is run:
            del self._runs[number]

    def renewable(self, now: float) -> list[InFlightRun]:
        """Return the runs that may be renewed: those not past their deadline and its grace."""
        return [h for h in self if h.renew_until is None or now < h.renew_until]

    def suspect_count(self) -> int:
        return sum(h.claim.losses >= SUSPECT_LOSSES for h in self)


def run_traces(runs: Iterable[InFlightRun]) -> RunTraces:
    """Return the traces of these runs, by the ids of their actions."""
    return {run.claim.id: run.trace for run in runs if run.trace is not None}


def fence_of(run: InFlightRun) -> Fence:
    return Fence(run.claim.id, run.claim.token)
