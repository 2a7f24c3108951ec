"""The erasures of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from uuid import UUID

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.erasure import (
    MAX_LEFT,
    Erased,
    ErasureOrder,
    erasure_snapshot,
    front_after,
    is_wiped,
    wiped,
)
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.flow import immediate
from duetime.store.memory.audit import MemoryAudit


class MemoryErasures(MemoryAudit, ABC):
    """Wipes the data of actions."""

    @immediate
    def erase(self, order: ErasureOrder) -> Erased:
        wanted = order.wanted
        waiting = [
            r for r in self._tables.matching(wanted, self._now()) if r.state is State.scheduled
        ]
        cancelled = [self._cancel(record, order.act) for record in waiting[: order.limit]]
        for record in cancelled:
            self._wipe(record)
        old = self._finished(wanted, order.before)[: order.limit - len(cancelled)]
        for record in old:
            self._wipe(record)
        front = front_after(order, cancelled, [record.id for record in old])
        done = self._erased(order, cancelled, len(cancelled) + len(old), front)
        if done.erased:
            self._audit_erasure(order, done)
        return done

    def _wipe(self, record: Record) -> None:
        self._tables.add_finished(wiped(record))
        self._tables.delete_runs(record.id)

    def _finished(self, wanted: Filter, before: UUID | None) -> list[Record]:
        """Return the finished actions whose data is not wiped yet, newest first."""
        return [
            record
            for record in self._tables.matching(wanted, self._now())
            if record.state.finished
            and (before is None or record.id < before)
            and not self._is_wiped(record)
        ]

    def _is_wiped(self, record: Record) -> bool:
        traces = record.id in self._tables.runs or record.id in self._tables.tracebacks
        return is_wiped(record) and not traces

    def _erased(
        self, order: ErasureOrder, cancelled: list[Record], erased: int, front: UUID | None
    ) -> Erased:
        unfinished = [
            r for r in self._tables.matching(order.wanted, self._now()) if not r.state.finished
        ]
        running = sum(record.state is State.running for record in unfinished)
        left = len(unfinished) + len(self._finished(order.wanted, front))
        jobs = sum(job.tenant == order.jobs_of for job in self._tables.jobs.values())
        counted = 0 if order.jobs_of is None else jobs
        return Erased(cancelled, erased, min(left, MAX_LEFT), running, counted, front)

    def _audit_erasure(self, order: ErasureOrder, done: Erased) -> None:
        scope = order.wanted.tenant
        tenant = None if scope is ANY else scope
        after = erasure_snapshot(order, done)
        self._audit("erase", order.act, ("erase", str(order.id)), tenant, {}, after)

    # -- steps of other verbs --------------------------------------------------------

    @abstractmethod
    def _cancel(self, record: Record, act: Act) -> Record: ...
