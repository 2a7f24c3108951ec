"""Baselines: the throughput of the same drivers without duetime."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from uuid import uuid4

import psycopg
from trial import Spot

from duetime.bench.draining import CLIENTS
from duetime.bench.figures import RoundFigures
from duetime.config import Settings

BATCH = Settings().batch
CONNECTIONS = Settings().pool_size
PAYLOAD = '{"n": 1}'

TABLE = """
CREATE TABLE bare (
    id uuid PRIMARY KEY, kind text NOT NULL, lane text NOT NULL, due_at bigint NOT NULL,
    created_at bigint NOT NULL, state text NOT NULL, payload text NOT NULL
)
"""
INSERT = "INSERT INTO bare VALUES (%s, %s, %s, %s, %s, %s, %s)"


async def inserts(spot: Spot, full: int) -> RoundFigures:
    """Insert rows by a prepared INSERT, each in its own transaction, with the clients and the
    connections of the same measure of duetime."""
    numbers = iter(range(spot.count(full)))
    idle: asyncio.Queue[psycopg.AsyncConnection] = asyncio.Queue()
    opened = [await _connect(spot.url) for _ in range(CONNECTIONS)]
    await opened[0].execute(TABLE)
    await opened[0].execute("CREATE INDEX ON bare (lane, due_at)")
    for connection in opened:
        await connection.execute(INSERT, _row(), prepare=True)
        idle.put_nowait(connection)

    async def client() -> None:
        for _ in numbers:
            connection = await idle.get()
            await connection.execute(INSERT, _row(), prepare=True)
            idle.put_nowait(connection)

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    took = time.perf_counter() - began
    for connection in opened:
        await connection.close()
    return {"schedule one by one /s": spot.count(full) / took}


async def _connect(url: str) -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(url, autocommit=True)


def _row() -> tuple[object, ...]:
    now = time.time_ns() // 1000
    return uuid4(), "noop", "1.0.default", now, now, "scheduled", PAYLOAD


async def updates(spot: Spot, full: int, connections: int = 1) -> RoundFigures:
    """BEGIN, UPDATE, COMMIT row after row, with one loop for each connection."""
    count = spot.count(full)
    ids = [uuid4() for _ in range(count)]
    async with await _connect(spot.url) as making:
        await making.execute(TABLE)
        async with making.cursor() as cursor:
            await cursor.executemany(INSERT, [(id_, *_row()[1:]) for id_ in ids])
    left = iter(ids)

    async def loop() -> None:
        async with await _connect(spot.url) as connection:
            for id_ in left:
                await connection.execute("BEGIN")
                await connection.execute(
                    "UPDATE bare SET state = 'succeeded' WHERE id = %s", (id_,), prepare=True
                )
                await connection.execute("COMMIT")

    began = time.perf_counter()
    await asyncio.gather(*(loop() for _ in range(connections)))
    return {"drain /s": count / (time.perf_counter() - began)}


# -- SQLite ------------------------------------------------------------------------------

FILE_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE actions (
    id blob PRIMARY KEY, kind text NOT NULL, lane text NOT NULL, due_at integer NOT NULL,
    created_at integer NOT NULL, token blob, worker text, lease_until integer, attempt integer,
    started_at integer, payload text NOT NULL
);
CREATE INDEX actions_due ON actions (lane, due_at);
CREATE TABLE history (
    id blob PRIMARY KEY, kind text NOT NULL, lane text NOT NULL, due_at integer NOT NULL,
    created_at integer NOT NULL, token blob, worker text, lease_until integer, attempt integer,
    started_at integer, payload text NOT NULL, state text NOT NULL, finished_at integer NOT NULL
);
CREATE INDEX history_state ON history (state, finished_at);
CREATE INDEX history_kind ON history (kind, id);
"""
CLAIM = """
UPDATE actions SET token = :token, worker = 'bare', lease_until = :now + 15000000, attempt = 1,
    started_at = :now
WHERE rowid IN (
    SELECT rowid FROM actions WHERE lane = '1.0.default' AND due_at <= :now AND token IS NULL
    ORDER BY due_at LIMIT :batch
)
RETURNING rowid, id, payload
"""
FINISH = """
INSERT INTO history SELECT *, 'succeeded', :now FROM actions
WHERE rowid IN (SELECT value FROM json_each(:ids))
"""
DELETE = "DELETE FROM actions WHERE rowid IN (SELECT value FROM json_each(:ids))"


async def file_loop(spot: Spot, full: int) -> RoundFigures:
    """Use sqlite3 alone, synchronous FULL: insert in batches of 1,000; then claim a batch, commit,
    move the batch to history, commit."""
    count = spot.count(full)
    connection = sqlite3.connect(spot.file.removeprefix("sqlite:///"), isolation_level=None)
    connection.executescript(FILE_TABLES)
    now = time.time_ns() // 1000
    began = time.perf_counter()
    for first in range(0, count, 1000):
        size = min(1000, count - first)
        rows = [(os.urandom(16), "noop", "1.0.default", now, now, PAYLOAD) for _ in range(size)]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO actions (id, kind, lane, due_at, created_at, payload) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
        connection.execute("COMMIT")
    scheduled = time.perf_counter() - began
    began = time.perf_counter()
    while _file_batch(connection):
        pass
    drained = time.perf_counter() - began
    connection.close()
    return {"schedule /s": count / scheduled, "drain /s": count / drained}


def _file_batch(connection: sqlite3.Connection) -> int:
    claim = {"now": time.time_ns() // 1000, "token": os.urandom(16), "batch": BATCH}
    connection.execute("BEGIN IMMEDIATE")
    claimed = connection.execute(CLAIM, claim).fetchall()
    connection.execute("COMMIT")
    finish = {"now": time.time_ns() // 1000, "ids": json.dumps([row[0] for row in claimed])}
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(FINISH, finish)
    connection.execute(DELETE, finish)
    connection.execute("COMMIT")
    return len(claimed)
