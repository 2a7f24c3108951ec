"""The store as one process sees it: every call passes through an unreliable network."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

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
from duetime.model.actions.found import Found
from duetime.model.actions.new_actions import IfExists
from duetime.model.audit import AuditFilter, StoredAuditEntry
from duetime.model.bulk import BulkAnswer, BulkCall, BulkCount, BulkOrder
from duetime.model.erasure import Erased, ErasureOrder
from duetime.model.filter import Filter
from duetime.model.groups import MAX_GROUPED, GroupField, Groups
from duetime.model.health.figures import FigureBatch, FigureFilter, FigureSums
from duetime.model.health.queues import QueueCounts, QueueGauges
from duetime.model.health.stats import StoreCounts
from duetime.model.jobs.change import JobEdit, JobEditResult
from duetime.model.jobs.job import JobDefinition
from duetime.model.jobs.job_filter import JobFilter
from duetime.model.jobs.occurrence_filter import OccurrenceFilter
from duetime.model.jobs.selectors import (
    ArmedTooFarAhead,
    ByName,
    DueJobs,
    JobSelector,
    OrphanedJobs,
    Reappeared,
    ToSeed,
)
from duetime.model.jobs.view import JobView
from duetime.model.kept_report import StoredReport
from duetime.model.pause import QueuePause
from duetime.model.reason import Circumstances
from duetime.model.tenant import Scope
from duetime.model.timeline import StoredTimeline, TimelineFilter
from duetime.store.base import Listener, OnWake, Store
from duetime.store.contract.expiry import ExpiredActions
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
    first = first_call(flow)
    return label("settle", flow) if first is None else label(first.verb, flow, *first.args)


def first_call(flow: Flow[Any]) -> Call[Any] | None:
    """Return the first part of a combined flow that is the call of a verb."""
    cells = getattr(flow.start, "__closure__", None) or ()
    parts = [cell.cell_contents for cell in cells]
    calls = [part for part in parts if isinstance(part, Call)]
    inner = (first_call(part) for part in parts if isinstance(part, Flow))
    return calls[0] if calls else next(filter(None, inner), None)


def delegated(verb: str) -> Any:
    """Return a verb that only labels what the real store's verb of this name returns."""

    def call(self: FaultyStore, *args: Any, **kwargs: Any) -> Call[Any]:
        return label(verb, getattr(self._real_store, verb)(*args, **kwargs))

    return call


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

    def add(
        self, new: Sequence[NewAction], if_exists: IfExists, act: Act = SYSTEM_ACT
    ) -> Flow[Sequence[Added]]:
        return label("add", self._real_store.add(new, if_exists, act), new)

    def audit_schedules(self, created: Sequence[Record], act: Act) -> Flow[None]:
        return label("audit_schedules", self._real_store.audit_schedules(created, act))

    def get(self, action_id: UUID, tenant: Scope) -> Flow[Record]:
        return label("get", self._real_store.get(action_id, tenant))

    def find_id(self, wanted: ActionKey, tenant: Scope) -> Flow[UUID]:
        return label("find_id", self._real_store.find_id(wanted, tenant))

    def cancel_expired(self, action_ids: Collection[UUID]) -> Flow[ExpiredActions]:
        return label("cancel_expired", self._real_store.cancel_expired(action_ids))

    def find(self, wanted: Filter) -> Flow[Found]:
        return label("find", self._real_store.find(wanted))

    def groups(self, by: GroupField, wanted: Filter, *, most: int = MAX_GROUPED) -> Flow[Groups]:
        return label("groups", self._real_store.groups(by, wanted, most=most))

    def runs(
        self, action_id: UUID, tenant: Scope, *, limit: int, before: UUID | None = None
    ) -> Flow[list[StoredRun]]:
        store = self._real_store
        return label("runs", store.runs(action_id, tenant, limit=limit, before=before))

    def cancel(self, action_id: UUID, tenant: Scope, act: Act, *, running: bool) -> Flow[Record]:
        flow = self._real_store.cancel(action_id, tenant, act, running=running)
        return label("cancel", flow, action_id)

    def reschedule(
        self, action_id: UUID, tenant: Scope, act: Act, *, due_at: int | None, delay: int | None
    ) -> Flow[Record]:
        flow = self._real_store.reschedule(action_id, tenant, act, due_at=due_at, delay=delay)
        return label("reschedule", flow, action_id)

    def retry(self, action_id: UUID, tenant: Scope, act: Act) -> Flow[Record]:
        return label("retry", self._real_store.retry(action_id, tenant, act), action_id)

    def repeat(self, action_id: UUID, tenant: Scope, act: Act, new: NewAction) -> Flow[Record]:
        return label("repeat", self._real_store.repeat(action_id, tenant, act, new), action_id)

    def count_bulk(self, order: BulkOrder) -> Flow[BulkCount]:
        return label("count_bulk", self._real_store.count_bulk(order))

    def step_bulk(self, call: BulkCall) -> Flow[BulkAnswer]:
        return label("step_bulk", self._real_store.step_bulk(call), call)

    def erase(self, order: ErasureOrder) -> Flow[Erased]:
        return label("erase", self._real_store.erase(order), order)

    def cancel_many(self, wanted: Filter, act: Act) -> Flow[list[Record]]:
        return label("cancel_many", self._real_store.cancel_many(wanted, act))

    def retry_many(self, wanted: Filter, act: Act) -> Flow[list[Record]]:
        return label("retry_many", self._real_store.retry_many(wanted, act))

    def audit(self, wanted: AuditFilter) -> Flow[list[StoredAuditEntry]]:
        return label("audit", self._real_store.audit(wanted))

    def stats(
        self, tenant: Scope, *, alive: int, limit: int, most: int | None = None
    ) -> Flow[StoreCounts]:
        counted = self._real_store.stats(tenant, alive=alive, limit=limit, most=most)
        return label("stats", counted)

    def workers(self, alive: int) -> Flow[list[SeenWorker]]:
        return label("workers", self._real_store.workers(alive))

    def timeline(self, wanted: TimelineFilter) -> Flow[StoredTimeline]:
        return label("timeline", self._real_store.timeline(wanted))

    # -- figures ---------------------------------------------------------------------

    def add_figures(self, batch: FigureBatch) -> Flow[bool]:
        return label("add_figures", self._real_store.add_figures(batch))

    def figures(self, wanted: FigureFilter) -> Flow[FigureSums]:
        return label("figures", self._real_store.figures(wanted))

    def prune_figures(self, *, keep: int, limit: int) -> Flow[int]:
        flow = self._real_store.prune_figures(keep=keep, limit=limit)
        return label("prune_figures", flow)

    # -- queues ----------------------------------------------------------------------

    def pause_queue(self, queue: str, act: Act, *, until: int | None) -> Flow[QueuePause]:
        flow = self._real_store.pause_queue(queue, act, until=until)
        return label("pause_queue", flow, queue, until)

    def resume_queue(self, queue: str, act: Act) -> Flow[bool]:
        return label("resume_queue", self._real_store.resume_queue(queue, act), queue)

    def queues(self, alive: int, most: int | None = None) -> Flow[QueueCounts]:
        return label("queues", self._real_store.queues(alive, most))

    def queue_gauges(self, alive: int) -> Flow[QueueGauges]:
        return label("queue_gauges", self._real_store.queue_gauges(alive))

    def circumstances(self, action_id: UUID, tenant: Scope, *, alive: int) -> Flow[Circumstances]:
        flow = self._real_store.circumstances(action_id, tenant, alive=alive)
        return label("circumstances", flow)

    # -- jobs ------------------------------------------------------------------------

    def jobs(self, wanted: JobFilter) -> Flow[list[JobView]]:
        return label("jobs", self._real_store.jobs(wanted))

    def occurrences(self, wanted: OccurrenceFilter) -> Flow[list[Record]]:
        return label("occurrences", self._real_store.occurrences(wanted))

    def keep_report(self, app: str, worker: str, report: str) -> Flow[None]:
        return label("keep_report", self._real_store.keep_report(app, worker, report))

    def kept_report(self, app: str) -> Flow[StoredReport | None]:
        return label("kept_report", self._real_store.kept_report(app))

    def audit_transition(
        self,
        verb: str,
        act: Act,
        transition: str,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> Flow[None]:
        store = self._real_store
        audited = store.audit_transition(verb, act, transition, before, after)
        return label("audit_transition", audited)

    def job_definition(self, name: str) -> Flow[JobDefinition | None]:
        return label("job_definition", self._real_store.job_definition(name))

    def ticks(self, name: str, since: int, before: int) -> Flow[list[int]]:
        return label("ticks", self._real_store.ticks(name, since, before))

    def edit_jobs(self, which: JobSelector, decide: JobEdit) -> Flow[JobEditResult]:
        return label(EDIT_VERBS[type(which)], self._real_store.edit_jobs(which, decide), which)

    # -- who may do what -------------------------------------------------------------

    set_grant = delegated("set_grant")
    grants = delegated("grants")
    remove_grant = delegated("remove_grant")
    add_api_key = delegated("add_api_key")
    api_keys = delegated("api_keys")
    use_api_key = delegated("use_api_key")
    record_api_key_use = delegated("record_api_key_use")
    revoke_api_key = delegated("revoke_api_key")
    add_link = delegated("add_link")
    take_link = delegated("take_link")
    add_session = delegated("add_session")
    use_session = delegated("use_session")
    record_session_use = delegated("record_session_use")
    end_session = delegated("end_session")
    end_sessions = delegated("end_sessions")
    add_refusal = delegated("add_refusal")
    prune_audit = delegated("prune_audit")
    take_key = delegated("take_key")
    store_answer = delegated("store_answer")
    add_events = delegated("add_events")
    gather_events = delegated("gather_events")
    change_episodes = delegated("change_episodes")
    subscriptions = delegated("subscriptions")
    subscription = delegated("subscription")
    add_subscription = delegated("add_subscription")
    edit_subscription = delegated("edit_subscription")
    remove_subscription = delegated("remove_subscription")
    declare_subscriptions = delegated("declare_subscriptions")
    send_single = delegated("send_single")
    seal_notification = delegated("seal_notification")
    settle_notification = delegated("settle_notification")
    notifications = delegated("notifications")
    count_unread = delegated("count_unread")
    read_notifications = delegated("read_notifications")
    erase_events = delegated("erase_events")
    prune_notifications = delegated("prune_notifications")

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

    def is_readable(self, action_id: UUID) -> Flow[bool]:
        return label("is_readable", self._real_store.is_readable(action_id))

    def drop_data(self, fence: Fence) -> Flow[bool]:
        return label("drop_data", self._real_store.drop_data(fence), fence)

    def lost_jobs(self, app: str) -> Flow[frozenset[str]]:
        return label("lost_jobs", self._real_store.lost_jobs(app))

    def damaged_workers(self, app: str, alive: int) -> Flow[list[str]]:
        return label("damaged_workers", self._real_store.damaged_workers(app, alive))

    def complete(
        self, endings: Sequence[Completion], *, rescuing: bool = False, skip_busy_jobs: bool = False
    ) -> Flow[CompletionResult]:
        verb = "rescue" if rescuing else "complete"
        return label(
            verb,
            self._real_store.complete(endings, rescuing=rescuing, skip_busy_jobs=skip_busy_jobs),
            endings,
        )

    def settle(
        self, parents: Sequence[UUID], limit: int, run_traces: RunTraces = NO_TRACES
    ) -> Flow[list[Record]]:
        return label("settle", self._real_store.settle(parents, limit, run_traces), parents)

    def renew(self, leases: Sequence[Fence], lease: int) -> Flow[RenewResult]:
        return label("renew", self._real_store.renew(leases, lease), leases)

    def progress(self, fence: Fence, progress: str) -> Flow[None]:
        return label("progress", self._real_store.progress(fence, progress), fence)

    def look_ahead(self, app: str | None = None) -> Flow[SweepResult]:
        return label("look_ahead", self._real_store.look_ahead(app))

    def look_ahead_from(self, since: Mapping[str, int]) -> Flow[SweepResult]:
        return label("look_ahead", self._real_store.look_ahead_from(since))

    def sweep(self, presence: WorkerInfo, ahead: int, limit: int) -> Flow[SweepResult]:
        return label("sweep", self._real_store.sweep(presence, ahead, limit))

    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Flow[int]:
        flow = self._real_store.prune(keep=keep, keep_failed=keep_failed, limit=limit)
        return label("prune", flow)

    def clear(self) -> Flow[None]:
        return label("clear", self._real_store.clear())

    def unregister(self, worker: str) -> Flow[None]:
        return label("unregister", self._real_store.unregister(worker))
