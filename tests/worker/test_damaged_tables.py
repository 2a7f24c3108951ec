"""Damaged rows of queues, workers, figures, bulks, reports and the audit log: workers go on beside
them, operators see past them, and what is about such a row says so or repairs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note
from damaged_rows import (
    SQLITE_QUEUE_NAMES,
    SQLITE_QUEUES,
    DamagedTable,
    damaged_columns,
    execute,
)
from duetime import ANY, Duetime, Every, State
from duetime.errors import InvalidArgument, UnreadableRow
from duetime.model.actions.claim import WorkerInfo
from duetime.model.health.figures import MINUTE, FigureBatch, FigureKey
from duetime.model.kept_report import report_text
from duetime.model.transition import Report
from polling import until
from worker.test_damaged_rows import new_app, printed, run_neighbours

# Long enough that nothing is pruned.
RETENTION = 10**15
WORKER = WorkerInfo("w1", "shop", "host", 1, ["note"], ["default"], 1)


@pytest.fixture(autouse=True)
def search_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a search for damaged rows would be followed by a pause."""
    monkeypatch.setattr("duetime.store.sql.sqlite.repair.SEARCH_PAUSE_FACTOR", 0)


@pytest.fixture
async def app(durable_url: str) -> AsyncIterator[Duetime]:
    async with new_app(durable_url) as app:
        yield app


async def test_claims_go_on_beside_damaged_queues_which_stay_paused(sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"
    async with new_app(url) as app:
        await app.queues.pause("slow", by="ann", note="stock-taking")
        table = DamagedTable(url, "queues")
        async with app.worker():
            waiting = await app.schedule(Note(), queue="slow")
            for damage in SQLITE_QUEUES:
                table.damage(damage)
                await run_neighbours(app)
                assert (await app.get(waiting.id)).state is State.scheduled, damage
                await until(lambda: says_paused(app, waiting.id))
            assert await app.queues.resume("slow")
            await app.wait(waiting.id, timeout=15)
            for damage in SQLITE_QUEUE_NAMES:
                table.damage(damage)
                await run_neighbours(app)
                assert [queue.paused_by for queue in await app.queues.list()].count("ann") == 1
            assert (await app.stats()).workers[0].health.problems == ()


async def says_paused(app: Duetime, action_id: UUID) -> bool:
    return "queue-paused" in [reason.code for reason in await app.why(action_id)]


@pytest.mark.parametrize("table", ["queues", "workers", "figures", "bulks", "reports", "audit"])
async def test_services_and_operators_go_on_beside_damaged_rows(
    durable_url: str, app: Duetime, table: str
) -> None:
    asked = ABOUT[table]
    await fill(app)
    cursor = await begin_bulk(app) if table == "bulks" else ""
    numbers = count(2)
    columns = set[str]()
    among = "figures_added > 0" if table == "workers" else "true"
    rows = DamagedTable(durable_url, table, f"{among} AND {one_row(durable_url, table)}")
    for damage in damaged_columns(durable_url, table):
        rows.damage(damage)
        try:
            await serve(app, next(numbers))
            await asked(app, cursor)
            # The other verbs once for each column.
            column, _, _ = damage.partition("=")
            if column not in columns:
                await operate(app)
            columns.add(column)
        except Exception as error:
            raise AssertionError(f"after {damage}") from error
    async with app.worker() as worker:
        await run_neighbours(app)
        health = {each.id: each.health for each in (await app.stats()).workers}
        assert health[worker.id].problems == ()
    assert "workers" in printed(["doctor", "--url", durable_url])


async def test_a_bulk_with_a_damaged_time_moves_nothing(sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"
    async with new_app(url) as app:
        actions = await app.schedule_many([app.request(Note(), delay=60) for _ in range(1001)])
        later = datetime.now(UTC) + timedelta(hours=1)
        begun = await app.bulk("reschedule", filter={"kind": "note"}, at=later)
        execute(url, "UPDATE duetime_bulks SET due_at = 'abc'")
        with pytest.raises(InvalidArgument, match="begin a new bulk without a cursor for the rest"):
            await app.bulk("reschedule", cursor=begun.next_cursor)
        assert [(await app.get(actions[n].id)).due_at for n in (0, 1)] == [actions[0].due_at, later]


def one_row(url: str, table: str) -> str:
    """Return a condition for the newest row: several could not get the same key."""
    column = "rowid" if url.startswith("sqlite") else "ctid"
    return f"{column} = (SELECT max({column}) FROM duetime_{table})"


async def fill(app: Duetime) -> None:
    """Put rows into the tables, but for bulks."""
    store: Any = app.store
    await app.queues.pause("slow", by="ann", note="stock-taking")
    await app.jobs.put("shop-mail", Every(hours=1), payload=Note())
    await store.perform(store.sweep(WORKER, 0, 10))
    await store.perform(store.add_figures(batch(1)))
    await store.perform(store.keep_report("shop", "w1", report_text(Report())))


async def begin_bulk(app: Duetime) -> str:
    """Begin a bulk that has not ended, and return the cursor of its next call."""
    await app.schedule_many([app.request(Note(), delay=9000, tenant="bulk") for _ in range(1001)])
    begun = await app.bulk("shift", filter={"kind": "note"}, tenant="bulk", seconds=60, by="ann")
    assert begun.next_cursor is not None
    return begun.next_cursor


def batch(number: int) -> FigureBatch:
    minute = int(datetime.now(UTC).timestamp()) // 60 * MINUTE
    return FigureBatch("w1", number, [(FigureKey(minute, "q", "note", None, "succeeded", 1, 1), 5)])


async def serve(app: Duetime, number: int) -> None:
    """Do what the services of a worker do, each for itself: none of them may fail."""
    store: Any = app.store
    for flow in (
        store.look_ahead("shop"),
        store.look_ahead_from({"1.0.default": 0}),
        store.sweep(WORKER, 0, 10),
        store.prune(keep=RETENTION, keep_failed=RETENTION, limit=10),
        store.prune_audit(keep=RETENTION, limit=10),
        store.prune_figures(keep=RETENTION, limit=10),
        store.damaged_workers("shop", RETENTION),
        store.workers(RETENTION),
    ):
        await store.perform(flow)
    if not await store.perform(store.add_figures(batch(number))):
        # The worker's row was repaired by being deleted. It comes back by the next sweep.
        await store.perform(store.sweep(WORKER, 0, 10))
        assert await store.perform(store.add_figures(batch(number)))


async def operate(app: Duetime) -> None:
    """Look at everything: no verb may stumble over the row."""
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    await app.stats(tenant=ANY)
    await app.find(tenant=ANY)
    await app.queues.list()
    await app.workers.list()
    await app.jobs.list()
    await app.audit.find(tenant=ANY)
    await app.timeline(now - hour, now + hour, tenant=ANY)


async def pause_again(app: Duetime, cursor: str) -> None:
    await app.queues.pause("slow", by="bob")
    assert await app.queues.resume("slow")


async def list_workers(app: Duetime, cursor: str) -> None:
    await app.workers.list()
    await app.stats()


async def sum_figures(app: Duetime, cursor: str) -> None:
    """A damaged count adds nothing, and hides no other."""
    line = await app.series("succeeded", by="queue", tenant=ANY)
    await app.series("lateness_p99", by="kind", tenant=None)
    counted = sum(point.value or 0 for each in line.lines for point in each.points)
    assert 5 <= counted < 1000


async def read_audit(app: Duetime, cursor: str) -> None:
    assert await app.audit.find(tenant=ANY)


async def continue_bulk(app: Duetime, cursor: str) -> None:
    said = await refusal(app.bulk("shift", cursor=cursor, tenant="bulk", by="ann"))
    ours = ("begin a new bulk", "its bulk has the verb", "another actor", "next_cursor of the last")
    assert said == "" or any(words in said for words in ours)


async def read_report(app: Duetime, cursor: str) -> None:
    said = await refusal(app.transitions.last_report("shop"))
    assert said == "" or "the last report of app 'shop' cannot be read" in said


async def refusal(verb: Awaitable[object]) -> str:
    """Return what a verb says of the row, empty if it works."""
    try:
        await verb
    except (InvalidArgument, UnreadableRow) as error:
        return str(error)
    return ""


# The verbs that need the very row: they work, or say that it is damaged.
ABOUT = {
    "queues": pause_again,
    "workers": list_workers,
    "figures": sum_figures,
    "bulks": continue_bulk,
    "reports": read_report,
    "audit": read_audit,
}
