"""`duetime doctor`: checks the health of a store and whether its work gets done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer
from pydantic_core import to_jsonable_python
from rich.text import Text

from duetime.app import Duetime
from duetime.cli.failures import one_line
from duetime.cli.loading import either_app, load_app, named_app
from duetime.cli.open_store import migrate_command_for, refuse_memory
from duetime.cli.options import App, AppArgument, Json, Url
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.errors import DuetimeError
from duetime.model.health.checks import (
    CheckResult,
    HasHandler,
    Level,
    is_usable,
    judge_database,
    judge_work,
)
from duetime.model.health.stats import Stats
from duetime.model.store_url import mask_password
from duetime.model.tenant import ANY
from duetime.telemetry.diagnosis import describe_telemetry

COLORS = {Level.ok: "green", Level.warning: "yellow", Level.failure: "red"}


def doctor(
    app: AppArgument = None,
    app_option: App = None,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Check a store and its work; exit 1 if a check fails. Changes no data, creates no tables."""
    app = either_app(app, app_option)
    if app is not None and url is not None:
        raise typer.BadParameter("give an app or --url, not both: an app has its own store")
    app = named_app(app, url)
    target = Duetime(url, migrate=False) if app is None else load_app(app)
    refuse_memory(target)
    runs = None if app is None else target.runtime.handlers.runs
    try:
        findings, stats = examine(target, migrate_command_for(target, app, url), runs)
    finally:
        target.sync.close()
    if json_:
        print_json(document(target, findings, stats))
    else:
        show(target, findings)
    if any(finding.level is Level.failure for finding in findings):
        raise typer.Exit(1)


def examine(
    app: Duetime, migrate: str, runs: HasHandler | None
) -> tuple[list[CheckResult], Stats | None]:
    diagnosis = app.store.diagnose()
    findings = judge_database(diagnosis, migrate)
    telemetry = CheckResult("telemetry", Level.ok, describe_telemetry())
    if not is_usable(diagnosis):
        return [*findings, telemetry], None
    try:
        stats = app.sync.stats(tenant=ANY)
    except DuetimeError as error:
        return [*findings, telemetry, CheckResult("work", Level.failure, str(error))], None
    return [*findings, *judge_work(stats, runs), telemetry], stats


def show(app: Duetime, findings: Sequence[CheckResult]) -> None:
    console = make_console()
    print_lines(mask_password(app.settings.url))
    for finding in findings:
        level = Text(f"{finding.level:<8}", style=COLORS[finding.level])
        text = finding.figure if finding.remedy is None else f"{finding.figure}: {finding.remedy}"
        line = Text.assemble(level, f" {finding.check:<12} ", safe_cell(one_line(text)))
        console.print(line, soft_wrap=True)
    print_lines(summary(findings))


def summary(findings: Sequence[CheckResult]) -> str:
    failures, warnings = (
        sum(finding.level is level for finding in findings)
        for level in (Level.failure, Level.warning)
    )
    counts = [(failures, "failure"), (warnings, "warning")]
    bad = [f"{number} {word}{'s' if number > 1 else ''}" for number, word in counts if number]
    return "; ".join([*(["healthy"] if not failures else []), *bad])


def document(app: Duetime, findings: Sequence[CheckResult], stats: Stats | None) -> dict[str, Any]:
    healthy = all(finding.level is not Level.failure for finding in findings)
    document: dict[str, Any] = to_jsonable_python(
        {
            "store": mask_password(app.settings.url),
            "healthy": healthy,
            "findings": [asdict(finding) for finding in findings],
            "stats": None if stats is None else asdict(stats),
        }
    )
    return document
