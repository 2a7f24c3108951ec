"""The verbs of an app as blocking methods: for code without an event loop, and safe beside one."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from duetime.api.actions import ActionVerbs
from duetime.api.arguments import Delay, TenantArgument
from duetime.api.jobs import JobVerbs
from duetime.api.operation import blocking_verb
from duetime.api.wait import poll_intervals
from duetime.errors import WaitTimeout
from duetime.model.actions.action import Action
from duetime.model.tenant import AMBIENT
from duetime.model.validation import seconds
from duetime.registry.runtime import AppRuntime

if TYPE_CHECKING:
    from duetime.model.transition import Pending, Report
    from duetime.transitions.api import Transitions

T = TypeVar("T")


class SyncJobs:
    """`app.sync.jobs`: the verbs of recurring jobs without `await`."""

    def __init__(self, verbs: JobVerbs, runtime: AppRuntime) -> None:
        self._verbs = verbs
        self._store = runtime.store
        self._events = runtime.events
        self._outbox = runtime.outbox

    list = blocking_verb(JobVerbs.list)
    get = blocking_verb(JobVerbs.get)
    put = blocking_verb(JobVerbs.put)
    remove = blocking_verb(JobVerbs.remove)
    restore = blocking_verb(JobVerbs.restore)
    pause = blocking_verb(JobVerbs.pause)
    resume = blocking_verb(JobVerbs.resume)
    trigger = blocking_verb(JobVerbs.trigger)
    runs = blocking_verb(JobVerbs.runs)
    preview = blocking_verb(JobVerbs.preview)
    backfill = blocking_verb(JobVerbs.backfill)


class SyncTransitions:
    """`app.sync.transitions`: row transitions without `await`, for a blocking engine."""

    def __init__(self, transitions: Transitions) -> None:
        self._transitions = transitions

    def sweep(self, *, parked: bool = False) -> Report:
        """Apply a batch of each transition. Call `check()` on the report to raise its errors,
        so that the run of a foreign queue fails."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.sweep(parked=parked))

    def drain(self, *, parked: bool = False) -> Report:
        """Sweep until no row is due any more: for each run of a foreign queue."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.drain(parked=parked))

    def pending(self) -> list[Pending]:
        """How many rows wait, for each transition."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.pending())


def run_in_own_loop(verb: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread with its own event loop, since the caller's thread may be
    running one already."""
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, asyncio.run, verb).result()


class SyncDuetime:
    """`app.sync`: the verbs of the app without `await`."""

    def __init__(
        self,
        verbs: ActionVerbs,
        jobs: JobVerbs,
        runtime: AppRuntime,
        transitions: Callable[[], Transitions],
    ) -> None:
        self._verbs = verbs
        self._store = runtime.store
        self._events = runtime.events
        self._outbox = runtime.outbox
        self.jobs = SyncJobs(jobs, runtime)
        self._transitions = transitions

    @property
    def transitions(self) -> SyncTransitions:
        return SyncTransitions(self._transitions())

    schedule = blocking_verb(ActionVerbs.schedule)
    schedule_many = blocking_verb(ActionVerbs.schedule_many)
    cancel = blocking_verb(ActionVerbs.cancel)
    cancel_many = blocking_verb(ActionVerbs.cancel_many)
    reschedule = blocking_verb(ActionVerbs.reschedule)
    retry = blocking_verb(ActionVerbs.retry)
    retry_many = blocking_verb(ActionVerbs.retry_many)
    get = blocking_verb(ActionVerbs.get)
    find = blocking_verb(ActionVerbs.find)
    runs = blocking_verb(ActionVerbs.runs)
    stats = blocking_verb(ActionVerbs.stats)
    _reason_not_run = blocking_verb(ActionVerbs.reason_not_run)

    def wait(
        self, action_id: UUID, *, timeout: Delay | None = None, tenant: TenantArgument = AMBIENT
    ) -> Action:
        """Return the action once it has finished; WaitTimeout if it does not within `timeout`."""
        limit = math.inf if timeout is None else seconds("timeout", timeout)
        for pause in poll_intervals(limit):
            time.sleep(pause)
            action = self.get(action_id, tenant=tenant)
            if action.state.finished:
                return action
        raise WaitTimeout(action_id, limit, action.state, self._reason_not_run(action.kind))

    def close(self) -> None:
        """Close connections and threads; the next verb opens them again."""
        self._store.close()
