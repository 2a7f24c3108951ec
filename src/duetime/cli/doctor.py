"""`duetime doctor`: is the store well, and does the work get done?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from pydantic_core import to_jsonable_python

from duetime.app import Duetime
from duetime.cli.documents import emit
from duetime.cli.failures import one_line
from duetime.cli.loading import load_app
from duetime.cli.open_store import migrating, refuse_memory
from duetime.cli.options import Json, Url
from duetime.errors import DuetimeError
from duetime.model.health.checks import Finding, Level, Runs, is_usable, judge_database, judge_work
from duetime.model.health.stats import Stats
from duetime.model.tenant import ANY
from duetime.store.sql.migrate_hint import masked

COLORS = {Level.ok: "green", Level.warning: "yellow", Level.failure: "red"}


def doctor(
    app: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:APP]", help="The app whose store to look at, and whose kinds to know."
        ),
    ] = None,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Check a store and its work; exit 1 if anything fails. Changes no data, makes no tables."""
    if app is not None and url is not None:
        raise typer.BadParameter("give an app or --url, not both: an app knows its store")
    target = Duetime(url, migrate=False) if app is None else load_app(app)
    refuse_memory(target)
    runs = None if app is None else target.parts.handlers.runs
    try:
        findings, stats = examine(target, migrating(target, app, url), runs)
    finally:
        target.sync.close()
    if json_:
        emit(document(target, findings, stats))
    else:
        show(target, findings)
    if any(one.level is Level.failure for one in findings):
        raise typer.Exit(1)


def examine(app: Duetime, migrate: str, runs: Runs | None) -> tuple[list[Finding], Stats | None]:
    diagnosis = app.store.diagnose()
    findings = judge_database(diagnosis, migrate)
    if not is_usable(diagnosis):
        return findings, None
    try:
        stats = app.sync.stats(tenant=ANY)
    except DuetimeError as error:
        return [*findings, Finding("work", Level.failure, str(error))], None
    return [*findings, *judge_work(stats, runs)], stats


def show(app: Duetime, findings: Sequence[Finding]) -> None:
    typer.echo(masked(app.settings.url))
    for one in findings:
        level = typer.style(f"{one.level:<8}", fg=COLORS[one.level])
        told = one.figure if one.remedy is None else f"{one.figure}: {one.remedy}"
        typer.echo(f"{level} {one.check:<12} {one_line(told)}")
    typer.echo(summary(findings))


def summary(findings: Sequence[Finding]) -> str:
    failures, warnings = (
        sum(one.level is level for one in findings) for level in (Level.failure, Level.warning)
    )
    counts = [(failures, "failure"), (warnings, "warning")]
    bad = [f"{number} {word}{'s' if number > 1 else ''}" for number, word in counts if number]
    return "; ".join([*(["healthy"] if not failures else []), *bad])


def document(app: Duetime, findings: Sequence[Finding], stats: Stats | None) -> dict[str, Any]:
    healthy = all(one.level is not Level.failure for one in findings)
    document: dict[str, Any] = to_jsonable_python(
        {
            "store": masked(app.settings.url),
            "healthy": healthy,
            "findings": [asdict(one) for one in findings],
            "stats": None if stats is None else asdict(stats),
        }
    )
    return document
