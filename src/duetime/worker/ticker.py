"""Turns due ticks of jobs into actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duetime.errors import StoreUnavailable
from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.clock import micros_of
from duetime.model.ids import NewId
from duetime.model.jobs.change import AppliedJobChange, FoundJob, JobChange, JobEditResult
from duetime.model.jobs.job import JobRecord, misfire_after_of
from duetime.model.jobs.selectors import DueJobs
from duetime.model.jobs.ticks import apply_ticks
from duetime.model.lane import job_lane
from duetime.model.trace import keep_trace
from duetime.store.base import Store
from duetime.store.flow import Wake
from duetime.telemetry.tracing import span
from duetime.worker.backoff import Backoff
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.lost_data import JobEditor
from duetime.worker.service import UNTIL_WOKEN, Service
from duetime.worker.settings import WorkerSettings

log = get_log("duetime.worker")


class Ticker:
    """Knows when the next tick of its app is due: from sweeps, wakes and its own edits.

    Every worker runs a ticker; the locks on jobs and the table of ticks make each tick one action.
    Jobs that this worker cannot decide (an unknown time zone, a rule written by another version)
    are retried once a sweep, so that they do not block the others.

    After a full batch, a second edit runs concurrently: the store works on one batch while this
    process decides the other.
    """

    def __init__(
        self,
        store: Store,
        outbox_store: OutboxStore,
        clock: StoreClock,
        settings: WorkerSettings,
        new_id: NewId,
        ticked: Callable[[Sequence[AppliedJobChange]], None],
    ) -> None:
        """`ticked` gets the changes of the jobs whose ticks were due."""
        self._editor = JobEditor(store, outbox_store)
        self._clock = clock
        self._app = settings.app
        self._lane = job_lane(settings.app)
        self._max_batch = self._batch = settings.batch
        self._backoff = Backoff()
        self._misfire_after = settings.misfire_after
        self._new_id = new_id
        self._ticked = ticked
        self.next_tick: int | None = None
        # How many edits are in flight, and whether the last one left due jobs.
        self._edits_in_flight = 0
        self._more_due = False
        # The earliest tick that a wake announced since the last edit began.
        self._woken_for: int | None = None
        # Since when, by the store's clock, due jobs were locked by others.
        self._locked_since: int | None = None
        self._logged: set[str] = set()
        self._undecidable: set[str] = set()
        self.service = Service("tick", self._step, on_repeated_failure=self._forget_tick)
        self.concurrent_service = Service("concurrent tick", self._concurrent_step)

    @property
    def has_ticks(self) -> bool:
        return self.next_tick is not None

    def sweep_finished(self, next_tick: int | None, *, full: bool) -> None:
        """Take over the next tick from a look-ahead; wakes since the last edit may be newer. `full`
        after a sweep: undecidable jobs are tried again."""
        if full:
            self._undecidable.clear()
        self.next_tick = _earliest(next_tick, self._woken_for)
        self.service.wake()

    def woken(self, wakes: Sequence[Wake]) -> list[Wake]:
        """Note when jobs of the app became due; return the wakes for lanes."""
        due = [wake.due_at for wake in wakes if wake.lane == self._lane]
        if due:
            self._woken_for = _earliest(self._woken_for, *due)
            self.next_tick = _earliest(self.next_tick, *due)
            self.service.wake()
        return [wake for wake in wakes if wake.lane != self._lane]

    async def tick(self) -> int:
        """Process up to a batch of jobs with due ticks; return how many jobs had any."""
        if not self._edits_in_flight:
            self._woken_for = None
        left = len(self._undecidable)
        due = DueJobs(self._app, self._batch, frozenset(self._undecidable))
        sent = self._clock.monotonic()
        with span("duetime.tick"):
            edited = await self._edit_due(due)
        self._more_due = _has_due_jobs(edited) and len(edited.changes) == due.limit
        if self._more_due:
            self.concurrent_service.wake()
        self._clock.observe(edited.now, sent)
        self.next_tick = _earliest(edited.next_tick, self._woken_for)
        self._undecidable |= edited.unreadable
        self._note_locked(edited)
        self._ticked(edited.changes)
        return len(edited.changes) + len(self._undecidable) - left

    async def _edit_due(self, due: DueJobs) -> JobEditResult:
        self._edits_in_flight += 1
        try:
            edited = await self._editor.edit(due, keep_trace(self._decide))
        except StoreUnavailable:
            # The transaction may have been too large, as after a long downtime.
            self._batch = max(self._batch // 2, 1)
            # Without an answer, no lock is known.
            self._locked_since, self._more_due = None, False
            raise
        finally:
            self._edits_in_flight -= 1
        self._batch = min(self._batch * 2, self._max_batch)
        return edited

    async def _step(self) -> float:
        pause = 0.0
        if self.next_tick is not None and self._clock.until(self.next_tick) <= 0:
            pause = self._lock_pause(await self.tick())
        if self.next_tick is None:
            return UNTIL_WOKEN
        return max(self._clock.until(self.next_tick), pause)

    def _forget_tick(self) -> str:
        """Forget the next tick, since edits fail each time; the next sweep tells it again."""
        forgotten, self.next_tick, self._woken_for = self.next_tick, None, None
        self._more_due = False
        return f"forgets the tick that is due at {forgotten} until the next sweep"

    async def _concurrent_step(self) -> float:
        if self._more_due:
            await self.tick()
        return 0.0 if self._more_due else UNTIL_WOKEN

    def _note_locked(self, edited: JobEditResult) -> None:
        """Jobs that are still due after a batch that was not full are locked by others, unless one
        of our own edits is in flight."""
        if not _has_due_jobs(edited):
            self._locked_since = None
        elif (
            self._locked_since is None
            and not self._edits_in_flight
            and len(edited.changes) < self._batch
        ):
            self._locked_since = edited.now

    def _was_locked(self, job: JobRecord | None) -> bool:
        """Return whether the job was locked before its tick became a misfire."""
        if self._locked_since is None or job is None or job.next_due_at is None:
            return False
        late = micros_of(misfire_after_of(job, self._misfire_after))
        return self._locked_since <= job.next_due_at + late

    def _lock_pause(self, ticked: int) -> float:
        """Return the pause before the next edit: a backoff if all due jobs are locked, else 0."""
        if not ticked:
            return self._backoff.next_pause()
        self._backoff.reset()
        return 0.0

    def _decide(self, found: FoundJob) -> JobChange | None:
        try:
            locked = self._was_locked(found.job)
            return apply_ticks(found, self._new_id, self._misfire_after, delayed_by_lock=locked)
        except Exception as error:  # noqa: BLE001 - one bad job never blocks another
            # Another worker may be able to: a newer one, or one that has the time zone.
            if found.name not in self._logged:
                log.error("job %s cannot tick here: %s", found.name, error)
            self._logged.add(found.name)
            self._undecidable.add(found.name)
            return None


def _has_due_jobs(edited: JobEditResult) -> bool:
    return edited.next_tick is not None and edited.next_tick <= edited.now


def _earliest(*ticks: int | None) -> int | None:
    return min((tick for tick in ticks if tick is not None), default=None)
