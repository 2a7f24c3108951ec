"""Tables of actions and runs for the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from pydantic_core import to_jsonable_python
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from duetime.cli.output import make_console, print_lines, safe_cell
from duetime.cli.times import milliseconds, shown
from duetime.model.actions.action import Action, Page, Run
from duetime.model.safe_text import safe_text
from duetime.model.state import Outcome, State

T = TypeVar("T")

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
WIDE_COLUMNS = 130


def print_page(page: Page[T], table: Callable[[Sequence[T], int], Table], nothing: str) -> None:
    """Print a page as a table that fits the window, and the option for the next page."""
    if page.items:
        console = make_console()
        console.print(table(page.items, console.width))
    else:
        print_lines(nothing)
    if page.next_cursor is not None:
        print_lines(f"for more: --cursor {page.next_cursor}")


def action_table(actions: Sequence[Action], at: datetime, *, tenants: bool, width: int) -> Table:
    """A table from which to choose an action to `show`; two lines per action in a narrow
    window."""
    wide = width >= WIDE_COLUMNS
    names = ["id", "state", "kind", *(["tenant"] if tenants else []), "due"]
    names += ["attempt", "result or error"] if wide else []
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, no_wrap=name in ("id", "state"), overflow="fold")
    for action in actions:
        row = _wide_row(action, at) if wide else _narrow_row(action, at)
        if tenants:
            row.insert(3, safe_cell(action.tenant or "-"))
        table.add_row(*row)
    return table


def _wide_row(action: Action, at: datetime) -> list[Text]:
    due, attempt = safe_cell(due_text(action, at)), Text(str(action.attempt))
    ending = safe_cell(cut(outcome_text(action), 80))
    return [
        Text(str(action.id)),
        colored_state(action.state),
        safe_cell(action.kind),
        due,
        attempt,
        ending,
    ]


def _narrow_row(action: Action, at: datetime) -> list[Text]:
    id_ = Text.assemble(str(action.id), "\n", (safe_text(cut(outcome_text(action), 36)), "dim"))
    state = colored_state(action.state)
    if action.attempt:
        state = Text.assemble(state, "\n", (f"attempt {action.attempt}", "dim"))
    return [id_, state, safe_cell(action.kind), Text(due_text(action, at, between="\n"))]


def due_text(action: Action, at: datetime, between: str = ", ") -> str:
    """When the action is due, or the action that it waits for."""
    if action.waits:
        return f"after {action.after}{between}{safe_text(str(action.on))}"
    return shown(action.due_at, at, between)


def field_table(action: Action, payload: object, at: datetime) -> Table:
    """All fields of an action that have a value."""
    values = {name: getattr(action, name) for name in FIELDS} | {"payload": payload}
    if action.state is not State.running:
        # The lease of the last run is over, even if its time is not.
        del values["lease_expires_at"]
    if action.losses == 0:
        del values["losses"]
    return value_table(values, at)


def value_table(values: Mapping[str, object], at: datetime) -> Table:
    """A table of names and values; values that are None are left out."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        if value is not None:
            table.add_row(name, _value(value, at))
    return table


def run_lines(runs: Sequence[Run], at: datetime) -> Group:
    """Runs, oldest first, each with its error or result."""
    lines: list[RenderableType] = [Text("\nruns" if runs else "\nno runs yet", style="bold")]
    for run in runs:
        lines.append(_run_line(run, at))
        ending = error_or_result(run.error, run.result)
        lines += [Padding(safe_cell(ending), (0, 0, 0, 4), expand=False)] if ending else []
        lines += [
            Padding(safe_cell(line, "dim"), (0, 0, 0, 4), expand=False) for line in _traceback(run)
        ]
    return Group(*lines)


def _traceback(run: Run) -> list[str]:
    return [] if run.traceback is None else run.traceback.split("\n")


def _run_line(run: Run, at: datetime) -> Text:
    parts: list[str | Text] = [f"attempt {run.attempt}", _outcome(run.outcome)]
    parts += [f"started {shown(run.started_at, at)}"] if run.started_at else []
    parts += [f"late by {milliseconds(run.late_by)}"] if run.late_by is not None else []
    if run.started_at and run.finished_at:
        parts.append(f"took {milliseconds(run.finished_at - run.started_at)}")
    parts += [f"on {run.worker}"] if run.worker else []
    return Text("  ").join(safe_cell(part) if isinstance(part, str) else part for part in parts)


def colored_state(state: State) -> Text:
    return Text(state, style=COLORS[state])


def _outcome(outcome: Outcome | None) -> Text:
    return Text("running" if outcome is None else outcome, style=OUTCOMES.get(outcome, ""))


def outcome_text(action: Action) -> str:
    """The error or the result of an action, on one line."""
    return error_or_result(action.error, action.result)


def error_or_result(error: str | None, result: object) -> str:
    return " ".join(error.split()) if error else "" if result is None else data_text(result)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def data_text(value: object) -> str:
    return json.dumps(to_jsonable_python(value), ensure_ascii=False)


def _value(value: object, at: datetime) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, State):
        return colored_state(value)
    if isinstance(value, datetime):
        return Text(shown(value, at))
    return safe_cell(data_text(value) if isinstance(value, dict | list) else str(value))


FIELDS = (
    "id",
    "kind",
    "state",
    "due_at",
    "expires_at",
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
