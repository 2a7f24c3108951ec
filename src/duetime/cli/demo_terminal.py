"""The demo in a terminal: a small shop whose actions are shown live, as a screen or as lines."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from uuid import uuid4

from duetime.app import Duetime
from duetime.cli.demo_run import first_of, on_signal, running
from duetime.cli.demo_screen import DemoView, LineView, ScreenView, captured_logs, runs_line, totals
from duetime.cli.demo_shop import QUEUE, JobNames, Visitors, job_names, make_shop, open_hours
from duetime.cli.demo_tally import DemoTally
from duetime.cli.output import make_console, print_lines
from duetime.model.store_url import mask_password

REFRESH_SECONDS = 0.1
SLOTS = 20


def show_in_terminal(url: str, seconds: float | None) -> None:
    """Run the shop and show its actions until Ctrl-C, or for so many seconds."""
    console, app = make_console(), make_shop(url)
    view: DemoView = ScreenView(console, mask_password(url)) if console.is_terminal else LineView()
    demo, jobs = f"demo-{uuid4()}", job_names(uuid4().hex[-6:])
    tally = DemoTally(app, demo, jobs)
    with view, captured_logs(view):
        asyncio.run(play(app, jobs, tally, view, seconds))
    print_lines(f"finished: {totals(tally)}; {runs_line(tally)}")


async def play(
    app: Duetime, jobs: JobNames, tally: DemoTally, view: DemoView, seconds: float | None
) -> None:
    """Run visitors, jobs and a worker until a signal arrives or the time is up."""
    stop, over = asyncio.Event(), asyncio.Event()
    async with on_signal(stop.set), app, running(stop.wait()) as stopped:
        watch = asyncio.create_task(_watch(tally, view, over))
        try:
            async with (
                app.worker(concurrency=SLOTS, queues=[QUEUE]),
                open_hours(app, jobs),
                running(Visitors(app, tally.correlation_id).come()) as visitors,
            ):
                await first_of({stopped, watch, visitors}, seconds)
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
