"""Damaged rows of notifications: what stands beside them is gathered and shown all the same."""

from __future__ import annotations

import re

import pytest

from damaged_rows import DamagedTable, damaged_columns
from duetime import ANY, Duetime
from duetime.model.clock import SECOND
from duetime.model.notifications.declared import declared_subscription
from duetime.model.notifications.delivery import GatherResult
from duetime.model.notifications.episodes import Episode
from duetime.model.notifications.erasing import EventErasure
from duetime.model.notifications.event import NewEvent
from duetime.model.notifications.subscription import IN_APP, SubscriptionTerms
from worker.test_damaged_rows import new_app

# The column of each table that keeps a document, if it has one.
DOCUMENTS = {
    "subscriptions": "record",
    "events": "data",
    "notifications": "record",
    "episodes": "data",
}
# What may stand where a document is kept.
NO_DOCUMENTS = ["", "{not", "null", "[5]", "5", "{}", "{deep}"]
# Texts that SQLite itself cannot read, and keys for which there is no row.
UNREADABLE = re.compile(r"CAST\(x'ff'|id\"=x'ff'")
LAG = SECOND


@pytest.mark.parametrize("table", DOCUMENTS)
async def test_notifications_go_on_beside_damaged_rows(durable_url: str, table: str) -> None:
    async with new_app(durable_url) as app:
        await fill(app)
        rows = DamagedTable(durable_url, table, among(durable_url, table))
        for number, damage in enumerate(damages(durable_url, table)):
            rows.damage(damage)
            try:
                await notify(app, f"n-{number}")
            except Exception as error:
                raise AssertionError(f"after {damage}") from error


def damages(url: str, table: str) -> list[str]:
    """Return what may be written over the columns of a table, and over its document."""
    document = DOCUMENTS[table]
    columns = [each for each in damaged_columns(url, table) if not UNREADABLE.search(each)]
    return [*columns, *(f"{document}='{text}'" for text in NO_DOCUMENTS)]


def among(url: str, table: str) -> str:
    """Return a condition for the oldest row, beside which there is another."""
    column = "rowid" if url.startswith("sqlite") else "ctid"
    return f"{column} = (SELECT min({column}) FROM duetime_{table})"


async def fill(app: Duetime) -> None:
    """Put two rows into each table: two subscriptions hear of an event, and another one waits."""
    for _ in range(2):
        await app.notifications.add(["action-failed", "overdue"], in_app=True, tenant=ANY)
    await happen(app, "first")
    await gather(app)
    await happen(app, "second")
    await happen(app, "third")
    episodes = [Episode("overdue", name, {"queue": name, "count": 1}) for name in ("a", "b")]
    await app.store.perform(app.store.change_episodes(episodes))


async def notify(app: Duetime, subject: str) -> None:
    """Do what notifiers and readers do; what happens meanwhile is notified."""
    store = app.store
    async with app.notifier():
        pass
    terms = SubscriptionTerms(topics=("job-failing",), channel=IN_APP)
    await store.perform(store.declare_subscriptions([declared_subscription("shop", terms, "s")]))
    await store.perform(store.change_episodes([Episode("overdue", subject, {"queue": subject})]))
    await happen(app, subject)
    gathered = await gather(app)
    assert gathered.taken
    assert gathered.notified
    await store.perform(store.erase_events(EventErasure(None, "order:7")))
    await app.notifications.unread(tenant=ANY)
    await app.notifications.read(tenant=ANY, reader="max")
    assert (await app.notifications.list(tenant=ANY)).items


async def happen(app: Duetime, subject: str) -> None:
    event = NewEvent("action-failed", None, subject, {"kind": "mail", "error": "Boom"})
    await app.store.perform(app.store.add_events([event]))


async def gather(app: Duetime) -> GatherResult:
    return await app.store.perform(app.store.gather_events(lag=LAG, limit=100))
