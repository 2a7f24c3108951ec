"""Trials of claims and completions in a store that holds millions of other actions."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import sql
from trial import Goal, Spot, Trial

from duetime.app import Duetime
from duetime.bench.figures import RoundFigures
from duetime.bench.work import Noop, make_app
from duetime.config import Settings
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.lane import Priority, lane_of
from duetime.model.state import Outcome, State

BATCH = Settings().batch
LEASE = 60_000_000
# The first few statements are planned each time, and are not measured.
TIMES, WARM = 40, 8
CHUNK = 500_000


async def among_future(spot: Spot) -> RoundFigures:
    """Measure 500 due actions beside many future actions on the same lane."""
    async with stores(spot) as (light, heavy):
        for app in (light, heavy):
            await app.schedule(Noop(0), delay=30 * 86_400)
        return await compared(spot, light, heavy, "duetime_actions", spot.count(10_000_000))


async def among_finished(spot: Spot) -> RoundFigures:
    async with stores(spot) as (light, heavy):
        return await compared(spot, light, heavy, "duetime_history", spot.count(1_000_000))


@asynccontextmanager
async def stores(spot: Spot) -> AsyncIterator[tuple[Duetime, Duetime]]:
    """Open two stores in one database, so that disturbances affect both."""
    async with (
        make_app(**spot.server_place, schema="light") as light,
        make_app(**spot.server_place, schema="heavy") as heavy,
    ):
        yield light, heavy


async def compared(
    spot: Spot, light: Duetime, heavy: Duetime, table: str, count: int
) -> RoundFigures:
    """Measure without and with `count` other rows, in turn, with fresh statistics."""
    apps, times = {"without": light, "with": heavy}, max(5, spot.count(TIMES))
    for app in apps.values():
        await timed(app)
    fill(spot.url, "heavy", table, count)
    for schema in ("light", "heavy"):
        tidy(spot.url, schema, table)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in apps}
    for _ in range(WARM + times):
        for name, app in apps.items():
            taken[name].append(await timed(app))
    figures: dict[str, float] = {}
    for index, verb in enumerate(("claim", "complete")):
        median = {
            name: statistics.median(pair[index] for pair in taken[name][WARM:]) for name in taken
        }
        figures |= {f"{verb} {name} ms": 1000 * took for name, took in median.items()}
        figures[f"{verb} x"] = median["with"] / median["without"]
    return figures


async def timed(app: Duetime) -> tuple[float, float]:
    """Return the seconds to claim a batch and to complete it, as a worker does."""
    span = LaneSpan(lane_of("default", Priority.normal.rank, None), 0, 0)
    await app.schedule_many(app.request(Noop(n)) for n in range(BATCH))
    began = time.perf_counter()
    order = ClaimOrder("bench", [span], BATCH, LEASE)
    claimed = await app.store.perform(app.store.claim(order))
    claiming = time.perf_counter() - began
    assert len(claimed.claims) == BATCH
    completions = [
        Finish(id=claim.id, token=claim.token, state=State.succeeded, outcome=Outcome.succeeded)
        for claim in claimed.claims
    ]
    began = time.perf_counter()
    await app.store.perform(app.store.complete(completions))
    return claiming, time.perf_counter() - began


def fill(url: str, schema: str, table: str, count: int) -> None:
    """Insert copies of a row, each with its own id and time."""
    with connected(url, schema) as connection:
        names = columns(connection, table)
        values: list[sql.Composable] = [
            sql.SQL("t.{}").format(sql.Identifier(name)) for name in names
        ]
        values[names.index("id")] = sql.SQL("CAST(lpad(to_hex(n), 32, '0') AS uuid)")
        later = "finished_at" if "finished_at" in names else "due_at"
        values[names.index(later)] = sql.SQL("t.{} + n").format(sql.Identifier(later))
        copy = sql.SQL(
            "INSERT INTO {table} ({names}) SELECT {values} FROM {table} AS t, "
            "generate_series(%s::bigint, %s) AS n WHERE t.id = %s"
        ).format(
            table=sql.Identifier(table),
            names=sql.SQL(", ").join(map(sql.Identifier, names)),
            values=sql.SQL(", ").join(values),
        )
        latest = sql.SQL("SELECT id FROM {} ORDER BY due_at DESC LIMIT 1")
        row = connection.execute(latest.format(sql.Identifier(table))).fetchone()
        assert row is not None
        for first in range(1, count + 1, CHUNK):
            connection.execute(copy, (first, min(first + CHUNK - 1, count), row[0]))


def tidy(url: str, schema: str, table: str) -> None:
    with connected(url, schema) as connection:
        connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))
        connection.execute("CHECKPOINT")


def connected(url: str, schema: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True, options=f"-c search_path={schema}")


def columns(connection: psycopg.Connection, table: str) -> list[str]:
    query = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND table_name = %s AND is_identity = 'NO' ORDER BY ordinal_position"
    )
    return [name for (name,) in connection.execute(query, (table,))]


FUTURE = Trial(
    "future",
    "500 due among 10 million future rows",
    {"duetime": among_future},
    [Goal("claim at most 1.2 x", ("duetime", "claim x"), 1.2, most=True)],
    rounds=1,
)
FINISHED = Trial(
    "finished",
    "claim and completion beside one million finished actions",
    {"duetime": among_finished},
    [
        Goal("claim at most 1.1 x", ("duetime", "claim x"), 1.1, most=True),
        Goal("completion at most 1.1 x", ("duetime", "complete x"), 1.1, most=True),
    ],
)
TRIALS = [FUTURE, FINISHED]
