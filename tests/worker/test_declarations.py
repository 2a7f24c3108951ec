"""Declarations made while a worker runs take effect at once."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Thread
from typing import Any

import pytest

from api.apps import Note, durable_url, real_app, url
from duetime import Duetime, Every
from duetime.errors import StoreUnavailable
from polling import until

__all__ = ["durable_url", "real_app", "url"]


async def test_a_job_ticks(real_app: Duetime) -> None:
    ran = asyncio.Event()
    async with real_app.worker():
        real_app.job(Every(seconds=1), name="shop-report")(ran.set)
        await asyncio.wait_for(ran.wait(), 8)


async def test_also_if_another_thread_declares_it(real_app: Duetime) -> None:
    ran = asyncio.Event()

    async def report() -> None:
        ran.set()

    def declare() -> None:
        real_app.job(Every(seconds=1), name="shop-report")(report)

    async with real_app.worker():
        thread = Thread(target=declare)
        thread.start()
        thread.join()
        await asyncio.wait_for(ran.wait(), 8)


async def test_the_worker_row_lists_the_new_kind(real_app: Duetime) -> None:
    async with real_app.worker():
        real_app.handler(kind="note")(take_note)

        async def is_known() -> bool:
            [worker] = (await real_app.stats()).workers
            return worker.kinds == ("note",)

        await until(is_known, 8)


async def test_what_was_parked_runs(real_app: Duetime) -> None:
    real_app.payload(Note, kind="note")
    note = await real_app.schedule(Note("late"))

    async def is_parked() -> bool:
        return (await real_app.get(note.id)).error is not None

    async with real_app.worker():
        await until(is_parked)
        real_app.handler(kind="note")(take_note)
        assert (await real_app.wait(note.id, timeout=8)).result == "late"


async def take_note(payload: Note) -> str:
    return payload.text


async def test_a_forgotten_worker_registers_again_though_the_answer_is_lost(
    memory_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then the store has a row for the worker again, but without its kinds."""
    memory_app.job("0 2 * * *", name="shop-close")(lambda: None)
    store = memory_app.store
    async with memory_app.worker() as worker:
        await store.perform(store.unregister(worker.id))
        with monkeypatch.context() as patched:
            patched.setattr(store, "perform", unanswered(store.perform))
            with pytest.raises(StoreUnavailable):
                await worker._sweeper.sweep()
        await worker._sweeper.sweep()
        [seen] = await store.perform(store.workers(10**9))
        assert seen.worker.jobs == ["shop-close"]


def unanswered(perform: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    async def performed(flow: Any) -> Any:
        await perform(flow)
        raise StoreUnavailable("the answer was lost")

    return performed
