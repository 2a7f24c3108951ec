"""Tables for people."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime

from pydantic_core import to_jsonable_python
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duetime.cli.times import milliseconds, shown
from duetime.model.action import Action, Run
from duetime.model.state import Outcome, State

COLORS = {
    State.scheduled: "cyan",
    State.running: "yellow",
    State.succeeded: "green",
    State.failed: "red",
    State.cancelled: "bright_black",
}
OUTCOMES: dict[Outcome | None, str] = {
    Outcome.succeeded: "green",
    Outcome.failed: "red",
    Outcome.retried: "yellow",
    Outcome.snoozed: "cyan",
    Outcome.lost: "red",
}
# A pipe has no width: whoever reads it there wants whole lines.
PIPE_WIDTH = 250
# What a list tells of a result or an error; `show` tells all.
GLANCE = 72


def make_console() -> Console:
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=PIPE_WIDTH if piped else None, highlight=False)


def action_table(actions: Sequence[Action], at: datetime, *, tenants: bool) -> Table:
    """One line per action: what one needs to pick the one to `show`."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    # What one copies or scans for stays whole; the rest wraps where the window is narrow.
    table.add_column("id", no_wrap=True, min_width=36)
    table.add_column("state", no_wrap=True, min_width=9)
    table.add_column("kind", overflow="fold")
    if tenants:
        table.add_column("tenant", overflow="fold")
    table.add_column("due", min_width=8)
    table.add_column("attempt", justify="right", min_width=3, overflow="ellipsis")
    table.add_column("result or error", overflow="fold")
    for action in actions:
        cells: list[str | Text] = [str(action.id), colored_state(action.state), Text(action.kind)]
        cells += [Text(action.tenant or "-")] if tenants else []
        cells += [shown(action.due_at, at), str(action.attempt), Text(_cut(ending_of(action)))]
        table.add_row(*cells)
    return table


def field_table(action: Action, payload: object, at: datetime) -> Table:
    """All that is known of one action; what it does not have is left out."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    values = {name: getattr(action, name) for name in FIELDS} | {"payload": payload}
    for name, value in values.items():
        if value is not None and not (name == "losses" and value == 0):
            table.add_row(name, _value(value, at))
    return table


def run_table(runs: Sequence[Run], at: datetime) -> Table:
    """One line per run, oldest first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("attempt", "outcome", "started", "late by", "took", "worker"):
        table.add_column(
            name, justify="right" if name in ("attempt", "late by", "took") else "left"
        )
    table.add_column("result or error", overflow="fold")
    for run in runs:
        took = run.finished_at - run.started_at if run.finished_at and run.started_at else None
        table.add_row(
            str(run.attempt),
            _outcome(run.outcome),
            shown(run.started_at, at),
            "-" if run.late_by is None else milliseconds(run.late_by),
            "-" if took is None else milliseconds(took),
            Text(run.worker or "-"),
            Text(_either(run.error, run.result)),
        )
    return table


def colored_state(state: State) -> Text:
    return Text(state, style=COLORS[state])


def _outcome(outcome: Outcome | None) -> Text:
    return Text("running" if outcome is None else outcome, style=OUTCOMES.get(outcome, ""))


def ending_of(action: Action) -> str:
    """The error, or the result, on one line."""
    return _either(action.error, action.result)


def _either(error: str | None, result: object) -> str:
    return " ".join(error.split()) if error else "" if result is None else data_text(result)


def _cut(text: str) -> str:
    return text if len(text) <= GLANCE else f"{text[: GLANCE - 1]}…"


def data_text(value: object) -> str:
    return json.dumps(to_jsonable_python(value), ensure_ascii=False)


def _value(value: object, at: datetime) -> Text:
    if isinstance(value, State):
        return colored_state(value)
    if isinstance(value, datetime):
        return Text(shown(value, at))
    return Text(data_text(value) if isinstance(value, dict | list) else str(value))


FIELDS = (
    "id",
    "kind",
    "state",
    "due_at",
    "payload",
    "result",
    "error",
    "progress",
    "attempt",
    "losses",
    "queue",
    "priority",
    "correlation_id",
    "key",
    "tenant",
    "after",
    "on",
    "job",
    "tick",
    "worker",
    "lease_expires_at",
    "created_at",
    "created_by",
    "modified_at",
    "modified_by",
    "cancelled_by",
    "finished_at",
)
