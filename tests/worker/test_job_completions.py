"""Completions of occurrences: stored despite a locked job, and reported despite a lost reply."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

import psycopg

from duetime import Duetime, Every, JobFailing, JobRecovered, Retry, State
from duetime.errors import StoreUnavailable
from duetime.model.actions.completion import Completion, CompletionResult
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore

T = TypeVar("T")


async def test_a_locked_job_delays_only_its_own_occurrences(postgres_url: str) -> None:
    began, go = asyncio.Barrier(3), asyncio.Event()
    async with Duetime(postgres_url) as app:
        for name in ("shop-locked", "shop-free"):

            @app.job(Every(days=300), name=name)
            async def report() -> None:
                await began.wait()
                await go.wait()

        async with app.worker():
            locked, free = (
                await app.jobs.trigger("shop-locked"),
                await app.jobs.trigger("shop-free"),
            )
            await asyncio.wait_for(began.wait(), 20)
            with psycopg.connect(postgres_url) as caller:
                app.sync.jobs.pause("shop-locked", connection=caller)
                go.set()
                assert (await app.wait(free.id, timeout=20)).state is State.succeeded
                assert (await app.get(locked.id)).state is State.running
                caller.rollback()
            assert (await app.wait(locked.id, timeout=20)).state is State.succeeded


class LosingStore(MemoryStore):
    """Applies every completion and loses the first reply to it."""

    def __init__(self) -> None:
        super().__init__()
        self._lost: set[Any] = set()

    def complete(self, completions: Sequence[Completion], **how: Any) -> Flow[CompletionResult]:
        self._tokens_sent = {completion.token for completion in completions}
        return super().complete(completions, **how)

    async def perform(self, flow: Flow[T]) -> T:
        value = await super().perform(flow)
        if isinstance(value, CompletionResult) and not self._tokens_sent <= self._lost:
            self._lost |= self._tokens_sent
            raise StoreUnavailable("the reply was lost")
        return value


async def test_a_failing_streak_is_reported_though_the_reply_is_lost() -> None:
    kept: list[Any] = []
    fails = [True]
    async with Duetime(store=LosingStore()) as app:
        events: asyncio.Queue[Any] = asyncio.Queue()
        for event in (JobFailing, JobRecovered):
            app.on(event, events.put_nowait)
            app.on(event, kept.append, durable=True, name="keep")

        @app.job(Every(days=300), name="shop-report", retry=Retry.none(), alert_after=2)
        async def report() -> None:
            if fails[0]:
                raise RuntimeError("no")

        async with app.worker():
            for _ in range(2):
                await _triggered(app)
            seen = [await asyncio.wait_for(events.get(), 20)]
            await _triggered(app)
            fails[0] = False
            await _triggered(app)
            seen.append(await asyncio.wait_for(events.get(), 20))
            assert [type(event) for event in seen] == [JobFailing, JobRecovered]
            for kind in ("on-job-failing-keep", "on-job-recovered-keep"):
                [action] = await app.find(kind=kind)
                await app.wait(action.id, timeout=20)
        assert events.empty()
    assert kept == seen


async def _triggered(app: Duetime) -> None:
    await app.wait((await app.jobs.trigger("shop-report")).id, timeout=20)
