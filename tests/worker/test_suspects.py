"""A suspect is claimed alone, and does not delay others while it is locked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note, Other
from duetime import Duetime, State
from duetime.model.actions.claim import ClaimOrder
from store.postgres_helpers import another, lock

SUSPECT = "UPDATE duetime_actions SET losses = 2, lane = 's.' || lane WHERE id = %s"
RUNS = 400


@pytest.fixture
async def app(postgres_url: str) -> AsyncIterator[Duetime]:
    async with Duetime(postgres_url, lease=5, grace=5) as app:

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        yield app


@pytest.fixture
def alone(app: Duetime, monkeypatch: pytest.MonkeyPatch) -> list[ClaimOrder]:
    """Return the claims that were sent for suspects."""
    found: list[ClaimOrder] = []
    claim = app.store.claim

    def noted(order: ClaimOrder) -> Any:
        if order.spans[0].lane.startswith("s."):
            found.append(order)
        return claim(order)

    monkeypatch.setattr(app.store, "claim", noted)
    return found


async def suspect(app: Duetime, url: str) -> UUID:
    action = await app.schedule(Other())
    with another(url) as stranger:
        stranger.execute(SUSPECT, (action.id,))
    return action.id


async def test_a_locked_suspect_takes_no_claims_from_others(
    app: Duetime, postgres_url: str, alone: list[ClaimOrder]
) -> None:
    """All slots are taken, each finished run schedules the next, and every claim comes back
    short."""
    locked = await suspect(app, postgres_url)
    done, left = asyncio.Event(), RUNS

    @app.handler(kind="note")
    async def note(payload: Note) -> None:
        nonlocal left
        left -= 1
        if left > 0:
            await app.schedule(Note())
        else:
            done.set()

    await app.schedule_many(app.request(Note()) for _ in range(4))
    async with asyncio.timeout(60), app.worker(concurrency=4):
        with another(postgres_url) as stranger, stranger.transaction():
            lock(stranger, locked)
            began = time.monotonic()
            await done.wait()
            # Seven times in the first second, and once in each following one.
            assert 1 <= len(alone) <= 9 + (time.monotonic() - began)
        assert (await app.wait(locked)).state is State.succeeded
