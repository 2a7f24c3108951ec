"""Hooks, events, counters and spans."""

import asyncio
import logging
from typing import Any

import pytest

from duetime import Duetime
from duetime.events import TransitionApplied
from duetime.testing import FakeClock
from transitions.models import Base, Post
from transitions.places import Place


class Calls:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def __call__(self, *arguments: object) -> None:
        self.heard.append(arguments)

    async def awaited(self, *arguments: object) -> None:
        await asyncio.sleep(0)
        self.heard.append(arguments)


@pytest.mark.parametrize("style", ["__call__", "awaited"])
@pytest.mark.parametrize("bulk", [False, True])
async def test_hooks_are_called_for_each_row_in_order(
    app: Duetime, place: Place, clock: FakeClock, style: str, bulk: bool
) -> None:
    calls = Calls()
    hook = getattr(calls, style)
    app.transitions.register(Base, place.engine, bulk=bulk, on_delete=hook, on_set_field=hook)
    now = clock.now()
    place.add(Post(id=1, publish_at=now), Post(id=2, publish_at=now.replace(year=2000)))
    place.add(Post(id=3, expires_at=now), Post(id=4, purge_at=now))
    await app.transitions.sweep()
    assert calls.heard == [
        (Post, 2, "status", "published"),
        (Post, 1, "status", "published"),
        (Post, 3),
        (Post, 4),
    ]


async def test_a_hook_sees_what_was_committed(app: Duetime, place: Place, clock: FakeClock) -> None:
    seen: list[Any] = []

    def look(model: type[Any], id: int, field: str, to: object) -> None:
        seen.extend(place.rows("SELECT status FROM posts WHERE id = :id", id=id))

    app.transitions.register(Base, place.engine, on_set_field=look)
    place.add(Post(id=1, publish_at=clock.now()))
    await app.transitions.sweep()
    assert seen == [("published",)]


async def test_a_hook_that_raises_disturbs_nothing(
    app: Duetime, place: Place, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard = []

    def hook(model: type[Any], id: int, field: str, to: object) -> None:
        heard.append(id)
        if id == 1:
            raise RuntimeError("no")

    app.transitions.register(Base, place.engine, on_set_field=hook, logger=logging.getLogger("my"))
    place.add(*(Post(id=n, publish_at=clock.now()) for n in range(3)))
    report = await app.transitions.sweep()
    assert (report.updated, report.errors, heard) == (3, [], [0, 1, 2])
    assert ("my", "RuntimeError: no") in [
        (one.name, str(one.exc_info and one.exc_text).rpartition("\n")[2]) for one in caplog.records
    ]


async def test_events(app: Duetime, place: Place, clock: FakeClock) -> None:
    told: list[TransitionApplied] = []
    app.on(TransitionApplied, told.append)
    app.transitions.register(Base, place.engine)
    place.add(Post(id=1, publish_at=clock.now()), Post(id=2, purge_at=clock.now()))
    await app.transitions.sweep()
    common: dict[str, Any] = {"tenant": None, "by": "system", "model": "Post", "table": "posts"}
    assert told == [
        TransitionApplied(
            **common,
            id=1,
            column="publish_at",
            due_at=clock.now(),
            effect="set_field",
            field="status",
            to="published",
        ),
        TransitionApplied(
            **common, id=2, column="purge_at", due_at=clock.now(), effect="hard_delete"
        ),
    ]
