"""Whoever changes subscriptions on PostgreSQL locks the notifier's row first: no deadlocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import pytest

from duetime.model.notifications.subscription import ended
from duetime.model.notifications.topics import TEST_TOPIC
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from duetime.store.sql.postgres.store import PostgresStore
from duetime.testing.conformance.granting import ANN
from duetime.testing.conformance.subscribing import unstored
from polling import until
from store.postgres_helpers import another, waiting

Change = Callable[[PostgresStore, UUID], Flow[Any]]


def end(store: PostgresStore, place: UUID) -> Flow[Any]:
    return store.edit_subscription(
        place, ANY, ANN, "end", lambda each, now: ended(each, "asked", now)
    )


def remove(store: PostgresStore, place: UUID) -> Flow[Any]:
    return store.remove_subscription(place, ANY, ANN)


def send(store: PostgresStore, place: UUID) -> Flow[Any]:
    return store.send_single(place, ANY, TEST_TOPIC, ANN)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_url, timeout=20)
    yield store
    await store.aclose()


@pytest.mark.parametrize("change", [end, remove, send])
async def test_a_change_that_waits_for_a_declaration_locks_no_subscription(
    store: PostgresStore, postgres_url: str, change: Change
) -> None:
    stored = await store.perform(store.add_subscription(unstored(), ANN))
    with another(postgres_url) as declaring:
        with declaring.transaction():
            declaring.execute("SELECT 1 FROM duetime_notifier FOR UPDATE")
            changing = asyncio.create_task(store.perform(change(store, stored.id)))
            await until(lambda: waiting(postgres_url))
            declaring.execute("SELECT 1 FROM duetime_subscriptions FOR UPDATE NOWAIT")
        await changing
