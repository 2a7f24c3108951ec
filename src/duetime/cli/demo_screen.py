"""The output of the demo: a live screen in a terminal, plain lines anywhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from duetime.cli.demo_tally import ActionSnapshot, DemoTally
from duetime.cli.output import SafeOutput, print_lines, safe_cell
from duetime.cli.tables import COLORS, colored_state, outcome_text
from duetime.cli.times import milliseconds, now
from duetime.model.safe_text import safe_text
from duetime.model.state import Outcome, State

EXPLANATION = (
    "Each line is an action, newest first; the worker in this process runs them.",
    "charge-card fails and is retried, check-stock fails for good, track-parcel",
    "snoozes until the parcel is there, send-reminder is cancelled, publish-post",
    "rescheduled. running begins with the claim, 500 ms early, to start on time.",
    "count-stock and tidy-shelves are jobs: each of their ticks makes an action.",
    "Tidying takes longer than its interval, so every other tick is skipped.",
)
DRAINING = "Stopping: nothing new is scheduled, and running actions may finish."
LINES_AROUND_TABLE = 19
WIDE_COLUMNS = 100


class DemoView(Protocol):
    """Displays the demo."""

    def __enter__(self) -> DemoView: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, tally: DemoTally, changed: Sequence[ActionSnapshot]) -> None: ...

    def ending(self) -> None: ...

    def log(self, line: str) -> None: ...


class ScreenView:
    """A table that is redrawn in place."""

    def __init__(self, console: Console, url: str) -> None:
        self._console = console
        self._url = url
        self._log = ""
        self._hint = "Ctrl-C ends the demo."
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> ScreenView:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, tally: DemoTally, changed: Sequence[ActionSnapshot]) -> None:
        rows = max(self._console.height - LINES_AROUND_TABLE, 3)
        self._live.update(SafeOutput(self._picture(tally, rows)), refresh=True)

    def ending(self) -> None:
        self._hint = DRAINING

    def log(self, line: str) -> None:
        self._log = line

    def _picture(self, tally: DemoTally, rows: int) -> Group:
        wide = self._console.width >= WIDE_COLUMNS
        return Group(
            _line(f"[bold]duetime demo[/]  a small shop on {escape(safe_text(self._url))}"),
            Text(),
            snapshot_table(tally.newest(rows), rows, now(), ids=wide),
            Text(),
            totals(tally),
            runs_line(tally),
            jobs_line(tally, now()),
            _line(f"[dim]log: {escape(safe_text(self._log or '-'))}"),
            Text(),
            *(_line(f"[dim]{line}") for line in EXPLANATION),
            _line("[dim]See for yourself, in another terminal:"),
            _line(f"[dim]duetime actions list --url {escape(safe_text(self._url))}"),
            _line(f"[bold]{self._hint}"),
        )


def _line(markup: str) -> Text:
    """A line that is cut instead of wrapped: a second line would displace the others."""
    line = Text.from_markup(markup)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


class LineView:
    """Prints a line for each change."""

    def __enter__(self) -> LineView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def show(self, tally: DemoTally, changed: Sequence[ActionSnapshot]) -> None:
        at = now()
        clock = at.astimezone().strftime("%H:%M:%S.%f")[:-3]
        for snapshot in changed:
            a = snapshot.action
            text = f"{short_id(snapshot)}  {a.kind:<13} {a.state:<9}  {timing(snapshot, at):<18}"
            print_lines(f"{clock}  {text} attempt {a.attempt}  {note(snapshot)}".rstrip())

    def ending(self) -> None:
        print_lines(DRAINING)

    def log(self, line: str) -> None:
        print_lines(f"log: {line}", err=True)


def snapshot_table(
    snapshots: Sequence[ActionSnapshot], rows: int, at: datetime, *, ids: bool
) -> Table:
    """A table that is always `rows` high, so that the lines below it do not move."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    if ids:
        table.add_column("action", no_wrap=True, style="dim")
    table.add_column("kind", no_wrap=True, min_width=13)
    table.add_column("state", no_wrap=True, min_width=9)
    table.add_column("due", no_wrap=True, justify="right", min_width=16)
    table.add_column("attempt", no_wrap=True, justify="right")
    table.add_column("result or error", no_wrap=True, overflow="ellipsis", ratio=1)
    for snapshot in snapshots:
        a = snapshot.action
        cells = [safe_cell(a.kind), colored_state(a.state), Text(timing(snapshot, at))]
        cells += [Text(str(a.attempt or "")), note(snapshot)]
        table.add_row(*([Text(short_id(snapshot))] if ids else []), *cells)
    for _ in range(rows - len(snapshots)):
        table.add_row()
    return table


def short_id(snapshot: ActionSnapshot) -> str:
    """The end of the id: ids are ordered by time, so neighbours share their beginning."""
    return f"…{str(snapshot.action.id)[-6:]}"


def timing(snapshot: ActionSnapshot, at: datetime) -> str:
    """The time until the action is due; once it has run, how late its handler started."""
    action, last = snapshot.action, snapshot.last
    if action.state.finished:
        late = None if last is None else last.late_by
        return "" if late is None else f"late by {milliseconds(late)}"
    if action.due_at is None:
        return ""
    if action.due_at > at:
        return f"in {milliseconds(action.due_at - at)}"
    since = milliseconds(at - action.due_at)
    return f"since {since}" if action.state is State.running else f"late by {since}"


def note(snapshot: ActionSnapshot) -> Text:
    """The progress, result, error or last change of the action."""
    action, last = snapshot.action, snapshot.last
    match action.state:
        case State.running if action.progress is not None:
            return safe_cell(str(action.progress))
        case State.cancelled if action.cancelled_by is None:
            return safe_cell(outcome_text(action), style="bright_black")
        case State.cancelled:
            return safe_cell(f"cancelled by {action.cancelled_by}", style="bright_black")
        case State.scheduled if last is not None and last.outcome is Outcome.snoozed:
            return safe_cell("snoozed", style="cyan")
        case State.scheduled if action.error:
            return safe_cell(f"will be retried: {action.error}", style="yellow")
        case State.scheduled if action.modified_by is not None:
            return safe_cell(f"rescheduled by {action.modified_by}", style="cyan")
        case State.failed:
            return safe_cell(outcome_text(action), style="red")
        case _:
            return safe_cell(str(action.result or ""))


def totals(tally: DemoTally) -> Text:
    """The number of actions by state."""
    line = Text(f"{tally.actions} actions:", no_wrap=True)
    for state in State:
        line.append(f"  {tally.states[state]} {state}", style=COLORS[state])
    return line


def runs_line(tally: DemoTally) -> Text:
    """The number of retries and the lateness of runs."""
    line = Text(f"{tally.retries} retries; lateness of starts", no_wrap=True)
    for percent in (50, 99):
        late = tally.lateness(percent)
        line.append(f"  p{percent} {'-' if late is None else milliseconds(late)}", style="bold")
    return line


def jobs_line(tally: DemoTally, at: datetime) -> Text:
    """The jobs, and the time until their next ticks."""
    line = Text("jobs:", no_wrap=True, overflow="ellipsis")
    for job in tally.jobs:
        tick = at if job.next_due_at is None else max(job.next_due_at, at)
        line.append(safe_text(f"  {job.kind} ticks in "))
        line.append(milliseconds(tick - at), style="bold")
    return line


class OneLineLogHandler(logging.Handler):
    """Passes on each record's message without its traceback, which would disrupt the screen."""

    def __init__(self, view: DemoView) -> None:
        super().__init__(logging.WARNING)
        self._face = view

    def emit(self, record: logging.LogRecord) -> None:
        self._face.log(" ".join(record.getMessage().split()))


@contextmanager
def captured_logs(view: DemoView) -> Iterator[None]:
    """Send the log lines of duetime to the view while it is shown."""
    logger = logging.getLogger("duetime")
    handler, was = OneLineLogHandler(view), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = was
        logger.removeHandler(handler)
