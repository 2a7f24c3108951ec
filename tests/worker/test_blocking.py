"""A handler that keeps the event loop is pointed out, by name."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from api.apps import Note
from duetime import Duetime
from duetime.worker.leases import loop_monitor as loop_watch
from duetime.worker.leases.loop_monitor import LoopGone, LoopWatch


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    return [one for one in said if "event loop" in one]


async def test_the_kind_and_the_remedy_are_told_once(
    memory_app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    @memory_app.handler(kind="note")
    async def block(note: Note) -> None:
        """Until somebody complains, or long after, if it was complained of before."""
        ends = time.monotonic() + (2.5 if complaints(caplog) else 20)
        before = len(complaints(caplog))
        while len(complaints(caplog)) == before and time.monotonic() < ends:
            pass

    async with memory_app.worker():
        for _ in range(2):
            action = await memory_app.schedule(Note())
            await memory_app.wait(action.id, timeout=30)
    [said] = complaints(caplog)
    assert "kind note" in said
    assert "def instead of async def" in said


async def test_a_loop_that_answers_is_not_complained_of(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that was late, if no action keeps it."""
    monkeypatch.setattr(loop_watch, "INTERVAL", 0.0)
    asked: list[object] = []
    watch = LoopWatch(asked.append)
    for _ in range(3):
        await asyncio.to_thread(watch.look)
    assert asked == []
    watch.look()
    watch.look()
    assert asked == [asyncio.current_task()]
    assert complaints(caplog) == []


async def test_without_its_loop_nothing_is_looked_at() -> None:
    watch = await asyncio.to_thread(lambda: asyncio.run(made()))
    with pytest.raises(LoopGone):
        watch.look()


async def made() -> LoopWatch:
    return LoopWatch(lambda task: None)
