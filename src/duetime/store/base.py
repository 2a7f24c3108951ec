"""The contract of a store. The docstrings are the specification; `memory.py` executes it,
and `duetime.testing.conformance` checks it.

A store is dumb: it keeps rows and applies guarded moves. What a move should be is decided
in `duetime.model`. Every verb returns a Flow, which does no I/O by itself; whoever performs it
does.

Rules that hold for every verb:

- `now` is the store's own clock, or the SettableClock it was given. Workers' clocks count
  for nothing.
- A running action is one with a token. Every write of a holder names the token; if it is no
  longer the stored one, nothing changes.
- What a verb changes it changes in one transaction: all of it happened, or nothing.
- A child, an action with `after`, waits for the end of that parent: it is scheduled, has no
  `due_at` and stands in no lane. It locks no parent, and nothing ends by itself what waits:
  whoever ended an action, or added a child, asks to `settle`, and `sweep` tells what was
  forgotten.
- After the commit of a verb that made something claimable, listeners are woken with its lane
  and `due_at`. Waking is a hint: losing one costs time, never work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar
from uuid import UUID

from duetime.errors import ConfigError, shown
from duetime.model.actions.action import Added, NewAction, Record, StoredRun
from duetime.model.actions.claim import Claimed, ClaimOrder, Lease, Presence, Renewed, Swept
from duetime.model.actions.completion import Completed, Ending
from duetime.model.actions.new_actions import IfExists
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.health.stats import Counted
from duetime.model.jobs.change import Decide, Edited
from duetime.model.jobs.selectors import JobFilter, Which
from duetime.model.jobs.view import JobView
from duetime.model.tenant import Scope
from duetime.store.flow import Flow, Wake
from duetime.store.transaction import Joined, Opener

T = TypeVar("T")
OnWake = Callable[[Sequence[Wake]], None]


class Listener(Protocol):
    """What a worker holds while it listens."""

    @property
    def alive(self) -> bool:
        """False while wakes from other processes may be missed: poll faster."""
        ...


class Store(ABC):
    """Where actions live."""

    # -- performing ------------------------------------------------------------------

    @abstractmethod
    async def perform(self, flow: Flow[T]) -> T:
        """Run a flow in one transaction and commit it.

        Raises StoreUnavailable when the store cannot be reached or does not answer in time;
        then a flow marked `resend` did its work at most once, any other may or may not have
        happened. Errors raised by the flow itself roll everything back and pass through;
        a flow of mode `hot` or `claim` raises none after its statement.
        """

    @abstractmethod
    def perform_blocking(self, flow: Flow[T]) -> T:
        """The same for a thread without an event loop; also fine while a loop runs."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of every connection and thread. Performing again opens anew."""

    @abstractmethod
    def close(self) -> None:
        """The same, blocking."""

    def join(self, connection: object) -> Joined:
        """Perform on a connection of the caller's. ConfigError if this store cannot join it."""
        raise ConfigError(
            f"{type(self).__name__} cannot join the transaction of connection="
            f"{shown(connection)}: that takes a SQLite or PostgreSQL store in the same database"
        )

    def opener(self, annotation: object, sessions: object) -> Opener | None:
        """Transactions for a handler with a parameter of this annotation; None if it asks for
        none. `sessions` makes sessions of SQLAlchemy. ConfigError if this store has none."""
        raise ConfigError(
            f"{type(self).__name__} has no transactions for handlers: transactional=True takes a "
            "SQLite or PostgreSQL store"
        )

    @abstractmethod
    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        """Call `on_wake` on this event loop after each commit that woke, from any process
        as far as the store can tell, until the context ends."""

    def diagnose(self) -> Diagnosis:
        """For `duetime doctor`: look at the database below without changing anything, and tell
        what is wrong instead of raising it. Blocking. A store that has nothing to tell leaves
        this as it is."""
        return Diagnosis()

    # -- the client's verbs ----------------------------------------------------------

    @abstractmethod
    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Flow[Sequence[Added]]:
        """Store new actions, all or none, and return them in the order given.

        `due_at` is kept, or becomes now + `delay`; `created_at` is now. One with `after`
        waits for that action, which must be stored already, finished or not, and of the same
        tenant, else ActionNotFound; its `due_at` and `delay` are kept for its parent's end.
        An id that is already stored, finished or not, is returned as it is (the first try had
        committed).
        A `key` held by an unfinished action of the same tenant and kind (also by an earlier
        one of the same call) decides by `if_exists`: *return* that one, `created` False;
        *raise* DuplicateKey; *replace* version, payload, queue, priority, correlation id,
        lane, due time and parent of that one, its attempts and losses reset, if it is
        scheduled, else IllegalState. InvalidArgument if its new parent waits for it. Of a
        replacement no trace of the new id is left: sent again after a lost reply, it is
        another one.
        """

    @abstractmethod
    def get(self, action_id: UUID, tenant: Scope) -> Flow[Record]:
        """The action, finished or not. ActionNotFound outside the tenant's scope."""

    @abstractmethod
    def find(self, wanted: Filter) -> Flow[list[Record]]:
        """Up to `limit` actions that match, newest id first, ids below `before` only."""

    @abstractmethod
    def runs(self, action_id: UUID, tenant: Scope) -> Flow[list[StoredRun]]:
        """Every run of the action, oldest first, the current or last one included."""

    @abstractmethod
    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Flow[Record]:
        """scheduled → cancelled, audited, finished_at now. If it runs: IllegalState, or, with
        `running`, mark it so that `renew` tells its holder who asked it to stop (audited too;
        the record stays running). Any other state: IllegalState."""

    @abstractmethod
    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Flow[Record]:
        """Move a scheduled action, earlier or later, audited. A parked one stays parked. One
        that waits for its parent goes on waiting, and is due no earlier than the new instant.
        Any other state: IllegalState."""

    @abstractmethod
    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Flow[Record]:
        """failed → scheduled at now, audited. The retry budget and losses start again,
        attempt numbers go on, and the run that failed joins the earlier runs. Any other
        state: IllegalState. DuplicateKey if its key is held by another by now."""

    @abstractmethod
    def cancel_many(self, wanted: Filter, by: str) -> Flow[list[Record]]:
        """Cancel every scheduled action that matches, each audited; `limit` and `before` do
        not count. Those running are left alone."""

    @abstractmethod
    def retry_many(self, wanted: Filter, by: str) -> Flow[list[Record]]:
        """Retry every failed action that matches, each audited, except those whose key is
        held by another by now."""

    @abstractmethod
    def audit(self, subject_id: str, limit: int) -> Flow[list[AuditEntry]]:
        """The newest entries about one subject, newest first."""

    @abstractmethod
    def stats(self, tenant: Scope, *, alive: int, limit: int) -> Flow[Counted]:
        """Count the tenant's unfinished actions by lane; its finished ones by state, among the
        newest `limit` of each; its jobs, as `model.job_stats` does; and name the workers, of
        whichever tenant, that were seen within the last `alive` microseconds. A read that no
        other verb waits for; its parts need not be of one snapshot."""

    @abstractmethod
    def workers(self, alive: int) -> Flow[list[tuple[Presence, int]]]:
        """The workers that were seen within the last `alive` microseconds, in any order, and when
        each of them was seen last."""

    # -- jobs ------------------------------------------------------------------------

    @abstractmethod
    def jobs(self, wanted: JobFilter) -> Flow[list[JobView]]:
        """Jobs by name, in the order of names (by code point), with what their occurrences
        tell; removed ones only if asked for."""

    @abstractmethod
    def occurrences(self, name: str, limit: int) -> Flow[list[Record]]:
        """The newest actions of a job, newest first by the store's clock, then by id."""

    @abstractmethod
    def ticks(self, name: str, since: int, before: int) -> Flow[list[int]]:
        """Those ticks of a job, since <= tick < before, that were dealt with, in order."""

    @abstractmethod
    def edit_jobs(self, which: Which, decide: Decide) -> Flow[Edited]:
        """Change jobs under their locks, all in one transaction. Each of those meant is given
        to `decide` with its unfinished occurrences, oldest first by the store's clock; what it
        returns is written.
        `decide` may be called again for a job, and what it raises undoes all.

        Jobs that another transaction holds are passed over, and of Seeding named as `busy`;
        Named ones are waited for. Of Named and Seeding, what is not there is given as None.
        Whether the worker of Seeding and Returned is the youngest is asked when the jobs are
        held, so that older code never overwrites what younger code has seeded. An occurrence
        whose (job, tick) was stored before, by whatever edit and however long its action is gone,
        is not stored again; one that is `skipped` is stored as cancelled with that reason. Of
        those to cancel, only what is scheduled, and held by nobody, is. Each Change with a verb is
        audited.
        Occurrences wake; so do jobs with a next tick, on the lane of their app, unless they
        were asked for as Due: then the next tick of that app is returned."""

    # -- the worker's verbs ----------------------------------------------------------

    @abstractmethod
    def claim(self, order: ClaimOrder) -> Flow[Claimed]:
        """Take up to `limit` actions, span by span in the order given, by due time within a
        span: scheduled, in that lane, `since` <= due_at <= now + `ahead`. Each gets a fresh
        token, the worker, a lease until now + `lease`, attempt + 1, started_at = the later of
        now and due_at. Never waits for a row that another transaction holds, and never takes
        one twice."""

    @abstractmethod
    def complete(
        self, endings: Sequence[Ending], *, rescuing: bool = False, impatient: bool = False
    ) -> Flow[Completed]:
        """Apply endings whose token is the stored one, at most one per action; return the ids
        that took effect, now or by an earlier sending of the same ending. With `rescuing`,
        apply only those whose lease has run out by now, and return only what changed now:
        of two rescuers one is told. Among the `parents` it returns is every finished one that
        had a waiting child when the verb began. With `impatient`, wait for no job that another
        transaction holds: its occurrences are left alone, and told to be busy.

        Finish moves the action to history with its token as the ending token, finished_at
        now, and `lost` added to its losses. Again makes it scheduled: token, worker, lease,
        progress and stop request cleared; error kept; due_at = now + `delay`, or as it was;
        attempt given back if `refund`; `lost` added; the run recorded under its token. Again
        wakes.
        """

    @abstractmethod
    def settle(self, parents: Sequence[UUID], limit: int) -> Flow[list[Record]]:
        """Settle up to `limit` children that wait for one of these parents, if it is no longer
        unfinished, in the order of their ids: each becomes what `model.chain.settled` says, due
        on the lane of its queue, priority and tenant, or cancelled. Return them. What is due
        wakes. Skips rows held by other transactions; a parent that came back by a retry, or
        that others wait for no more, has none."""

    @abstractmethod
    def renew(self, leases: Sequence[Lease], lease: int) -> Flow[Renewed]:
        """Extend each lease to now + `lease`, at most one of an action in a call. Skips rows
        held by other transactions; never revives a token that is no longer stored."""

    @abstractmethod
    def progress(self, held: Lease, progress: str) -> Flow[None]:
        """Note how far the run is. LeaseLost if the token is no longer stored."""

    @abstractmethod
    def look(self, app: str | None = None) -> Flow[Swept]:
        """Each lane that holds an unfinished action with the due time of its next free one, and
        the next tick of an app; a read, without looking for expired leases."""

    @abstractmethod
    def look_from(self, since: Mapping[str, int]) -> Flow[Swept]:
        """A look at these lanes only, one at least, each from its time on: what stands before that
        costs nothing, and is not seen."""

    @abstractmethod
    def sweep(self, presence: Presence, ahead: int, limit: int) -> Flow[Swept]:
        """A look, and more: up to `limit` expired leases (among actions due by now + `ahead`),
        a note that this worker is alive, and parents that are no longer unfinished while
        children wait for them. A store may look for these among some of the children each
        time, but must come round to each one that goes on waiting."""

    @abstractmethod
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Flow[int]:
        """Delete up to `limit` of the oldest finished actions with their runs: finished more
        than `keep` microseconds ago (failed ones: `keep_failed`); return how many."""

    @abstractmethod
    def leave(self, worker: str) -> Flow[None]:
        """Forget a worker that stopped in order."""
