"""`duetime demo`: a shop in this process, live."""

from __future__ import annotations

import asyncio
import shlex
import signal
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from uuid import uuid4

import typer

from duetime.app import Duetime
from duetime.cli.argv import program
from duetime.cli.demo_screen import Face, Lines, Screen, captured_logs, runs_line, totals
from duetime.cli.demo_shop import QUEUE, JobNames, Visitors, job_names, make_shop, open_hours
from duetime.cli.demo_tally import Tally
from duetime.cli.tables import make_console
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.migrate_hint import masked

LOOK_EVERY = 0.1
SLOTS = 20


def demo(
    url: Annotated[
        str | None, typer.Option(help="A store to play on; default: SQLite in a temporary file.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="End by itself; default: Ctrl-C ends it.")
    ] = None,
) -> None:
    """Watch actions being scheduled, run, retried, snoozed, cancelled and moved, and jobs tick."""
    console = make_console()
    with nullcontext(url) if url else temporary_store() as place:
        app = make_shop(place)
        face: Face = Screen(console, masked(place)) if console.is_terminal else Lines()
        demo, jobs = f"demo-{uuid4()}", job_names(uuid4().hex[-6:])
        tally = Tally(app, demo, jobs)
        with face, captured_logs(face):
            asyncio.run(play(app, jobs, tally, face, seconds))
    typer.echo(f"ended: {totals(tally)}; {runs_line(tally)}")
    if url and not isinstance(app.store, MemoryStore):
        listing = f"{program()} actions list --queue {QUEUE} --url {shlex.quote(masked(url))}"
        typer.echo(f"its actions are kept: {listing}")


@contextmanager
def temporary_store() -> Iterator[str]:
    with TemporaryDirectory(prefix="duetime-demo-") as folder:
        yield f"sqlite:///{Path(folder) / 'demo.db'}"


async def play(
    app: Duetime, jobs: JobNames, tally: Tally, face: Face, seconds: float | None
) -> None:
    """Let visitors come and jobs tick while a worker runs, until a signal or the time ends it."""
    stop, over = asyncio.Event(), asyncio.Event()
    async with stopping(stop.set), app:
        watch = asyncio.create_task(_watch(tally, face, over))
        try:
            async with (
                app.worker(concurrency=SLOTS, queues=[QUEUE]),
                open_hours(app, jobs),
                _task(Visitors(app, tally.correlation_id).come()) as visitors,
            ):
                await _first({watch, visitors}, stop, seconds)
                face.ending()
        finally:
            over.set()
            await asyncio.wait({watch})
        face.show(tally, await tally.look())


async def _watch(tally: Tally, face: Face, over: asyncio.Event) -> None:
    """Show what changed, ten times a second, also while the worker drains."""
    while not over.is_set():
        changed = await tally.look()
        # Drawing takes milliseconds: in a thread it does not make the worker late.
        await asyncio.to_thread(face.show, tally, changed)
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), LOOK_EVERY)


async def _first(
    tasks: set[asyncio.Task[None]], stop: asyncio.Event, seconds: float | None
) -> None:
    """Wait for the end; a task that broke is one, and its error counts."""
    asked = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({asked, *tasks}, timeout=seconds, return_when=FIRST_COMPLETED)
    asked.cancel()
    for task in done:
        task.result()


@asynccontextmanager
async def _task(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """It goes on while we are inside, and no longer."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def stopping(stop: Callable[[], None]) -> AsyncIterator[None]:
    """The first signal asks to end; a second one is not waited for."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def asked() -> None:
        stop()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
