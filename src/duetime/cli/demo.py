"""`duetime demo`: runs a small shop in this process and shows its actions live."""

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
from duetime.cli.argv import program_command
from duetime.cli.demo_screen import DemoView, LineView, ScreenView, captured_logs, runs_line, totals
from duetime.cli.demo_shop import QUEUE, JobNames, Visitors, job_names, make_shop, open_hours
from duetime.cli.demo_tally import DemoTally
from duetime.cli.output import make_console, print_lines
from duetime.model.store_url import mask_password
from duetime.store.memory.store import MemoryStore

REFRESH_SECONDS = 0.1
SLOTS = 20


def demo(
    url: Annotated[
        str | None, typer.Option(help="The demo's store; default: SQLite in a temporary file.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="How long to run; default: until Ctrl-C.")
    ] = None,
) -> None:
    """Watch actions that are scheduled, run, retried, snoozed, cancelled and moved, and jobs that
    tick."""
    console = make_console()
    with nullcontext(url) if url else temporary_store() as place:
        app = make_shop(place)
        view: DemoView = (
            ScreenView(console, mask_password(place)) if console.is_terminal else LineView()
        )
        demo, jobs = f"demo-{uuid4()}", job_names(uuid4().hex[-6:])
        tally = DemoTally(app, demo, jobs)
        with view, captured_logs(view):
            asyncio.run(play(app, jobs, tally, view, seconds))
    print_lines(f"finished: {totals(tally)}; {runs_line(tally)}")
    if url and not isinstance(app.store, MemoryStore):
        store = shlex.quote(mask_password(url))
        listing = f"{program_command()} actions list --queue {QUEUE} --url {store}"
        print_lines(f"the demo's actions stay in the store: {listing}")


@contextmanager
def temporary_store() -> Iterator[str]:
    with TemporaryDirectory(prefix="duetime-demo-") as folder:
        yield f"sqlite:///{Path(folder) / 'demo.db'}"


async def play(
    app: Duetime, jobs: JobNames, tally: DemoTally, view: DemoView, seconds: float | None
) -> None:
    """Run visitors, jobs and a worker until a signal arrives or the time is up."""
    stop, over = asyncio.Event(), asyncio.Event()
    async with stopping(stop.set), app:
        watch = asyncio.create_task(_watch(tally, view, over))
        try:
            async with (
                app.worker(concurrency=SLOTS, queues=[QUEUE]),
                open_hours(app, jobs),
                _task(Visitors(app, tally.correlation_id).come()) as visitors,
            ):
                await _first({watch, visitors}, stop, seconds)
                view.ending()
        finally:
            over.set()
            await asyncio.gather(watch, return_exceptions=True)
        view.show(tally, await tally.refresh())


async def _watch(tally: DemoTally, view: DemoView, over: asyncio.Event) -> None:
    """Show what changed ten times a second, also while the worker drains."""
    while not over.is_set():
        changed = await tally.refresh()
        # Drawing takes milliseconds: in a thread it does not delay the worker.
        await asyncio.to_thread(view.show, tally, changed)
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), REFRESH_SECONDS)


async def _first(
    tasks: set[asyncio.Task[None]], stop: asyncio.Event, seconds: float | None
) -> None:
    """Wait for the stop event, the time limit or a failed task, whose error is raised."""
    stopped = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({stopped, *tasks}, timeout=seconds, return_when=FIRST_COMPLETED)
    stopped.cancel()
    for task in done:
        task.result()


@asynccontextmanager
async def _task(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Run a coroutine for the duration of the `async with` block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def stopping(stop: Callable[[], None]) -> AsyncIterator[None]:
    """Call `stop` on the first SIGINT or SIGTERM; a second signal has its default effect."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def on_signal() -> None:
        stop()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
