"""The verbs of an app, awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from duetime.api.jobs import JobClient
from duetime.api.operation import Operation
from duetime.registry.runtime import Parts

C = TypeVar("C")
P = ParamSpec("P")
T = TypeVar("T")


def awaited(
    verb: Callable[Concatenate[C, P], Operation[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """A planned verb as a coroutine that returns when it is committed, or, on a connection of
    the caller's, performed."""

    @wraps(verb)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        plan, parts = verb(self._client, *args, **kwargs), self.parts
        joined, flow = plan.joined(parts.store), plan.kept_by(parts.outbox)
        if joined is None:
            stored = await parts.store.perform(flow)
            plan.count(stored)
            await parts.events.emit(plan.told(stored))
        else:
            stored = await joined.perform(flow)
            plan.after_commit(joined, stored, parts.events.emit_soon)
        return plan.then(stored)

    return call


class Jobs:
    """`app.jobs`: the verbs of recurring jobs."""

    def __init__(self, client: JobClient, parts: Parts) -> None:
        self._client = client
        self.parts = parts

    list = awaited(JobClient.list)
    get = awaited(JobClient.get)
    put = awaited(JobClient.put)
    remove = awaited(JobClient.remove)
    restore = awaited(JobClient.restore)
    pause = awaited(JobClient.pause)
    resume = awaited(JobClient.resume)
    trigger = awaited(JobClient.trigger)
    runs = awaited(JobClient.runs)
    preview = awaited(JobClient.preview)
    backfill = awaited(JobClient.backfill)
