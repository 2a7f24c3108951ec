"""The store as one process sees it: the same verbs, through a network that fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

from duetime.model.actions.action import Added, NewAction, Record, StoredRun
from duetime.model.actions.claim import Claimed, ClaimOrder, Lease, Presence, Renewed, Swept
from duetime.model.actions.completion import Completed, Ending
from duetime.model.actions.new_actions import IfExists
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.health.stats import Counted
from duetime.model.jobs.change import Decide, Edited
from duetime.model.jobs.selectors import JobFilter, Which
from duetime.model.jobs.view import JobView
from duetime.model.tenant import Scope
from duetime.store.base import Listener, OnWake, Store
from duetime.store.flow import Flow

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Flow[T]):
    """A flow that says which verb it is, so that whoever watches the store knows."""

    verb: str = ""
    args: tuple[Any, ...] = ()


class Line(Protocol):
    """The way from one process to the store."""

    async def perform(self, call: Flow[T]) -> T: ...

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]: ...


def named(verb: str, flow: Flow[T], *args: Any) -> Call[T]:
    return Call(flow.start, flow.mode, flow.resend, within=flow.within, verb=verb, args=args)


def named_by_parts(flow: Flow[T]) -> Call[T]:
    """What is made of several verbs is called by the first that it was made of; if it makes all
    of them as it goes, it settles children."""
    for cell in getattr(flow.start, "__closure__", None) or ():
        if isinstance(part := cell.cell_contents, Call):
            return named(part.verb, flow, *part.args)
    return named("settle", flow)


class FaultyStore(Store):
    """Delegates every verb to the truth and every call to a line that may fail."""

    def __init__(self, truth: Store, line: Line) -> None:
        self._truth = truth
        self._line = line

    async def perform(self, flow: Flow[T]) -> T:
        return await self._line.perform(flow if isinstance(flow, Call) else named_by_parts(flow))

    def perform_blocking(self, flow: Flow[T]) -> T:
        raise AssertionError("nothing blocks in virtual time")

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def close(self) -> None:
        """Nothing to let go of."""

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        return self._line.listen(on_wake)

    # -- the client's verbs ----------------------------------------------------------

    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Flow[Sequence[Added]]:
        return named("add", self._truth.add(new, if_exists), new)

    def get(self, action_id: UUID, tenant: Scope) -> Flow[Record]:
        return named("get", self._truth.get(action_id, tenant))

    def find(self, wanted: Filter) -> Flow[list[Record]]:
        return named("find", self._truth.find(wanted))

    def runs(self, action_id: UUID, tenant: Scope) -> Flow[list[StoredRun]]:
        return named("runs", self._truth.runs(action_id, tenant))

    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Flow[Record]:
        flow = self._truth.cancel(action_id, tenant, by, running=running)
        return named("cancel", flow, action_id)

    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Flow[Record]:
        flow = self._truth.reschedule(action_id, tenant, by, due_at=due_at, delay=delay)
        return named("reschedule", flow, action_id)

    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Flow[Record]:
        return named("retry", self._truth.retry(action_id, tenant, by), action_id)

    def cancel_many(self, wanted: Filter, by: str) -> Flow[list[Record]]:
        return named("cancel_many", self._truth.cancel_many(wanted, by))

    def retry_many(self, wanted: Filter, by: str) -> Flow[list[Record]]:
        return named("retry_many", self._truth.retry_many(wanted, by))

    def audit(self, subject_id: str, limit: int) -> Flow[list[AuditEntry]]:
        return named("audit", self._truth.audit(subject_id, limit))

    def stats(self, tenant: Scope, *, alive: int, limit: int) -> Flow[Counted]:
        return named("stats", self._truth.stats(tenant, alive=alive, limit=limit))

    def workers(self, alive: int) -> Flow[list[tuple[Presence, int]]]:
        return named("workers", self._truth.workers(alive))

    # -- jobs ------------------------------------------------------------------------

    def jobs(self, wanted: JobFilter) -> Flow[list[JobView]]:
        return named("jobs", self._truth.jobs(wanted))

    def occurrences(self, name: str, limit: int) -> Flow[list[Record]]:
        return named("occurrences", self._truth.occurrences(name, limit))

    def ticks(self, name: str, since: int, before: int) -> Flow[list[int]]:
        return named("ticks", self._truth.ticks(name, since, before))

    def edit_jobs(self, which: Which, decide: Decide) -> Flow[Edited]:
        verb = type(which).__name__.lower()
        return named(verb, self._truth.edit_jobs(which, decide), which)

    # -- the worker's verbs ----------------------------------------------------------

    def claim(self, order: ClaimOrder) -> Flow[Claimed]:
        return named("claim", self._truth.claim(order), order)

    def complete(
        self, endings: Sequence[Ending], *, rescuing: bool = False, impatient: bool = False
    ) -> Flow[Completed]:
        verb = "rescue" if rescuing else "complete"
        return named(
            verb, self._truth.complete(endings, rescuing=rescuing, impatient=impatient), endings
        )

    def settle(self, parents: Sequence[UUID], limit: int) -> Flow[list[Record]]:
        return named("settle", self._truth.settle(parents, limit), parents)

    def renew(self, leases: Sequence[Lease], lease: int) -> Flow[Renewed]:
        return named("renew", self._truth.renew(leases, lease), leases)

    def progress(self, held: Lease, progress: str) -> Flow[None]:
        return named("progress", self._truth.progress(held, progress), held)

    def look(self, app: str | None = None) -> Flow[Swept]:
        return named("look", self._truth.look(app))

    def look_from(self, since: Mapping[str, int]) -> Flow[Swept]:
        return named("look", self._truth.look_from(since))

    def sweep(self, presence: Presence, ahead: int, limit: int) -> Flow[Swept]:
        return named("sweep", self._truth.sweep(presence, ahead, limit))

    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Flow[int]:
        flow = self._truth.prune(keep=keep, keep_failed=keep_failed, limit=limit)
        return named("prune", flow)

    def leave(self, worker: str) -> Flow[None]:
        return named("leave", self._truth.leave(worker))
