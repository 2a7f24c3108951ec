"""The contract of a store. The docstrings are the specification; the package `store/memory` is
their executable form, and `duetime.testing.conformance` checks it.

A store decides nothing: it keeps rows and applies guarded changes, which `duetime.model` decides.
Every verb returns a Flow, which does no I/O until it is performed.

Rules that hold for every verb:

- `now` is the store's own clock, or the SettableClock it was given. Workers' clocks count
  for nothing.
- A running action is one with a token. Every write of a worker names its fence, the action's id
  and token; if the stored token is another one, nothing changes.
- A verb makes all its changes in one transaction: all of them happen, or none.
- A child, an action with `after`, waits for the end of that parent: it is scheduled, has no
  `due_at` and is in no lane. Adding a child does not lock its parent, and finishing a parent does
  not settle its children: the caller that finished an action, or added a child, calls `settle`.
  `sweep` reports parents whose children were missed.
- A row that cannot be read must not stop a verb for other rows. A store whose columns may
  hold values of any type fails its action with the reason, and performs the verb again.
- After the commit of a verb that made actions claimable, listeners are woken with their lane and
  `due_at`. A wake is a hint: losing one costs time, never an action.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar
from uuid import UUID

from duetime.errors import ConfigError, shown
from duetime.model.act import SYSTEM_ACT, Act
from duetime.model.actions.action import Added, NewAction, Record, StoredRun
from duetime.model.actions.action_key import ActionKey
from duetime.model.actions.chain import NO_TRACES, RunTraces
from duetime.model.actions.claim import (
    Claimed,
    ClaimOrder,
    Fence,
    LaneSpan,
    RenewResult,
    SeenWorker,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import Completion, CompletionResult
from duetime.model.actions.new_actions import IfExists
from duetime.model.audit import AuditFilter, StoredAuditEntry
from duetime.model.filter import Filter
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.health.stats import StoreCounts
from duetime.model.jobs.change import JobEdit, JobEditResult
from duetime.model.jobs.job_filter import JobFilter
from duetime.model.jobs.occurrence_filter import OccurrenceFilter
from duetime.model.jobs.selectors import JobSelector
from duetime.model.jobs.view import JobView
from duetime.model.tenant import Scope
from duetime.store.contract.access import AccessContract
from duetime.store.contract.answers import AnswerContract
from duetime.store.contract.audit import AuditContract
from duetime.store.contract.bulks import BulkContract
from duetime.store.contract.erasures import ErasureContract
from duetime.store.contract.expiry import ExpiryContract
from duetime.store.contract.figures import FigureContract
from duetime.store.contract.finding import FindingContract
from duetime.store.contract.job_definitions import JobDefinitionContract
from duetime.store.contract.notifications import NotificationContract
from duetime.store.contract.queues import QueueContract
from duetime.store.contract.repeats import RepeatContract
from duetime.store.contract.timeline import TimelineContract
from duetime.store.contract.transitions import TransitionContract
from duetime.store.flow import Flow, Wake
from duetime.store.transaction import JoinedStore, TransactionFactory

T = TypeVar("T")
OnWake = Callable[[Sequence[Wake]], None]


class Listener(Protocol):
    """The handle of an open `listen` context."""

    @property
    def alive(self) -> bool:
        """False while wakes from other processes may be missed: poll faster."""
        ...

    @property
    def problem(self) -> str | None:
        """Why wakes that should arrive do not; None while they do, and where nothing is listened
        to."""
        ...

    @property
    def refused_wakes(self) -> int:
        """The number of wakes that were refused because no store of duetime could have sent them:
        a wake is a hint that strangers may send, too."""
        ...


class Store(
    AccessContract,
    AnswerContract,
    AuditContract,
    BulkContract,
    ErasureContract,
    ExpiryContract,
    FigureContract,
    FindingContract,
    JobDefinitionContract,
    NotificationContract,
    QueueContract,
    RepeatContract,
    TimelineContract,
    TransitionContract,
    ABC,
):
    """The store of actions and jobs of one or more apps."""

    # -- performing ------------------------------------------------------------------

    @abstractmethod
    async def perform(self, flow: Flow[T]) -> T:
        """Run a flow in one transaction and commit it.

        Raises StoreUnavailable if the store cannot be reached or does not answer in time: the
        flow may or may not have taken effect, but one marked `resend` did so at most once. Errors
        raised by the flow itself roll everything back and pass through; a flow of mode `hot` or
        `claim` raises none after its statement.
        """

    @abstractmethod
    def perform_blocking(self, flow: Flow[T]) -> T:
        """Perform a flow like `perform`, blocking this thread; also works beside a running loop."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close every connection and thread. The next `perform` opens the store again."""

    @abstractmethod
    def close(self) -> None:
        """Close like `aclose`, blocking."""

    def join(self, connection: object) -> JoinedStore:
        """Return this store on the caller's connection. ConfigError if it cannot join that."""
        raise ConfigError(
            f"{type(self).__name__} cannot join the transaction of connection="
            f"{shown(connection)}: use a SQLite or PostgreSQL store in the same database"
        )

    def transaction_factory(
        self, annotation: object, sessions: object
    ) -> TransactionFactory | None:
        """Return the transactions for a handler parameter of this annotation; None if the
        annotation names no connection. `sessions` creates SQLAlchemy sessions. ConfigError if this
        store cannot lend transactions."""
        raise ConfigError(
            f"{type(self).__name__} has no transactions for handlers: transactional=True needs a "
            "SQLite or PostgreSQL store"
        )

    # Whether `wake_others` reaches other processes.
    wakes_others = False

    def wake_others(self, lanes: Sequence[str]) -> None:
        """Send a wake for these lanes, due now, to the listeners of other processes. Blocking.
        StoreUnavailable if the store cannot be reached. Only called if `wakes_others`."""
        raise NotImplementedError(f"{type(self).__name__} cannot wake other processes")

    @abstractmethod
    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        """Call `on_wake` on this event loop after each commit with wakes, of any process whose
        commits the store can notice, until the context ends."""

    async def build_indexes(self, *, by_operator: bool = False) -> bool:
        """Build the indexes that are missing, without blocking other verbs; return False if another
        process is building them. Workers ask for it, and leave it to an operator where they may not
        change the schema. Overriding this is optional."""
        return True

    def diagnose(self) -> Diagnosis:
        """Inspect the database for `duetime doctor`, without changing anything. Blocking. Problems
        are returned, not raised. Overriding this is optional."""
        return Diagnosis()

    # -- the client's verbs ----------------------------------------------------------

    @abstractmethod
    def add(
        self, new: Sequence[NewAction], if_exists: IfExists, act: Act = SYSTEM_ACT
    ) -> Flow[Sequence[Added]]:
        """Insert new actions, all or none, and return them in the order given.

        `due_at` is stored as given, or as now + `delay`; `created_at` is now. An action with
        `after` waits for that parent, which must be stored, finished or not, and be of the same
        tenant, else ActionNotFound; its `due_at` and `delay` are kept for the parent's end.
        An id that is already stored, finished or not, is returned as stored (the first sending had
        been committed).
        If an unfinished action of the same tenant and kind, possibly an earlier one of the same
        call, holds the `key`, `if_exists` decides: *return* that action, with `created` False;
        *raise* DuplicateKey; *replace* its version, payload, queue, priority, correlation id,
        lane, due time and parent, and reset its attempts and losses, if it is scheduled, else
        IllegalState; audited as `act`, but by the actor of the new action. InvalidArgument if its
        new parent waits for it. A replacement does not store the new id: sent again after a lost
        reply, it replaces once more.
        """

    @abstractmethod
    def get(self, action_id: UUID, tenant: Scope) -> Flow[Record]:
        """Return the action, finished or not. ActionNotFound outside the tenant's scope."""

    @abstractmethod
    def find_id(self, wanted: ActionKey, tenant: Scope) -> Flow[UUID]:
        """Return the id of the action that a kind and key name within the tenant's scope, as
        ActionKey says: read in one snapshot, and not locked. ActionNotFound if there is none;
        InvalidArgument if there are some of several tenants."""

    @abstractmethod
    def runs(
        self, action_id: UUID, tenant: Scope, *, limit: int, before: UUID | None = None
    ) -> Flow[list[StoredRun]]:
        """Return the newest `limit` runs of the action, oldest first, the current or last one
        included; with `before`, those before the run of this id, which must be a run of the action,
        else InvalidArgument. The run whose traceback was kept last has it, the others have none."""

    @abstractmethod
    def cancel(self, action_id: UUID, tenant: Scope, act: Act, *, running: bool) -> Flow[Record]:
        """Change scheduled → cancelled, audited, finished_at now. A running action: IllegalState,
        or, with `running`, request it to stop: `renew` returns the actor to its worker (audited,
        unless the same actor asked last; the record stays running). Any other state:
        IllegalState."""

    @abstractmethod
    def reschedule(
        self, action_id: UUID, tenant: Scope, act: Act, *, due_at: int | None, delay: int | None
    ) -> Flow[Record]:
        """Move a scheduled action, earlier or later, audited. A parked action stays parked. A child
        that waits for its parent keeps waiting, and is due no earlier than the new instant.
        Any other state: IllegalState."""

    @abstractmethod
    def retry(self, action_id: UUID, tenant: Scope, act: Act) -> Flow[Record]:
        """Change failed → scheduled at now, audited. The retry budget and losses start again,
        attempt numbers continue, and the failed run joins the earlier runs. Any other state:
        IllegalState. DuplicateKey if another action holds the key by now."""

    @abstractmethod
    def cancel_many(self, wanted: Filter, act: Act) -> Flow[list[Record]]:
        """Cancel every matching scheduled action, each audited, and return them. `limit` and
        `before` are ignored; running actions are left alone."""

    @abstractmethod
    def retry_many(self, wanted: Filter, act: Act) -> Flow[list[Record]]:
        """Retry every matching failed action, each audited, and return them; except those whose
        key another action holds by now."""

    @abstractmethod
    def audit(self, wanted: AuditFilter) -> Flow[list[StoredAuditEntry]]:
        """Return up to `limit` matching entries that follow `follows`, newest first: by instant,
        then by id."""

    @abstractmethod
    def stats(
        self, tenant: Scope, *, alive: int, limit: int, most: int | None = None
    ) -> Flow[StoreCounts]:
        """Count the tenant's unfinished actions by lane; its finished ones by state, among the
        newest `limit` of each; its jobs, as `model.jobs.stats` does; and list the paused queues,
        and the workers of all tenants that were seen within the last `alive` microseconds. A read
        that blocks no other verb; its parts need not be of one snapshot. With `most`, a store may
        count about so many unfinished actions of all lanes together, those that are due first, and
        at least 100 of each lane; the counts of others are `capped`."""

    @abstractmethod
    def workers(self, alive: int) -> Flow[list[SeenWorker]]:
        """Return the workers that were seen within the last `alive` microseconds, in any order."""

    # -- jobs ------------------------------------------------------------------------

    @abstractmethod
    def jobs(self, wanted: JobFilter) -> Flow[list[JobView]]:
        """Return a page of matching jobs, as `model.jobs.job_filter.page_of` does, with figures of
        their occurrences. Names are compared by code point."""

    @abstractmethod
    def occurrences(self, wanted: OccurrenceFilter) -> Flow[list[Record]]:
        """Return occurrences of a job, newest first, as `model.jobs.occurrence_filter.newest_of`
        does."""

    @abstractmethod
    def ticks(self, name: str, since: int, before: int) -> Flow[list[int]]:
        """Return the stored ticks of a job with since <= tick < before, in order."""

    @abstractmethod
    def edit_jobs(self, which: JobSelector, decide: JobEdit) -> Flow[JobEditResult]:
        """Change the selected jobs under their locks, all in one transaction. Each is passed to
        `decide` with its unfinished occurrences, oldest first by the store's clock; the returned
        change is written. `decide` may be called again for a job; if it raises, everything is
        rolled back.

        Jobs locked by another transaction are skipped, and with ToSeed reported as `busy`; with
        ByName the verb waits for them. With ByName and ToSeed, a missing job is passed as None.
        Whether the worker of ToSeed and Reappeared is the youngest is read after the jobs are
        locked, so that older code never overwrites what newer code has seeded. An occurrence whose
        (job, tick) was stored before, by any edit and even if its action is long gone, is not
        stored again; one that is `skipped` is stored as cancelled with that reason. Of the
        occurrences to cancel, only scheduled ones that are not locked are cancelled. Each change
        with a verb is audited.
        Occurrences wake; so do jobs with a next tick, on the lane of their app, except with
        DueJobs: then the app's next tick is returned."""

    # -- the worker's verbs ----------------------------------------------------------

    @abstractmethod
    def claim(self, order: ClaimOrder) -> Flow[Claimed]:
        """Claim up to `limit` actions, span by span in the order given, by due time within a
        span: scheduled, in that lane, `since` <= due_at <= now + `ahead`. Each gets a new
        token, the worker, a lease until now + `lease`, attempt + 1, started_at = the later of
        now and due_at. Never waits for a row that another transaction has locked, and never claims
        a row twice. InvalidArgument or UnreadableRow, and nothing is claimed, if the store cannot
        change or read one of the rows."""

    @abstractmethod
    def claimable_ids(self, span: LaneSpan, limit: int) -> Flow[list[UUID]]:
        """Return the ids of up to `limit` actions that a claim of the span would take, by due time.
        Reads nothing else of them: one of them may be damaged."""

    @abstractmethod
    def fail_damaged(
        self, action_id: UUID, reason: str, *, without_data: bool = False
    ) -> Flow[bool]:
        """Finish a scheduled action as failed, with the reason as its error, because the store
        cannot claim it. Its other fields stay as they are. With `without_data`, payload becomes
        null, and progress is dropped, both unread. Return False if it is running,
        finished or waits for its parent.
        InvalidArgument or UnreadableRow if the store cannot move it to history either."""

    @abstractmethod
    def withdraw_damaged(self, action_id: UUID, reason: str) -> Flow[bool]:
        """Withdraw a scheduled action from claims: move it to DAMAGED_LANE, from which no worker
        claims, with the reason as its error. Return False if it is running, finished or waits for
        its parent."""

    @abstractmethod
    def is_readable(self, action_id: UUID) -> Flow[bool]:
        """Return whether the store can read all of an action's row, or has no such row."""

    @abstractmethod
    def drop_data(self, fence: Fence) -> Flow[bool]:
        """Set the payload of a running action to null, and drop its progress and error, all unread,
        because the store has lost them. Return False if the fence is stale."""

    @abstractmethod
    def lost_jobs(self, app: str) -> Flow[frozenset[str]]:
        """Return the names of an app's jobs whose row the store has lost in part: a statement that
        reads it raises UnreadableRow."""

    @abstractmethod
    def damaged_workers(self, app: str, alive: int) -> Flow[list[str]]:
        """Return the ids of an app's workers, of those seen within the last `alive` microseconds,
        whose list of jobs cannot be read."""

    @abstractmethod
    def complete(
        self,
        completions: Sequence[Completion],
        *,
        rescuing: bool = False,
        skip_busy_jobs: bool = False,
    ) -> Flow[CompletionResult]:
        """Apply completions whose token is the stored one, at most one per action. Return the ids
        that took effect, now or by an earlier sending of the same completion.

        With `rescuing`, apply only those whose lease has expired by now, and return only what
        changed now: of two rescuers, one gets the action. The returned `parents` include every
        finished action that had a waiting child when the verb began. With `skip_busy_jobs`, do not
        wait for jobs locked by another transaction: their occurrences are left alone and returned
        as busy.

        Finish moves the action to history with its token as the ending token, finished_at
        now, and `lost` added to its losses. Reschedule makes it scheduled: token, worker, lease,
        progress and stop request cleared; error kept; due_at = now + `delay`, or unchanged;
        attempt given back if `refund`; `lost` added; the run recorded under its token. Reschedule
        wakes. A `traceback` takes the place of the action's earlier one.
        """

    @abstractmethod
    def settle(
        self, parents: Sequence[UUID], limit: int, run_traces: RunTraces = NO_TRACES
    ) -> Flow[list[Record]]:
        """Settle up to `limit` children that wait for one of these parents, if it is no longer
        unfinished, in the order of their ids, and return them. `model.actions.chain.settle_child`
        decides: due on the lane of its queue, priority and tenant, or cancelled. Due children wake.
        `run_traces` are those of the parents' last runs, as far as they are known: stored with due
        children, after the trace in which each was scheduled.
        Skips rows locked by other transactions. A parent that was retried, or that has no waiting
        children, settles none."""

    @abstractmethod
    def renew(self, fences: Sequence[Fence], lease: int) -> Flow[RenewResult]:
        """Extend each lease to now + `lease`; at most one fence per action in a call. Skips rows
        locked by other transactions; never restores a token that is no longer stored."""

    @abstractmethod
    def progress(self, fence: Fence, progress: str) -> Flow[None]:
        """Store the progress of a run. LeaseLost if the fence is stale."""

    @abstractmethod
    def look_ahead(self, app: str | None = None) -> Flow[SweepResult]:
        """Return each lane that has unfinished actions, with the due time of its next free one; for
        an app, also its jobs' next tick; and the paused queues. A read, which does not search for
        expired leases."""

    @abstractmethod
    def look_ahead_from(self, since: Mapping[str, int]) -> Flow[SweepResult]:
        """Return the look-ahead for these lanes only (at least one), each from its given due time
        on, and the paused queues. Actions due earlier are not seen, and cost nothing."""

    @abstractmethod
    def sweep(self, worker: WorkerInfo, ahead: int, limit: int) -> Flow[SweepResult]:
        """Record that this worker is alive, and return a look-ahead, up to `limit` expired leases
        (among actions due by now + `ahead`), and parents that are no longer unfinished while
        children wait for them. A store may search for such parents among part of the waiting
        children each time, but must get round to every child that keeps waiting."""

    @abstractmethod
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Flow[int]:
        """Delete up to `limit` of the oldest finished actions with their runs and tracebacks:
        finished more than `keep` microseconds ago (failed ones: `keep_failed`); return how many.
        Bulks go BULK_RETENTION after their last step."""

    @abstractmethod
    def clear(self) -> Flow[None]:
        """Delete every action, finished or not, with its runs; every job with its ticks; the
        pauses, the bulks, the audit log, the figures, the workers, the reports, who may do what,
        and stored answers. For tests: nothing of it can be brought back."""

    @abstractmethod
    def unregister(self, worker: str) -> Flow[None]:
        """Delete the row of a worker that stopped gracefully."""
