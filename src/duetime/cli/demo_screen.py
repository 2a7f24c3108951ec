"""What the demo shows: a live screen in a terminal, plain lines anywhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Protocol

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from duetime.cli.demo_tally import Story, Tally
from duetime.cli.tables import COLORS, colored_state, ending_of
from duetime.cli.times import milliseconds, now
from duetime.model.state import Outcome, State

EXPLANATION = (
    "Each line is an action, newest first; the worker in this process runs them.",
    "charge-card fails and is retried, check-stock fails for good, track-parcel",
    "snoozes until the parcel is there, send-reminder is cancelled, publish-post",
    "rescheduled. running begins with the claim, 500 ms early, to start on time.",
    "count-stock and tidy-shelves are jobs: each of their ticks makes an action.",
    "Tidying takes longer than until its next tick, which is therefore skipped.",
)
DRAINING = "Ending: nobody comes any more, and what is running may finish."
AROUND_THE_TABLE = 19
WIDE = 100


class Face(Protocol):
    """Where the demo is seen."""

    def __enter__(self) -> Face: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, tally: Tally, changed: Sequence[Story]) -> None: ...

    def ending(self) -> None: ...

    def log(self, line: str) -> None: ...


class Screen:
    """A table that moves."""

    def __init__(self, console: Console, url: str) -> None:
        self._console = console
        self._url = url
        self._log = ""
        self._hint = "Ctrl-C ends the demo."
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, tally: Tally, changed: Sequence[Story]) -> None:
        rows = max(self._console.height - AROUND_THE_TABLE, 3)
        self._live.update(self._picture(tally, rows), refresh=True)

    def ending(self) -> None:
        self._hint = DRAINING

    def log(self, line: str) -> None:
        self._log = line

    def _picture(self, tally: Tally, rows: int) -> Group:
        wide = self._console.width >= WIDE
        return Group(
            _line(f"[bold]duetime demo[/]  a small shop on {escape(self._url)}"),
            Text(),
            story_table(tally.newest(rows), rows, now(), ids=wide),
            Text(),
            totals(tally),
            runs_line(tally),
            jobs_line(tally, now()),
            _line(f"[dim]log: {escape(self._log or '-')}"),
            Text(),
            *(_line(f"[dim]{line}") for line in EXPLANATION),
            _line("[dim]Look yourself, from another terminal:"),
            _line(f"[dim]duetime actions list --url {escape(self._url)}"),
            _line(f"[bold]{self._hint}"),
        )


def _line(markup: str) -> Text:
    """One line whatever the width: a second one would push the others away."""
    line = Text.from_markup(markup)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


class Lines:
    """A line for every change."""

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def show(self, tally: Tally, changed: Sequence[Story]) -> None:
        at = now()
        clock = at.astimezone().strftime("%H:%M:%S.%f")[:-3]
        for story in changed:
            a = story.action
            told = f"{short_id(story)}  {a.kind:<13} {a.state:<9}  {timing(story, at):<18}"
            typer.echo(f"{clock}  {told} attempt {a.attempt}  {note(story)}".rstrip())

    def ending(self) -> None:
        typer.echo(DRAINING)

    def log(self, line: str) -> None:
        typer.echo(f"log: {line}", err=True)


def story_table(stories: Sequence[Story], rows: int, at: datetime, *, ids: bool) -> Table:
    """Always as high as `rows`, so that nothing below it jumps."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    if ids:
        table.add_column("action", no_wrap=True, style="dim")
    table.add_column("kind", no_wrap=True, min_width=13)
    table.add_column("state", no_wrap=True, min_width=9)
    table.add_column("due", no_wrap=True, justify="right", min_width=16)
    table.add_column("attempt", no_wrap=True, justify="right")
    table.add_column("result or error", no_wrap=True, overflow="ellipsis", ratio=1)
    for story in stories:
        a = story.action
        cells = [Text(a.kind), colored_state(a.state), Text(timing(story, at))]
        cells += [Text(str(a.attempt or "")), note(story)]
        table.add_row(*([Text(short_id(story))] if ids else []), *cells)
    for _ in range(rows - len(stories)):
        table.add_row()
    return table


def short_id(story: Story) -> str:
    """Its end: ids are ordered by time, so neighbours begin alike."""
    return f"…{str(story.action.id)[-6:]}"


def timing(story: Story, at: datetime) -> str:
    """How long until it is due; once it has run, how late its handler started."""
    action, last = story.action, story.last
    if action.state.finished:
        late = None if last is None else last.late_by
        return "" if late is None else f"late by {milliseconds(late)}"
    if action.due_at is None:
        return ""
    if action.due_at > at:
        return f"in {milliseconds(action.due_at - at)}"
    since = milliseconds(at - action.due_at)
    return f"since {since}" if action.state is State.running else f"late by {since}"


def note(story: Story) -> Text:
    """What is worth saying about it now."""
    action, last = story.action, story.last
    match action.state:
        case State.running if action.progress is not None:
            return Text(str(action.progress))
        case State.cancelled if action.cancelled_by is None:
            return Text(ending_of(action), style="bright_black")
        case State.cancelled:
            return Text(f"cancelled by {action.cancelled_by}", style="bright_black")
        case State.scheduled if last is not None and last.outcome is Outcome.snoozed:
            return Text("snoozed", style="cyan")
        case State.scheduled if action.error:
            return Text(f"will be retried: {action.error}", style="yellow")
        case State.scheduled if action.modified_by is not None:
            return Text(f"rescheduled by {action.modified_by}", style="cyan")
        case State.failed:
            return Text(ending_of(action), style="red")
        case _:
            return Text(str(action.result or ""))


def totals(tally: Tally) -> Text:
    """All actions by state."""
    line = Text(f"{tally.actions} actions:", no_wrap=True)
    for state in State:
        line.append(f"  {tally.states[state]} {state}", style=COLORS[state])
    return line


def runs_line(tally: Tally) -> Text:
    """How their runs went."""
    line = Text(f"{tally.retries} retries; lateness of starts", no_wrap=True)
    for percent in (50, 99):
        late = tally.lateness(percent)
        line.append(f"  p{percent} {'-' if late is None else milliseconds(late)}", style="bold")
    return line


def jobs_line(tally: Tally, at: datetime) -> Text:
    """Each job, and when its next tick comes."""
    line = Text("jobs:", no_wrap=True, overflow="ellipsis")
    for job in tally.jobs:
        tick = at if job.next_due_at is None else max(job.next_due_at, at)
        line.append(f"  {job.kind} ticks in ").append(milliseconds(tick - at), style="bold")
    return line


class OneLine(logging.Handler):
    """Hands the message of each record on, without its traceback: no screen is torn."""

    def __init__(self, face: Face) -> None:
        super().__init__(logging.WARNING)
        self._face = face

    def emit(self, record: logging.LogRecord) -> None:
        self._face.log(" ".join(record.getMessage().split()))


@contextmanager
def captured_logs(face: Face) -> Iterator[None]:
    """Send what duetime logs to the face, for as long as it is shown."""
    logger = logging.getLogger("duetime")
    handler, was = OneLine(face), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = was
        logger.removeHandler(handler)
