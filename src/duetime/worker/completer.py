"""Stores completions: in batches, fenced, retried until the store has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from duetime.errors import DuetimeError, UnreadableRow
from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.actions.completion import Completion, CompletionResult, Finish
from duetime.model.actions.outcome import truncate_error
from duetime.model.clock import monotonic
from duetime.model.state import Outcome, State
from duetime.store.base import Store
from duetime.store.outage_log import OutageLog
from duetime.worker.backoff import Backoff
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight, fence_of, run_traces
from duetime.worker.lost_data import drop_lost_data
from duetime.worker.refusals import REFUSALS
from duetime.worker.service import UNTIL_WOKEN, Service

log = get_log("duetime.worker")

GATHER_SECONDS = 0.02

# A row is unreadable for at least this long before its data is given up.
PROOF_SECONDS = 1.0

# Selects the runs that are sent together, from all that wait.
Group = Callable[[Iterable[InFlightRun]], Iterator[InFlightRun]]


class Completer:
    """Keeps finished runs until their completion is stored.

    Until then the heartbeat renews their leases, so that an outage of the store causes no second
    run. When a batch is full while another is in transit, it is sent concurrently: disks and
    networks take time.
    """

    def __init__(
        self,
        store: Store,
        runs: RunsInFlight,
        batch: int,
        outbox_store: OutboxStore,
        recorded: Callable[[InFlightRun, Completion], None],
        flushed: Callable[[], None],
        completed: Callable[[CompletionResult, Sequence[InFlightRun]], None],
    ) -> None:
        self._store = store
        self._runs = runs
        self._batch = batch
        self._outbox_store = outbox_store
        self._recorded = recorded
        self._flushed = flushed
        self._completed = completed
        self._waiting: dict[InFlightRun, Completion] = {}
        self._sent: dict[InFlightRun, Completion] = {}
        self._postponed: dict[InFlightRun, Completion] = {}
        # Since when the store could not read the rows of these runs, by the monotonic clock.
        self._unreadable_since: dict[InFlightRun, float] = {}
        # Runs whose completion the store refused: another one is sent in its place, once.
        self._replaced: set[InFlightRun] = set()
        self._backoff = Backoff()
        # Whether completions were postponed, and none since was stored without trouble.
        self._backing_off = False
        self._kept = OutageLog(
            log, "an outcome cannot be stored, and is kept", "all outcomes are stored"
        )
        self._full = asyncio.Event()
        # Whether the next batches are searched for completions that fail on an unforeseen error.
        self._searching = False
        self.service = Service("completion", self._step, on_repeated_failure=self._search_once)
        self.concurrent_service = Service("concurrent completion", self._concurrent_step)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sent) + len(self._postponed)

    def add(self, run: InFlightRun, completion: Completion) -> None:
        first = not self._waiting
        self._waiting[run] = completion
        if first:
            self.service.wake()
        if len(self._waiting) >= self._batch:
            self._full.set()
            self.concurrent_service.wake()

    async def _step(self) -> float:
        if not self._waiting:
            return UNTIL_WOKEN
        await self._gather()
        # One batch of each group: while plain completions keep coming, the others must not starve.
        for group in GROUPS:
            await self._send_next(group)
        self._searching = False
        return 0.0 if self._waiting else UNTIL_WOKEN

    async def _concurrent_step(self) -> float:
        if len(self._waiting) < self._batch or not self._sent:
            return UNTIL_WOKEN
        return 0.0 if await self._send_next(_plain) else UNTIL_WOKEN

    async def _gather(self) -> None:
        """Wait a moment to send more completions in one statement, unless nothing else is running
        that could finish in the meantime."""
        self._full.clear()
        if len(self._waiting) >= min(self._batch, len(self._runs) - len(self._sent)):
            return
        try:
            async with asyncio.timeout(GATHER_SECONDS):
                await self._full.wait()
        except TimeoutError:
            return

    async def flush(self) -> None:
        """Send every completion that is waiting now."""
        for group in GROUPS:
            for _ in range(0, len([*group(self._waiting)]), self._max_batch(group)):
                await self._send_next(group)

    def _max_batch(self, group: Group) -> int:
        """Return the batch size of a group. A lost run is sent alone: another batch may hold a
        newer run of its action."""
        return 1 if group is _lost else self._batch

    async def _send_next(self, group: Group) -> bool:
        """Send one batch of the group; return whether there was any."""
        batch = list(islice(group(self._waiting), self._max_batch(group)))
        if not batch:
            return False
        for run in batch:
            self._sent[run] = self._waiting.pop(run)
        try:
            await self._send(batch)
        except BaseException:
            self._requeue(batch)
            raise
        return True

    def _requeue(self, batch: Sequence[InFlightRun]) -> None:
        """Send unanswered completions again: only this worker knows of them."""
        self._waiting |= {run: self._sent.pop(run) for run in batch if run in self._sent}
        self.service.wake()

    async def _send(self, batch: list[InFlightRun]) -> None:
        try:
            sent = [(run.claim, self._sent[run]) for run in batch]
            done = await self._store.perform(
                self._outbox_store.complete(sent, skip_busy_jobs=True, run_traces=run_traces(batch))
            )
        except REFUSALS as error:
            await self._isolate(batch, error)
            return
        except DuetimeError:
            raise  # it concerns the store, not these completions
        except Exception as error:
            if not self._searching:
                raise
            await self._send_apart(batch, error)
            return
        everything = len(done.applied) == len(batch)
        for run in batch:
            if everything or run.claim.id not in done.busy:
                self._finish_run(run, everything or run.claim.id in done.applied)
        self._postpone_busy(batch if done.busy else [])
        self._completed(done, batch)
        self._flushed()

    def _postpone_busy(self, batch: Sequence[InFlightRun]) -> None:
        """Send completions whose job is locked again after a backoff, without delaying others."""
        busy = [run for run in batch if run in self._sent]
        if busy:
            self._postpone(busy)
        elif self._backing_off and not self._postponed:
            self._backing_off = False
            self._backoff.reset()
            self._kept.recovered()

    def _postpone(self, batch: Sequence[InFlightRun]) -> None:
        self._postponed |= {run: self._sent.pop(run) for run in batch}
        self._backing_off = True
        asyncio.get_running_loop().call_later(self._backoff.next_pause(), self.resume_postponed)

    def resume_postponed(self) -> None:
        """Return postponed completions to those that wait."""
        postponed, self._postponed = self._postponed, {}
        for run, completion in postponed.items():
            self.add(run, completion)

    async def _isolate(self, batch: list[InFlightRun], error: Exception) -> None:
        """Find a completion that cannot be stored, by halving the batch, and fail its action."""
        if len(batch) > 1:
            half = len(batch) // 2
            await self._send(batch[:half])
            await self._send(batch[half:])
            return
        [run] = batch
        if isinstance(error, UnreadableRow):
            await self._complete_unreadable(run, error)
            return
        if run in self._replaced:
            # The store refuses even this failure, which must not block the others.
            log.error(
                "the outcome of action %s cannot be stored: %s",
                run.claim.id,
                error,
                extra=run.log_fields,
            )
            self._finish_run(run, accepted=False)
            return
        self._replaced.add(run)
        self._sent[run] = self._failure(run, f"its outcome could not be stored: {error}")
        await self._send([run])

    def _failure(self, run: InFlightRun, reason: str) -> Finish:
        completion = self._sent[run]
        return Finish(
            id=completion.id,
            token=completion.token,
            state=State.failed,
            outcome=Outcome.failed,
            error=truncate_error(reason),
            started_at=completion.started_at,
            job=run.claim.job,
            triggered_by=run.claim.triggered_by,
            retried=run.claim.base_attempt > 0,
        )

    async def _complete_unreadable(self, run: InFlightRun, error: UnreadableRow) -> None:
        """Not the completion is at fault, but a row. It is kept in case the row was unreadable for
        a moment only; then, once, it is replaced by what needs no lost data."""
        since = self._unreadable_since.setdefault(run, monotonic())
        if monotonic() - since < PROOF_SECONDS or run in self._replaced:
            self._keep(run, error)
        elif await drop_lost_data(self._store, fence_of(run)):
            await self._send_instead(run, self._failure(run, _lost_reason(self._sent[run], error)))
        elif isinstance(completion := self._sent[run], Finish) and completion.job is not None:
            # The action can be read: it is the row of its job that cannot, and counts no more ends.
            await self._send_instead(run, completion._replace(job=None))
        else:
            self._keep(run, error)

    async def _send_instead(self, run: InFlightRun, completion: Finish) -> None:
        log.error(
            "action %s: a damaged row kept its outcome, %s, from being stored; stored is: %s, %s",
            run.claim.id,
            self._sent[run].outcome,
            completion.outcome,
            completion.error,
            extra=run.log_fields,
        )
        self._replaced.add(run)
        self._sent[run] = completion
        await self._send([run])

    def _search_once(self) -> str:
        """Search the next batches for completions that fail each time, so that they do not hold up
        the others. They are kept: the error may be the store's, or a fault of this code."""
        self._searching = True
        return "sends each outcome that fails apart from the others"

    async def _send_apart(self, batch: list[InFlightRun], error: Exception) -> None:
        """Send the halves of a batch; a single completion that fails is kept for later."""
        if len(batch) == 1:
            self._keep(batch[0], error)
            return
        half = len(batch) // 2
        await self._send(batch[:half])
        await self._send(batch[half:])

    def _keep(self, run: InFlightRun, error: Exception) -> None:
        self._kept.failed(f"action {run.claim.id}: {error}")
        self._postpone([run])

    def _finish_run(self, run: InFlightRun, accepted: bool) -> None:
        completion = self._sent.pop(run)
        self._runs.drop(run)
        if self._unreadable_since or self._replaced:
            self._unreadable_since.pop(run, None)
            self._replaced.discard(run)
        if accepted:
            self._recorded(run, completion)
        else:
            run.report_refused()


def _lost_reason(completion: Completion, error: Exception) -> str:
    reason = (
        f"its row is damaged, and the outcome of its run, {completion.outcome.value}, could not be "
        f"stored: {error}"
    )
    return f"{completion.error}; {reason}" if completion.error else reason


def _lost(waiting: Iterable[InFlightRun]) -> Iterator[InFlightRun]:
    return (run for run in waiting if run.lost)


def _plain(waiting: Iterable[InFlightRun]) -> Iterator[InFlightRun]:
    return (run for run in waiting if not run.lost and run.claim.job is None)


def _of_jobs(waiting: Iterable[InFlightRun]) -> Iterator[InFlightRun]:
    """Runs of jobs, which may have to wait for a lock on their job; other runs shall not."""
    return (run for run in waiting if not run.lost and run.claim.job is not None)


# At most one completion for each action in a batch: a worker that was suspended for a lease may
# have an old and a new run of an action in flight, and has lost the old one.
GROUPS: Sequence[Group] = (_lost, _plain, _of_jobs)
