"""A handler that leaves its connection in use: its work is not repeated, no other handler is
affected, and its slot becomes free."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from api.apps import Note
from duetime import Duetime, Fail, Retry, State
from duetime.errors import ConfigError
from duetime.model.actions.action import Action
from joining.test_transactional import bank, kind, kind_name, kind_url, run
from joining.test_transactional_own_commits import failed_for_good, raw
from joining.transaction_kinds import INSERT, HandlerTransaction, Kind, count_notes
from polling import until

__all__ = ["bank", "kind", "kind_name", "kind_url"]

BOTH = pytest.mark.parametrize("kind_name", ["psycopg", "async-psycopg"], indirect=True)
ASYNC = pytest.mark.parametrize("kind_name", ["async-psycopg"], indirect=True)
BLOCKING = pytest.mark.parametrize("kind_name", ["psycopg"], indirect=True)
THREE_RETRIES = Retry(delays=[0, 0, 0])
ENDLESS = "SELECT generate_series(1, 50000000), repeat('x', 200)"


async def refused_for_good(
    bank: Duetime, kind: Kind, work: Callable[[HandlerTransaction], Any]
) -> Action:
    kind.declare(bank, work, retry=THREE_RETRIES)
    finished = await run(bank, await bank.schedule(Note()))
    assert (finished.state, finished.attempt) == (State.failed, 1)
    assert "await the task" in str(finished.error)
    return finished


@BOTH
@pytest.mark.parametrize("sql", ["COPY notes TO STDOUT", "COPY notes (body) FROM STDIN"])
async def test_a_copy_hides_no_commit(bank: Duetime, kind: Kind, kind_url: str, sql: str) -> None:
    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        await raw(tx, "COMMIT; BEGIN")
        tx.lent.pgconn.send_query(sql.encode())
        raise RuntimeError("in the middle")

    await failed_for_good(bank, kind, work)
    assert count_notes(kind_url) == 1


@BOTH
async def test_a_stream_left_open_by_a_handler_that_returns_hides_no_commit(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    kept: list[Any] = []

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        await raw(tx, "COMMIT; BEGIN")
        kept.append(tx.lent.cursor().stream(ENDLESS))
        _ = next(kept[0]) if kind.blocking else await anext(kept[0])

    await refused_for_good(bank, kind, work)
    assert count_notes(kind_url) == 1


@ASYNC
@pytest.mark.parametrize("error", [RuntimeError("again"), Fail("for good")])
async def test_a_task_that_keeps_the_connection_does_not_cause_a_second_run(
    bank: Duetime, kind: Kind, kind_url: str, error: Exception
) -> None:
    async def read(tx: HandlerTransaction) -> None:
        async for _ in tx.lent.cursor().stream(ENDLESS):
            await asyncio.Event().wait()

    tasks: list[asyncio.Task[None]] = []

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        tasks.append(asyncio.create_task(read(tx)))
        await until(lambda: tx.lent.info.transaction_status == TransactionStatus.ACTIVE)
        raise error

    await refused_for_good(bank, kind, work)
    tasks[0].cancel()
    await asyncio.wait(tasks)
    assert count_notes(kind_url) == 0


@BLOCKING
async def test_a_thread_that_reads_on_is_interrupted_before_the_connection_is_read(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    """Two threads that read the same connection would crash the process."""
    errors: list[BaseException] = []

    def read(tx: HandlerTransaction, reading: threading.Event) -> None:
        try:
            for _ in tx.lent.cursor().stream(ENDLESS):
                reading.set()
        except psycopg.Error as error:
            errors.append(error)

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        reading = threading.Event()
        threading.Thread(target=read, args=(tx, reading)).start()
        reading.wait()
        raise RuntimeError("in the middle")

    kind.declare(bank, work, retry=THREE_RETRIES)
    finished = await run(bank, await bank.schedule(Note()))
    assert finished.state is State.failed
    await until(lambda: len(errors) == finished.attempt)
    assert count_notes(kind_url) == 0


@ASYNC
async def test_a_pipeline_that_is_left_hides_no_commit(
    bank: Duetime, kind: Kind, kind_url: str
) -> None:
    async def gather(tx: HandlerTransaction, entered: asyncio.Event) -> None:
        async with tx.lent.pipeline():
            await tx.execute("SELECT 1")
            entered.set()
            await asyncio.Event().wait()

    tasks: list[asyncio.Task[None]] = []

    async def work(tx: HandlerTransaction) -> None:
        await tx.execute(INSERT)
        await raw(tx, "COMMIT; BEGIN")
        entered = asyncio.Event()
        tasks.append(asyncio.create_task(gather(tx, entered)))
        await entered.wait()
        raise RuntimeError("in the middle")

    await refused_for_good(bank, kind, work)
    tasks[0].cancel()
    await asyncio.wait(tasks)
    assert count_notes(kind_url) == 1


@BOTH
@pytest.mark.parametrize("sql", [INSERT, "SELECT 1/0"])
async def test_a_task_that_comes_late_is_not_in_the_next_transaction(
    bank: Duetime, kind: Kind, kind_url: str, sql: str
) -> None:
    lent: list[Any] = []
    late: list[asyncio.Task[Any]] = []
    second = asyncio.Event()

    async def come_late(connection: Any) -> None:
        await second.wait()
        for call in ("execute", "stream", "copy", "executemany"):
            with pytest.raises(ConfigError, match="after the handler had ended"):
                await called(connection.cursor(), call, sql)

    async def work(tx: HandlerTransaction) -> None:
        lent.append(tx.lent)
        await tx.execute(INSERT)
        if len(lent) == 1:
            loop = bank_loop[0]
            context = contextvars.copy_context()
            loop.call_soon_threadsafe(
                lambda: late.append(loop.create_task(come_late(tx.lent), context=context))
            )
            return
        bank_loop[0].call_soon_threadsafe(second.set)
        await_late(late, bank_loop[0]) if kind.blocking else await asyncio.wait(late)

    bank_loop = [asyncio.get_running_loop()]
    kind.declare(bank, work, retry=Retry.none())
    assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
    assert (await run(bank, await bank.schedule(Note()))).state is State.succeeded
    await asyncio.gather(*late)
    assert lent[0] is lent[1]
    assert count_notes(kind_url) == 2


async def called(cursor: Any, name: str, sql: str) -> None:
    done = getattr(cursor, name)(sql, *([[]] if name == "executemany" else []))
    if asyncio.iscoroutine(done):
        await done


def await_late(tasks: list[asyncio.Task[Any]], loop: asyncio.AbstractEventLoop) -> None:
    async def wait_for_tasks() -> None:
        await asyncio.wait(tasks)

    asyncio.run_coroutine_threadsafe(wait_for_tasks(), loop).result()
