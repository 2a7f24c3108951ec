"""Trials over HTTP: a server in a process of its own, and many clients that keep their
connections."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from uuid import uuid4

import psycopg
from trial import Goal, Spot, Trial
from web_servers import PAGE, TABLES, URL

from duetime.app import Duetime
from duetime.bench.draining import CLIENTS
from duetime.bench.figures import RoundFigures
from duetime.bench.work import Noop, make_app
from servers import free_port

Program = Literal["ours", "bare"]
POST, GET = "POST /s", "GET /s"
BODY = json.dumps({"kind": "noop", "payload": {"n": 1}, "delay": 3600}).encode()
PAGE_PATH = "/api/actions?limit=50"
PAGE_SIZE = 50
WARM_UP = 0.1
STARTUP_SECONDS = 60.0


async def schedule(spot: Spot) -> RoundFigures:
    async with make_app(**spot.server_place) as app:
        key = (await app.api_keys.create("bench", ["root"])).key
        async with served("ours", spot) as port:
            return {POST: await rate(port, "POST", "/api/actions", key, spot.count(4_000))}


async def insert(spot: Spot) -> RoundFigures:
    key = bare_key(spot.url)
    async with served("bare", spot) as port:
        return {POST: await rate(port, "POST", "/api/actions", key, spot.count(4_000))}


async def read_page(spot: Spot) -> RoundFigures:
    async with filled(spot) as app:
        key = (await app.api_keys.create("bench", ["root"])).key
        async with served("ours", spot) as port:
            return {GET: await rate(port, "GET", PAGE_PATH, key, spot.count(2_000))}


async def verb_and_bytes(spot: Spot) -> RoundFigures:
    """A page takes as long as the Python verb, and a bare route that returns as many bytes, one
    after the other."""
    async with filled(spot) as app:
        verbs = await verb_rate(app, spot.count(2_000))
        key = (await app.api_keys.create("bench", ["root"])).key
        async with served("ours", spot) as port:
            page = await one_answer(port, "GET", PAGE_PATH, key)
    async with served("bare", spot, page) as port:
        routes = await rate(port, "GET", PAGE_PATH, key, spot.count(2_000))
    return {GET: 1 / (1 / verbs + 1 / routes)}


@asynccontextmanager
async def filled(spot: Spot) -> AsyncIterator[Duetime]:
    async with make_app(**spot.server_place) as app:
        await app.schedule_many(app.request(Noop(n), delay=3600) for n in range(1_000))
        yield app


async def verb_rate(app: Duetime, count: int) -> float:
    numbers = iter(range(count))

    async def client() -> None:
        for _ in numbers:
            await app.find(limit=PAGE_SIZE)

    await app.find(limit=PAGE_SIZE)
    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return count / (time.perf_counter() - began)


def bare_key(url: str) -> str:
    """Make the tables of the bare route, with a key, and return the key."""
    id_, secret = uuid4(), "s3cret"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLES)
        digest = hashlib.sha256(secret.encode()).hexdigest()
        connection.execute("INSERT INTO bare_keys VALUES (%s, %s)", (id_, digest))
    return f"dt_{id_}_{secret}"


# -- a server and its clients ----------------------------------------------------------------------


@asynccontextmanager
async def served(program: Program, spot: Spot, page: bytes = b"{}") -> AsyncIterator[int]:
    """Serve a program by uvicorn, and yield its port."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--factory", f"web_servers:{program}"]
    command += ["--port", str(port), "--no-access-log", "--log-level", "warning"]
    with TemporaryDirectory(prefix="duetime-bench-") as folder:
        file = Path(folder) / "page.json"
        file.write_bytes(page)
        environment = {**os.environ, URL: spot.url, PAGE: str(file)}
        process = subprocess.Popen(command, cwd=Path(__file__).parent, env=environment)  # noqa: ASYNC220, S603
        try:
            await until_open(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(30)


async def until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    while time.monotonic() - began < STARTUP_SECONDS and process.poll() is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise RuntimeError("the server did not start")


async def rate(port: int, method: str, path: str, key: str, count: int) -> float:
    """Return how many requests a second are answered to many clients at once."""
    await sent(port, method, path, key, round(count * WARM_UP))
    began = time.perf_counter()
    await sent(port, method, path, key, count)
    return count / (time.perf_counter() - began)


async def sent(port: int, method: str, path: str, key: str, count: int) -> None:
    numbers, request = iter(range(count)), as_bytes(method, path, key)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in numbers:
            await answer(reader, writer, request)
        writer.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def one_answer(port: int, method: str, path: str, key: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = await answer(reader, writer, as_bytes(method, path, key))
    writer.close()
    return body


def as_bytes(method: str, path: str, key: str) -> bytes:
    body = BODY if method == "POST" else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> bytes:
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if head[9:10] != b"2":
        raise RuntimeError(f"the server answered {head[:40]!r}")
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


SCHEDULE = Trial(
    "http-schedule",
    "POST /api/actions, 32 clients at once",
    {"duetime": schedule, "bare route": insert},
    [
        Goal(
            "0.5 x a bare route that checks a key and inserts two rows",
            ("duetime", POST),
            0.5,
            ("bare route", POST),
        )
    ],
)
PAGES = Trial(
    "http-page",
    "GET of a page of 50 actions, 32 clients at once",
    {"duetime": read_page, "verb and bare route": verb_and_bytes},
    [
        Goal(
            "0.5 x the Python verb and a bare route that returns the bytes",
            ("duetime", GET),
            0.5,
            ("verb and bare route", GET),
        )
    ],
)
TRIALS = [SCHEDULE, PAGES]
