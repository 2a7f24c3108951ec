"""Tables of jobs and their occurrences, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from duetime.cli.output import safe_cell
from duetime.cli.tables import COLORS, OUTCOMES, WIDE_COLUMNS, cut, error_or_result, value_table
from duetime.cli.times import milliseconds, shown
from duetime.errors import DuetimeError
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.jobs.view import Job, JobState
from duetime.model.recurrence.base import Recurrence
from duetime.model.recurrence.serialize import from_text
from duetime.model.safe_text import safe_text
from duetime.model.state import Outcome
from duetime.model.validation import amount

STATES = {
    JobState.scheduled: "cyan",
    JobState.running: "yellow",
    JobState.paused: "magenta",
    JobState.retired: "bright_black",
}
# Characters of a rule that a list shows; `show` prints the whole rule.
MAX_RULE_LENGTH = 60


def job_table(jobs: Sequence[Job], at: datetime, *, tenants: bool, width: int) -> Table:
    """A table from which to choose a job to `show`; two lines per job in a narrow window."""
    wide = width >= WIDE_COLUMNS
    names = ["name", "state", *(["tenant"] if tenants else []), *(["recurrence"] if wide else [])]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in [*names, "next", "last"]:
        table.add_column(name, no_wrap=name == "state", overflow="fold")
    for job in jobs:
        row = _wide_row(job, at) if wide else _narrow_row(job, at)
        if tenants:
            row.insert(2, safe_cell(job.tenant or "-"))
        table.add_row(*row)
    return table


def _wide_row(job: Job, at: datetime) -> list[Text]:
    words = safe_cell(cut(words_of(job), MAX_RULE_LENGTH))
    return [safe_cell(job.name), state_text(job), words, Text(next_text(job, at)), _last(job)]


def _narrow_row(job: Job, at: datetime) -> list[Text]:
    name = Text.assemble(
        safe_text(job.name), "\n", (safe_text(cut(words_of(job), MAX_RULE_LENGTH)), "dim")
    )
    return [name, state_text(job), Text(next_text(job, at, between="\n")), _last(job)]


def rule_of(job: Job) -> Recurrence:
    return from_text(job.recurrence, job.tz)


def words_of(job: Job) -> str:
    """The rule in words, or its text if it cannot be read here, for example if its zone is
    unknown."""
    try:
        return rule_of(job).describe()
    except DuetimeError:
        return f"{job.recurrence}, {job.tz}"


def state_text(job: Job) -> Text:
    return Text("removed", style="red") if job.removed else Text(job.state, style=STATES[job.state])


def next_text(job: Job, at: datetime, between: str = ", ") -> str:
    """The next tick; during a pause with an end, the first tick after the pause."""
    return shown(job.next_due_at, at, between)


def _last(job: Job) -> Text:
    """The outcome of the last occurrence, and how many failed in a row."""
    if job.last_outcome is None:
        return Text("-")
    text = Text(job.last_outcome, style=OUTCOMES.get(job.last_outcome, ""))
    if not job.consecutive_failures:
        return text
    failed = job.last_outcome is Outcome.failed
    return text.append(f", {job.consecutive_failures} {'in a row' if failed else 'failed before'}")


def job_fields(job: Job, payload: object, at: datetime) -> Table:
    """All fields of a job that have a value."""
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    # The state and the actor already show these.
    del values["enabled"], values["removed"], values["failing"]
    values |= {"recurrence": words_of(job), "payload": payload, "state": state_text(job)}
    values["jitter"] = amount(job.jitter.total_seconds()) if job.jitter else None
    late = job.misfire_after
    values["misfire_after"] = None if late is None else amount(late.total_seconds())
    limit = job.timeout
    values["timeout"] = None if limit is None else amount(limit.total_seconds())
    values["declared"] = "in code" if job.declared else "by put"
    return value_table(values, at)


def occurrence_lines(runs: Sequence[Occurrence], at: datetime) -> Group:
    """Occurrences, newest first, each with the reason if it was skipped or failed."""
    lines: list[RenderableType] = [Text("runs" if runs else "no runs yet", style="bold")]
    for run in runs:
        lines.append(_occurrence_line(run, at))
        reason = error_or_result(run.error, None)
        lines += [Padding(safe_cell(reason), (0, 0, 0, 4), expand=False)] if reason else []
    return Group(*lines)


def _occurrence_line(run: Occurrence, at: datetime) -> Text:
    what = "trigger" if run.tick is None else f"tick {shown(run.tick, at)}"
    style = COLORS[run.state] if run.outcome is None else OUTCOMES.get(run.outcome, "bright_black")
    parts = [Text(what), Text(run.outcome or run.state, style=style)]
    parts += [Text(f"late by {milliseconds(run.late_by)}")] if run.late_by is not None else []
    parts += [Text(f"took {milliseconds(run.duration)}")] if run.duration is not None else []
    parts += [Text(f"retries {run.retries}")] if run.retries else []
    parts += [safe_cell(f"by {run.started_by}"), Text(str(run.action_id), style="dim")]
    return Text("  ").join(parts)
