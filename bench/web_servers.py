"""The web applications of the trials over HTTP, each served by a process of its own: ours, and
routes of FastAPI that do the least that such a request needs."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any
from uuid import UUID, uuid4

import psycopg
from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from duetime import Duetime
from duetime.bench.work import Noop
from duetime.config import Settings

URL = "BENCH_URL"
# A file with the bytes that the bare route of a page returns.
PAGE = "BENCH_PAGE"
CONNECTIONS = Settings().pool_size

TABLES = """
CREATE TABLE IF NOT EXISTS bare_keys (id uuid PRIMARY KEY, hash text NOT NULL);
CREATE TABLE IF NOT EXISTS bare (
    id uuid PRIMARY KEY, kind text NOT NULL, lane text NOT NULL, due_at bigint NOT NULL,
    created_at bigint NOT NULL, created_by text NOT NULL, payload text NOT NULL
);
CREATE INDEX IF NOT EXISTS bare_due ON bare (lane, due_at);
CREATE TABLE IF NOT EXISTS bare_audit (
    id uuid PRIMARY KEY, at bigint NOT NULL, by text NOT NULL, verb text NOT NULL,
    subject_id text NOT NULL, after text NOT NULL
);
"""
KEY = "SELECT hash FROM bare_keys WHERE id = %s"
INSERT = "INSERT INTO bare VALUES (%s, 'noop', '1.0.default', %s, %s, %s, %s)"
AUDIT = "INSERT INTO bare_audit VALUES (%s, %s, %s, 'schedule', %s, %s)"


def ours() -> Any:
    app = Duetime(os.environ[URL])
    app.payload(Noop, kind="noop")
    return app.admin(admin_roles={"root"})


class NewRow(BaseModel):
    kind: str
    payload: dict[str, Any]
    delay: float


def bare() -> FastAPI:
    """A route that checks a key, inserts a row and an audit row in one transaction, and returns the
    row; and one that returns the same bytes to everybody."""
    idle: asyncio.Queue[psycopg.AsyncConnection] = asyncio.Queue()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opened = [await connect() for _ in range(CONNECTIONS)]
        for connection in opened:
            idle.put_nowait(connection)
        yield
        for connection in opened:
            await connection.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)

    @app.post("/api/actions")
    async def insert(row: NewRow, authorization: Annotated[str, Header()]) -> JSONResponse:
        connection = await idle.get()
        try:
            by = await _sender(connection, authorization)
            return JSONResponse(await _insert(connection, row, by), 201)
        finally:
            idle.put_nowait(connection)

    page = _page()

    @app.get("/api/actions")
    async def read() -> Response:
        return Response(page, media_type="application/json")

    return app


async def connect() -> psycopg.AsyncConnection:
    connection = await psycopg.AsyncConnection.connect(os.environ[URL], autocommit=True)
    connection.prepare_threshold = 0
    return connection


async def _sender(connection: psycopg.AsyncConnection, authorization: str) -> str:
    _, text, secret = authorization.split("_")
    found = await (await connection.execute(KEY, (UUID(text),))).fetchone()
    given = hashlib.sha256(secret.encode()).hexdigest()
    if found is None or not hmac.compare_digest(found[0], given):
        raise HTTPException(401)
    return f"key:{text}"


async def _insert(connection: psycopg.AsyncConnection, row: NewRow, by: str) -> dict[str, Any]:
    id_, now = uuid4(), 0
    payload = json.dumps(row.payload)
    made = {"id": str(id_), "kind": row.kind, "payload": row.payload, "created_by": by}
    async with connection.transaction():
        await connection.execute(INSERT, (id_, now, now, by, payload))
        await connection.execute(AUDIT, (uuid4(), now, by, str(id_), json.dumps(made)))
    return made


def _page() -> bytes:
    with open(os.environ[PAGE], "rb") as file:
        return file.read()
