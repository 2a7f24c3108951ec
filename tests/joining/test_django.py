"""Django's own ways to open and end transactions."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from api.apps import Note
from duetime import Duetime
from duetime.errors import ActionNotFound
from duetime.events.types import ActionCancelled
from joining.callers import Caller, django_alias

LATER = datetime(2099, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.parametrize(
    "caller_name", ["django-postgres", "django-sqlite"], indirect=True
)


class Undone(Exception):
    """Raised to roll a block back."""


async def test_an_inner_block_that_is_rolled_back_takes_its_actions_and_events_with_it(
    app: Duetime, caller: Caller
) -> None:
    from django.db import transaction

    events: asyncio.Queue[ActionCancelled] = asyncio.Queue()
    app.on(ActionCancelled, events.put_nowait)
    first, second = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
    verbs, mine = app.sync, caller.connection
    with suppress(Undone), transaction.atomic(using=mine.alias):
        gone = verbs.schedule(Note("gone"), at=LATER, connection=mine)
        verbs.cancel(first.id, connection=mine)
        raise Undone
    with transaction.atomic(using=mine.alias):
        kept = verbs.schedule(Note("kept"), at=LATER, connection=mine)
        verbs.cancel(second.id, connection=mine)
    assert events.empty()
    await caller.commit()
    assert (await asyncio.wait_for(events.get(), 5)).action_id == second.id
    assert events.empty()
    assert (await app.get(kept.id)).payload == Note("kept")
    assert (await app.get(first.id)).state == "scheduled"
    with pytest.raises(ActionNotFound):
        await app.get(gone.id)


class TestAsync:
    """Async code leaves it to a thread, in which Django has connections of its own."""

    @pytest.fixture
    def alias(self, caller_url: str) -> str:
        return django_alias(caller_url)

    async def test_a_block_in_a_thread_is_one_transaction(self, app: Duetime, alias: str) -> None:
        kept = await sync_to_async(self.schedule)(app, alias)
        with pytest.raises(Undone):
            await sync_to_async(self.schedule)(app, alias, Undone())
        assert [found.id for found in await app.find()] == [kept]

    @staticmethod
    def schedule(app: Duetime, alias: str, error: Exception | None = None) -> UUID:
        from django.db import connections, transaction

        mine: Any = connections[alias]
        try:
            with transaction.atomic(using=alias):
                action = app.sync.schedule(Note(), at=LATER, connection=mine)
                if error is not None:
                    raise error
            return action.id
        finally:
            mine.close()
