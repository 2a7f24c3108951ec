"""A handler that blocks the event loop is reported by name."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from api.apps import Note
from duetime import Duetime
from duetime.worker.leases import loop_monitor
from duetime.worker.leases.loop_monitor import LoopClosed, LoopMonitor


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    return [message for message in said if "event loop" in message]


async def test_the_kind_and_the_remedy_are_logged_once(
    memory_app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    @memory_app.handler(kind="note")
    async def block(note: Note) -> None:
        """Block until a warning is logged, or for long enough that a second one would be."""
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


async def test_a_loop_that_answers_is_not_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a loop that was late without an action on it."""
    monkeypatch.setattr(loop_monitor, "CHECK_INTERVAL_SECONDS", 0.0)
    tasks: list[object] = []
    monitor = LoopMonitor(tasks.append)
    for _ in range(3):
        await asyncio.to_thread(monitor.check)
    assert tasks == []
    monitor.check()
    monitor.check()
    assert tasks == [asyncio.current_task()]
    assert complaints(caplog) == []


async def test_a_closed_loop_ends_the_checks() -> None:
    monitor = await asyncio.to_thread(lambda: asyncio.run(new_monitor()))
    with pytest.raises(LoopClosed):
        monitor.check()


async def new_monitor() -> LoopMonitor:
    return LoopMonitor(lambda task: None)
