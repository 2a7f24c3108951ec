"""Pauses of queues in the caller's transaction."""

from __future__ import annotations

from duetime import Duetime
from joining.callers import Caller


async def test_a_pause_exists_if_and_only_if_the_caller_commits(
    app: Duetime, caller: Caller
) -> None:
    await caller.call(app, "queues.pause", "billing", by="ann")
    await caller.rollback()
    assert await app.queues.list() == []
    await caller.close()
    await caller.begin()
    paused = await caller.call(app, "queues.pause", "billing", by="ann", note="why")
    assert (paused.name, paused.paused_by) == ("billing", "ann")
    [seen] = await caller.call(app, "queues.list")
    assert seen.pause_note == "why"
    assert await app.queues.list() == []
    await caller.commit()
    [queue] = await app.queues.list()
    assert (queue.name, queue.paused_by, queue.pause_note) == ("billing", "ann", "why")


async def test_a_resumption_exists_once_the_caller_commits(app: Duetime, caller: Caller) -> None:
    await app.queues.pause("billing")
    assert await caller.call(app, "queues.resume", "billing")
    assert not await caller.call(app, "queues.resume", "billing")
    assert len(await app.queues.list()) == 1
    await caller.commit()
    assert await app.queues.list() == []
