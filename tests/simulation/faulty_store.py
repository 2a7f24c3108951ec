"""The store as one process sees it: every call passes through an unreliable network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

from duetime.model.actions.action import Added, NewAction, Record, StoredRun
from duetime.model.actions.claim import (
    Claimed,
    ClaimOrder,
    Fence,
    LaneSpan,
    RenewResult,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import Completion, CompletionResult
from duetime.model.actions.new_actions import IfExists
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.health.stats import StoreCounts
from duetime.model.jobs.change import JobEdit, JobEditResult
from duetime.model.jobs.selectors import (
    ArmedTooFarAhead,
    ByName,
    DueJobs,
    JobFilter,
    JobSelector,
    OrphanedJobs,
    Reappeared,
    ToSeed,
)
from duetime.model.jobs.view import JobView
from duetime.model.tenant import Scope
from duetime.store.base import Listener, OnWake, Store
from duetime.store.flow import Flow

T = TypeVar("T")

# The verb under which an edit of jobs is labelled, by its selector.
EDIT_VERBS: dict[type[JobSelector], str] = {
    DueJobs: "tick_jobs",
    ToSeed: "seed_jobs",
    OrphanedJobs: "retire_jobs",
    Reappeared: "restore_jobs",
    ArmedTooFarAhead: "rearm_jobs",
    ByName: "edit_jobs",
}


@dataclass(frozen=True, slots=True)
class Call(Flow[T]):
    """A flow labelled with its verb and arguments, for the checkers."""

    verb: str = ""
    args: tuple[Any, ...] = ()


class Connection(Protocol):
    """Connection of one process to the store."""

    async def perform(self, call: Flow[T]) -> T: ...

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]: ...


def label(verb: str, flow: Flow[T], *args: Any) -> Call[T]:
    return Call(flow.start, flow.mode, flow.resend, deadline=flow.deadline, verb=verb, args=args)


def label_combined(flow: Flow[T]) -> Call[T]:
    """Label a combined flow with the verb of its first part.

    A combined flow that builds all its parts while it runs is a settlement of children.
    """
    for cell in getattr(flow.start, "__closure__", None) or ():
        if isinstance(part := cell.cell_contents, Call):
            return label(part.verb, flow, *part.args)
    return label("settle", flow)


class FaultyStore(Store):
    """Delegates every verb to the real store and every call to a connection that may fail."""

    def __init__(self, real_store: Store, connection: Connection) -> None:
        self._real_store = real_store
        self._connection = connection

    async def perform(self, flow: Flow[T]) -> T:
        return await self._connection.perform(
            flow if isinstance(flow, Call) else label_combined(flow)
        )

    def perform_blocking(self, flow: Flow[T]) -> T:
        raise AssertionError("nothing blocks in virtual time")

    async def aclose(self) -> None:
        """Nothing to release."""

    def close(self) -> None:
        """Nothing to release."""

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        return self._connection.listen(on_wake)

    # -- the client's verbs ----------------------------------------------------------

    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Flow[Sequence[Added]]:
        return label("add", self._real_store.add(new, if_exists), new)

    def get(self, action_id: UUID, tenant: Scope) -> Flow[Record]:
        return label("get", self._real_store.get(action_id, tenant))

    def find(self, wanted: Filter) -> Flow[list[Record]]:
        return label("find", self._real_store.find(wanted))

    def runs(self, action_id: UUID, tenant: Scope) -> Flow[list[StoredRun]]:
        return label("runs", self._real_store.runs(action_id, tenant))

    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Flow[Record]:
        flow = self._real_store.cancel(action_id, tenant, by, running=running)
        return label("cancel", flow, action_id)

    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Flow[Record]:
        flow = self._real_store.reschedule(action_id, tenant, by, due_at=due_at, delay=delay)
        return label("reschedule", flow, action_id)

    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Flow[Record]:
        return label("retry", self._real_store.retry(action_id, tenant, by), action_id)

    def cancel_many(self, wanted: Filter, by: str) -> Flow[list[Record]]:
        return label("cancel_many", self._real_store.cancel_many(wanted, by))

    def retry_many(self, wanted: Filter, by: str) -> Flow[list[Record]]:
        return label("retry_many", self._real_store.retry_many(wanted, by))

    def audit(self, subject_id: str, limit: int) -> Flow[list[AuditEntry]]:
        return label("audit", self._real_store.audit(subject_id, limit))

    def stats(self, tenant: Scope, *, alive: int, limit: int) -> Flow[StoreCounts]:
        return label("stats", self._real_store.stats(tenant, alive=alive, limit=limit))

    def workers(self, alive: int) -> Flow[list[tuple[WorkerInfo, int]]]:
        return label("workers", self._real_store.workers(alive))

    # -- jobs ------------------------------------------------------------------------

    def jobs(self, wanted: JobFilter) -> Flow[list[JobView]]:
        return label("jobs", self._real_store.jobs(wanted))

    def occurrences(self, name: str, limit: int) -> Flow[list[Record]]:
        return label("occurrences", self._real_store.occurrences(name, limit))

    def ticks(self, name: str, since: int, before: int) -> Flow[list[int]]:
        return label("ticks", self._real_store.ticks(name, since, before))

    def edit_jobs(self, which: JobSelector, decide: JobEdit) -> Flow[JobEditResult]:
        return label(EDIT_VERBS[type(which)], self._real_store.edit_jobs(which, decide), which)

    # -- the worker's verbs ----------------------------------------------------------

    def claim(self, order: ClaimOrder) -> Flow[Claimed]:
        return label("claim", self._real_store.claim(order), order)

    def claimable_ids(self, span: LaneSpan, limit: int) -> Flow[list[UUID]]:
        return label("claimable_ids", self._real_store.claimable_ids(span, limit))

    def fail_damaged(
        self, action_id: UUID, reason: str, *, without_data: bool = False
    ) -> Flow[bool]:
        flow = self._real_store.fail_damaged(action_id, reason, without_data=without_data)
        return label("fail_damaged", flow)

    def withdraw_damaged(self, action_id: UUID, reason: str) -> Flow[bool]:
        return label("withdraw_damaged", self._real_store.withdraw_damaged(action_id, reason))

    def complete(
        self, endings: Sequence[Completion], *, rescuing: bool = False, skip_busy_jobs: bool = False
    ) -> Flow[CompletionResult]:
        verb = "rescue" if rescuing else "complete"
        return label(
            verb,
            self._real_store.complete(endings, rescuing=rescuing, skip_busy_jobs=skip_busy_jobs),
            endings,
        )

    def settle(self, parents: Sequence[UUID], limit: int) -> Flow[list[Record]]:
        return label("settle", self._real_store.settle(parents, limit), parents)

    def renew(self, leases: Sequence[Fence], lease: int) -> Flow[RenewResult]:
        return label("renew", self._real_store.renew(leases, lease), leases)

    def progress(self, held: Fence, progress: str) -> Flow[None]:
        return label("progress", self._real_store.progress(held, progress), held)

    def look_ahead(self, app: str | None = None) -> Flow[SweepResult]:
        return label("look_ahead", self._real_store.look_ahead(app))

    def look_ahead_from(self, since: Mapping[str, int]) -> Flow[SweepResult]:
        return label("look_ahead", self._real_store.look_ahead_from(since))

    def sweep(self, presence: WorkerInfo, ahead: int, limit: int) -> Flow[SweepResult]:
        return label("sweep", self._real_store.sweep(presence, ahead, limit))

    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Flow[int]:
        flow = self._real_store.prune(keep=keep, keep_failed=keep_failed, limit=limit)
        return label("prune", flow)

    def unregister(self, worker: str) -> Flow[None]:
        return label("unregister", self._real_store.unregister(worker))
