"""A probe: calls a store as clients and workers do, with defaults for the arguments that a test
does not care about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar
from uuid import UUID, uuid4

from duetime.model.act import Act
from duetime.model.actions.action import Added, AddedRecord, NewAction, Record, StoredRun
from duetime.model.actions.action_key import ActionKey, KeyStates
from duetime.model.actions.chain import NO_TRACES, RunTraces
from duetime.model.actions.claim import (
    Claim,
    ClaimOrder,
    Fence,
    LaneSpan,
    RenewResult,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import Completion, CompletionResult, Finish, Reschedule
from duetime.model.actions.found import Found
from duetime.model.actions.new_actions import IfExists
from duetime.model.actions.state_changes import to_repeated
from duetime.model.audit import AuditFilter, StoredAuditEntry
from duetime.model.clock import to_micros
from duetime.model.erasure import ERASURE_SIZE, Erased, ErasureOrder
from duetime.model.filter import Filter, Position
from duetime.model.groups import MAX_GROUPED, GroupField, Groups
from duetime.model.health.queues import Queue, queues_of
from duetime.model.ids import TimeOrderedIds
from duetime.model.jobs.change import JobChange, JobEdit, JobEditResult, NewOccurrence
from duetime.model.jobs.job import JobDefinition, JobRecord, Overlap
from duetime.model.jobs.job_filter import JobFilter
from duetime.model.jobs.occurrence import new_occurrence, to_record
from duetime.model.jobs.occurrence_filter import OccurrenceFilter
from duetime.model.jobs.selectors import ByName, DueJobs
from duetime.model.jobs.view import JobView
from duetime.model.lane import lane_of, parking_lane
from duetime.model.pause import PausedQueues, QueuePause
from duetime.model.reason import Reason, reasons_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Store
from duetime.store.contract.expiry import ExpiredActions
from duetime.store.flow import Flow
from duetime.testing.clock import FakeClock

T = TypeVar("T")

SECOND = 1_000_000
LEASE = 15 * SECOND
LATER = 3600 * SECOND
LANE = lane_of("default", 1, None)
PARKED = parking_lane("mail", 1, LANE)
HOURLY: dict[str, Any] = {
    "payload_version": 1,
    "recurrence": "0 * * * *",
    "tz": "UTC",
    "queue": "default",
    "priority": 1,
    "misfire": "once",
    "overlap": Overlap.skip,
    "jitter": 0,
    "alert_after": 3,
    "retry": None,
    "tenant": None,
}
DEFINITION_FIELDS = {field.name for field in fields(JobDefinition)}
WORKER = WorkerInfo(
    id="worker-1",
    app="shop",
    host="here",
    pid=1,
    kinds=["mail"],
    queues=[],
    concurrency=10,
    jobs=["shop-mail"],
)


def as_added_record(added: Added) -> AddedRecord:
    return AddedRecord(added.record, added.created)


class Probe:
    """The verbs of a store as coroutines with default arguments."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.ids = TimeOrderedIds(clock)

    @property
    def now(self) -> int:
        return to_micros(self.clock.now())

    async def do(self, flow: Flow[T]) -> T:
        return await self.store.perform(flow)

    def pass_time(self, micros: int) -> None:
        self.clock.advance(microseconds=micros)

    # -- as a client -----------------------------------------------------------------

    def new(self, **given: Any) -> NewAction:
        """A NewAction due now, on the lane of its queue, priority and tenant."""
        fields: dict[str, Any] = {
            "id": self.ids(),
            "kind": "mail",
            "version": 1,
            "payload": '{"to": "ann"}',
            "queue": "default",
            "priority": 1,
            "tenant": None,
            "correlation_id": None,
            "key": None,
            "due_at": None if given.get("delay") is not None else self.now,
            "delay": None,
            "by": "ann",
        } | given
        home = lane_of(fields["queue"], fields["priority"], fields["tenant"])
        return NewAction(**({"lane": home} | fields))

    async def add(self, **given: Any) -> Record:
        [added] = await self.add_many([self.new(**given)])
        return added.record

    async def child(self, parent: UUID, on: str = "succeeded", **given: Any) -> Record:
        """Add an action that waits for this parent and is due when the parent has finished."""
        when = {} if "due_at" in given else {"delay": 0}
        return await self.add(**({"after": parent, "on": on} | when | given))

    async def add_many(
        self, new: Sequence[NewAction], if_exists: IfExists = "return"
    ) -> list[AddedRecord]:
        """Add actions; returns records, however the store returns what it inserted."""
        return [as_added_record(item) for item in await self.do(self.store.add(new, if_exists))]

    async def get(self, action_id: UUID, tenant: Scope = ANY) -> Record:
        return await self.do(self.store.get(action_id, tenant))

    async def find_id(
        self, among: KeyStates = "any", tenant: Scope = None, *, kind: str = "mail", key: str = "k"
    ) -> UUID:
        return await self.do(self.store.find_id(ActionKey(kind, key, among), tenant))

    async def find(self, **wanted: Any) -> list[Record]:
        return [*(await self.find_page(**wanted))]

    async def find_page(self, **wanted: Any) -> Found:
        return await self.do(self.store.find(_filter(**wanted)))

    async def groups(self, by: GroupField, *, most: int = MAX_GROUPED, **wanted: Any) -> Groups:
        return await self.do(self.store.groups(by, _filter(**wanted), most=most))

    async def all(self) -> list[Record]:
        return await self.find(limit=200)

    async def runs(
        self, action_id: UUID, tenant: Scope = ANY, limit: int = 100, before: UUID | None = None
    ) -> list[StoredRun]:
        return await self.do(self.store.runs(action_id, tenant, limit=limit, before=before))

    async def cancel(
        self, action_id: UUID, tenant: Scope = ANY, by: str = "bob", *, running: bool = False
    ) -> Record:
        return await self.do(self.store.cancel(action_id, tenant, Act(by), running=running))

    async def cancel_many(self, by: str = "bob", **wanted: Any) -> list[Record]:
        return await self.do(self.store.cancel_many(_filter(**wanted), Act(by)))

    async def cancel_expired(self, *action_ids: UUID) -> ExpiredActions:
        return await self.do(self.store.cancel_expired(action_ids))

    async def reschedule(
        self,
        action_id: UUID,
        due_at: int | None = None,
        *,
        delay: int | None = None,
        tenant: Scope = ANY,
        by: str = "bob",
    ) -> Record:
        flow = self.store.reschedule(action_id, tenant, Act(by), due_at=due_at, delay=delay)
        return await self.do(flow)

    async def retry(self, action_id: UUID, tenant: Scope = ANY, by: str = "bob") -> Record:
        return await self.do(self.store.retry(action_id, tenant, Act(by)))

    async def repeat(
        self, action_id: UUID, tenant: Scope = ANY, by: str = "bob", **given: Any
    ) -> Record:
        """Repeat a finished action, now unless `due_at` or `delay` is given."""
        record = await self.get(action_id)
        fields: dict[str, Any] = {"due_at": None, "delay": 0, "payload": None} | given
        if fields["due_at"] is not None:
            fields["delay"] = None
        new = to_repeated(record, action_id=self.ids(), by=by, **fields)
        return await self.do(self.store.repeat(action_id, tenant, Act(by), new))

    async def erase(self, **wanted: Any) -> Erased:
        return await self.do(self.store.erase(self.erasure(**wanted)))

    def erasure(
        self,
        by: str = "bob",
        *,
        limit: int = ERASURE_SIZE,
        before: UUID | None = None,
        **wanted: Any,
    ) -> ErasureOrder:
        """The erasure of a correlation id, or of all of a tenant, whose jobs are then counted."""
        tenant = None if "correlation_id" in wanted else wanted["tenant"]
        erasure_id = self.ids()
        act = Act(by, part_of=("erase", erasure_id))
        return ErasureOrder(erasure_id, act, Filter(**wanted), tenant, before, limit)

    async def retry_many(self, by: str = "bob", **wanted: Any) -> list[Record]:
        return await self.do(self.store.retry_many(_filter(**wanted), Act(by)))

    async def audit(self, subject: UUID | str, limit: int = 100) -> list[StoredAuditEntry]:
        return await self.find_audit(subject_id=str(subject), limit=limit)

    async def find_audit(
        self, *, after: Sequence[StoredAuditEntry] = (), limit: int = 100, **wanted: Any
    ) -> list[StoredAuditEntry]:
        """Find entries; with `after`, those that follow the last one of it."""
        follows = (after[-1].at, after[-1].id) if after else None
        return await self.do(self.store.audit(AuditFilter(**wanted, follows=follows, limit=limit)))

    # -- queues ----------------------------------------------------------------------

    async def pause(
        self, queue: str, by: str = "bob", *, note: str | None = None, until: int | None = None
    ) -> QueuePause:
        return await self.do(self.store.pause_queue(queue, Act(by, note), until=until))

    async def resume(self, queue: str, by: str = "bob") -> bool:
        return await self.do(self.store.resume_queue(queue, Act(by)))

    async def paused(self) -> PausedQueues:
        """The paused queues, as look-aheads tell workers."""
        return (await self.do(self.store.look_ahead())).paused

    async def queues(self, alive: int = LATER) -> dict[str, Queue]:
        found = await self.do(self.store.queues(alive))
        return {queue.name: queue for queue in queues_of(found)}

    async def why(self, action_id: UUID, tenant: Scope = ANY) -> list[Reason]:
        flow = self.store.circumstances(action_id, tenant, alive=LATER)
        return reasons_of(await self.do(flow))

    # -- jobs ------------------------------------------------------------------------

    def job(self, name: str = "shop-report", **given: Any) -> JobRecord:
        """A job of the app of `WORKER` that is due every hour and has never run."""
        definition_fields = {
            field: given.pop(field) for field in [*given] if field in DEFINITION_FIELDS
        }
        definition = JobDefinition(
            **({"name": name, "kind": name, "payload": "null"} | HOURLY | definition_fields)
        )
        record_fields: dict[str, Any] = {"app": WORKER.app, "declared": True, "version": 1}
        record_fields |= {
            "created_at": self.now,
            "created_by": "ann",
            "next_due_at": self.now + LATER,
        }
        return JobRecord(definition=definition, **(record_fields | given))

    async def put(self, *jobs: JobRecord) -> None:
        """Store jobs as they are, replacing jobs of the same names."""
        by_name = {job.name: job for job in jobs}
        await self.edit(*by_name, decide=lambda found: JobChange(job=by_name[found.name]))

    async def edit(self, *names: str, decide: JobEdit) -> JobEditResult:
        return await self.do(self.store.edit_jobs(ByName(names), decide))

    async def tick(self, decide: JobEdit, limit: int = 100) -> JobEditResult:
        return await self.do(self.store.edit_jobs(DueJobs(WORKER.app, limit), decide))

    async def jobs(self, **wanted: Any) -> list[JobView]:
        criteria: dict[str, Any] = {"tenant": ANY, "limit": 100} | wanted
        return await self.do(self.store.jobs(JobFilter(**criteria)))

    async def one_job(self, name: str = "shop-report") -> JobView:
        [view] = await self.jobs(name=name, removed=True)
        return view

    async def occurrences(
        self, name: str = "shop-report", limit: int = 100, **wanted: Any
    ) -> list[Record]:
        filter_ = OccurrenceFilter(job=name, limit=limit, **wanted)
        return await self.do(self.store.occurrences(filter_))

    async def ticks(self, since: int, before: int, name: str = "shop-report") -> list[int]:
        return await self.do(self.store.ticks(name, since, before))

    def occurrence(self, job: JobRecord, **given: Any) -> NewOccurrence:
        when = {} if given.get("after") else {"due_at": self.now}
        return new_occurrence(job, self.ids(), **(when | given))

    async def occur(self, *new: NewOccurrence, job: JobRecord) -> list[Record]:
        edited = await self.edit(
            job.name, decide=lambda _: JobChange(job=job, occurrences=tuple(new))
        )
        return [to_record(new, self.now) for change in edited.changes for new in change.occurrences]

    # -- as a worker -----------------------------------------------------------------

    def claim_order(
        self,
        *lanes: str | LaneSpan,
        limit: int = 100,
        since: int = 0,
        ahead: int = 0,
        lease: int = LEASE,
        worker: str = WORKER.id,
        excluded_tenants: Iterable[str] = (),
        only: Sequence[UUID] | None = None,
    ) -> ClaimOrder:
        spans = [
            lane if isinstance(lane, LaneSpan) else LaneSpan(lane, since, ahead)
            for lane in lanes or (LANE,)
        ]
        return ClaimOrder(worker, spans, limit, lease, frozenset(excluded_tenants), only)

    async def claim(self, *lanes: str | LaneSpan, **order: Any) -> list[Claim]:
        return list((await self.do(self.store.claim(self.claim_order(*lanes, **order)))).claims)

    async def claim_one(self, *lanes: str | LaneSpan, **order: Any) -> Claim:
        [claim] = await self.claim(*lanes, **order)
        return claim

    async def running(self, lease: int = LEASE, **given: Any) -> Claim:
        """Add an action and claim it."""
        new = self.new(**given)
        await self.add_many([new])
        claim = await self.claim_one(new.lane, lease=lease)
        assert claim.id == new.id
        return claim

    async def finished(self, state: State, **given: Any) -> Record:
        """Add an action and bring it into this finished state."""
        if state is State.cancelled:
            return await self.cancel((await self.add(**given)).id)
        claim = await self.running(**given)
        await self.end(finish(claim, state))
        return await self.get(claim.id)

    async def in_state(self, state: State, **given: Any) -> Record:
        """Add an action and bring it into any state by legal moves; a scheduled one is due
        later."""
        if state is State.scheduled:
            return await self.add(**(given if "due_at" in given else {"delay": LATER} | given))
        if state is State.running:
            return await self.get((await self.running(**given)).id)
        return await self.finished(state, **given)

    async def end(self, *completions: Completion, rescuing: bool = False) -> set[UUID]:
        return (await self.complete(*completions, rescuing=rescuing)).applied

    async def complete(self, *completions: Completion, rescuing: bool = False) -> CompletionResult:
        return await self.do(self.store.complete(completions, rescuing=rescuing))

    async def settle(
        self, *parents: UUID, limit: int = 100, run_traces: RunTraces = NO_TRACES
    ) -> list[Record]:
        return await self.do(self.store.settle(parents, limit, run_traces))

    async def renew(self, *claims: Claim, lease: int = LEASE) -> RenewResult:
        return await self.do(self.store.renew([fence_of(claim) for claim in claims], lease))

    async def progress(self, claim: Claim, progress: str) -> None:
        await self.do(self.store.progress(fence_of(claim), progress))

    async def sweep(self, ahead: int = SECOND, limit: int = 100) -> SweepResult:
        return await self.do(self.store.sweep(WORKER, ahead, limit))

    async def heads(self) -> dict[str, int | None]:
        return {head.lane: head.next_due for head in (await self.do(self.store.look_ahead())).lanes}

    async def prune(self, keep: int = 0, keep_failed: int = 0, limit: int = 100) -> int:
        flow = self.store.prune(keep=keep, keep_failed=keep_failed, limit=limit)
        return await self.do(flow)


def fence_of(claim: Claim) -> Fence:
    return Fence(claim.id, claim.token)


def stale(claim: Claim) -> UUID:
    """A token that differs from the claim's."""
    token = uuid4()
    assert token != claim.token
    return token


def finish(claim: Claim, state: State = State.succeeded, **given: Any) -> Finish:
    fields: dict[str, Any] = {
        "id": claim.id,
        "token": claim.token,
        "state": state,
        "outcome": Outcome(state.value),
        "error": "boom" if state is State.failed else None,
    }
    return Finish(**(fields | given))


def reschedule(claim: Claim, outcome: Outcome = Outcome.retried, **given: Any) -> Reschedule:
    fields: dict[str, Any] = {"id": claim.id, "token": claim.token, "outcome": outcome}
    return Reschedule(**(fields | given))


def _filter(
    *,
    state: State | None = None,
    kind: str | None = None,
    before: UUID | None = None,
    **wanted: Any,
) -> Filter:
    """Return a filter. One state, one kind and the id before which a page begins are given as such:
    nearly all tests name only one."""
    if state is not None:
        wanted["states"] = (state,)
    if kind is not None:
        wanted["kinds"] = (kind,)
    if before is not None:
        wanted["follows"] = Position(0, before)
    return Filter(**wanted)
