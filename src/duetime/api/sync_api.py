"""Every client verb, blocking: for code without an event loop, and fine beside one."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from duetime.api.actions import Client
from duetime.api.arguments import Delay, TenantArgument
from duetime.api.jobs import JobClient
from duetime.api.operation import Operation
from duetime.errors import WaitTimeout
from duetime.model.actions.action import Action
from duetime.model.clock import monotonic
from duetime.model.tenant import AMBIENT
from duetime.model.validation import seconds
from duetime.registry.runtime import Parts

if TYPE_CHECKING:
    from duetime.model.transition import Pending, Report
    from duetime.transitions.api import Transitions

C = TypeVar("C")
P = ParamSpec("P")
T = TypeVar("T")


def blocking(
    verb: Callable[Concatenate[C, P], Operation[T]],
) -> Callable[Concatenate[Any, P], T]:
    """A planned verb as a method that returns when it is committed, or, on a connection of the
    caller's, performed."""

    @wraps(verb)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        plan = verb(self._client, *args, **kwargs)
        joined, flow = plan.joined(self._store), plan.kept_by(self._outbox)
        if joined is None:
            stored = self._store.perform_blocking(flow)
            plan.count(stored)
            self._events.emit_blocking(plan.told(stored))
        else:
            stored = joined.perform_blocking(flow)
            plan.after_commit(joined, stored, self._events.emit_blocking)
        return plan.then(stored)

    return call


class SyncJobs:
    """`app.sync.jobs`: the verbs of recurring jobs without `await`."""

    def __init__(self, client: JobClient, parts: Parts) -> None:
        self._client = client
        self._store = parts.store
        self._events = parts.events
        self._outbox = parts.outbox

    list = blocking(JobClient.list)
    get = blocking(JobClient.get)
    put = blocking(JobClient.put)
    remove = blocking(JobClient.remove)
    restore = blocking(JobClient.restore)
    pause = blocking(JobClient.pause)
    resume = blocking(JobClient.resume)
    trigger = blocking(JobClient.trigger)
    runs = blocking(JobClient.runs)
    preview = blocking(JobClient.preview)
    backfill = blocking(JobClient.backfill)


class SyncTransitions:
    """`app.sync.transitions`: row transitions without `await`, for a blocking engine."""

    def __init__(self, awaited: Transitions) -> None:
        self._awaited = awaited

    def sweep(self, *, parked: bool = False) -> Report:
        """One pass, a batch of each transition. A report whose `check()` is called raises if it
        has errors, so that the run of a foreign queue fails."""
        self._awaited.refuse_async()
        return waited(self._awaited.sweep(parked=parked))

    def drain(self, *, parked: bool = False) -> Report:
        """Pass after pass until nothing is left that is due: for each run of a foreign queue."""
        self._awaited.refuse_async()
        return waited(self._awaited.drain(parked=parked))

    def pending(self) -> list[Pending]:
        """How much waits, for each transition."""
        self._awaited.refuse_async()
        return waited(self._awaited.pending())


def waited(verb: Coroutine[Any, Any, T]) -> T:
    """In a loop of its own: the caller's thread may have one running."""
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, asyncio.run, verb).result()


class SyncDuetime:
    """`app.sync`: the verbs of the app without `await`."""

    def __init__(
        self,
        client: Client,
        jobs: JobClient,
        parts: Parts,
        transitions: Callable[[], Transitions],
    ) -> None:
        self._client = client
        self._store = parts.store
        self._events = parts.events
        self._outbox = parts.outbox
        self.jobs = SyncJobs(jobs, parts)
        self._transitions = transitions

    @property
    def transitions(self) -> SyncTransitions:
        return SyncTransitions(self._transitions())

    schedule = blocking(Client.schedule)
    schedule_many = blocking(Client.schedule_many)
    cancel = blocking(Client.cancel)
    cancel_many = blocking(Client.cancel_many)
    reschedule = blocking(Client.reschedule)
    retry = blocking(Client.retry)
    retry_many = blocking(Client.retry_many)
    get = blocking(Client.get)
    find = blocking(Client.find)
    runs = blocking(Client.runs)
    stats = blocking(Client.stats)
    _lacking = blocking(Client.lacking)

    def wait(
        self, action_id: UUID, *, timeout: Delay | None = None, tenant: TenantArgument = AMBIENT
    ) -> Action:
        """The finished action; WaitTimeout if it is not finished in time."""
        limit = math.inf if timeout is None else seconds("timeout", timeout)
        for pause in pauses(limit):
            time.sleep(pause)
            action = self.get(action_id, tenant=tenant)
            if action.state.finished:
                return action
        raise WaitTimeout(action_id, limit, action.state, self._lacking(action.kind))

    def close(self) -> None:
        """Let go of connections and threads; the app may be used again."""
        self._store.close()


def pauses(limit: float) -> Iterator[float]:
    """How long to sleep before asking again: not at all, then longer and longer, at most a
    quarter of a second, until time is up."""
    ends, pause = monotonic() + limit, 0.005
    yield 0.0
    while (left := ends - monotonic()) > 0:
        yield min(pause, max(left, 0.001))
        pause = min(pause * 1.5, 0.25)
