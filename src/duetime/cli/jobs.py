"""`duetime jobs`: look at recurring jobs and change them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from duetime.api.arguments import MAX_RUNS
from duetime.api.job_arguments import DEFAULT_ALERT_AFTER
from duetime.api.job_reads import MAX_PREVIEW_TICKS
from duetime.app import Duetime
from duetime.cli import job_options, job_tables, tables
from duetime.cli.actions import build_payload
from duetime.cli.documents import (
    action_document,
    job_document,
    job_page_document,
    occurrence_document,
    payload_data,
)
from duetime.cli.loading import kind_app
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, By, Json, Name, Note, Tenant, Url, actor, scope
from duetime.cli.output import make_console, print_json, print_lines
from duetime.cli.ticks import tick_items, tick_lines
from duetime.cli.times import now, parse_instant
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.jobs.bulk import JobBulk
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.misfire import MisfirePolicy
from duetime.model.jobs.view import Job
from duetime.model.lane import Priority
from duetime.model.tenant import AMBIENT

cli = typer.Typer(no_args_is_help=True, help="Look at recurring jobs and change them.")

Until = Annotated[
    datetime | None,
    typer.Option(parser=parse_instant, metavar="ISO", help="Resume automatically at this instant."),
]


class BulkChoice(StrEnum):
    """The verbs of `jobs.bulk`."""

    pause = "pause"
    resume = "resume"


# How many occurrences `show` prints below the job's fields.
SHOWN_OCCURRENCES = 5


@cli.command("list")
def list_(
    state: job_options.OfState = None,
    enabled: job_options.Enabled = None,
    failing: job_options.Failing = None,
    declared: job_options.Declared = None,
    kind: job_options.OfKind = None,
    queue: job_options.OfQueue = None,
    due_before: job_options.DueBefore = None,
    q: job_options.Query = None,
    sort: job_options.Sort = "name",
    removed: Annotated[bool, typer.Option("--removed", help="Include removed jobs.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List jobs."""
    wanted: dict[str, Any] = {"state": state, "enabled": enabled, "failing": failing}
    wanted |= {"declared": declared, "kind": kind, "queue": queue, "due_before": due_before}
    wanted |= {"q": q, "sort": sort, "removed": removed}
    with open_app(app, url) as target:
        page = target.sync.jobs.list(
            **wanted, limit=limit, cursor=cursor, tenant=scope(tenant, any_tenant)
        )
    if json:
        print_json(job_page_document(target, page))
        return
    tables.print_page(
        page,
        lambda items, width: job_tables.job_table(items, now(), tenants=any_tenant, width=width),
        _nothing_listed(wanted),
    )


def _nothing_listed(wanted: dict[str, Any]) -> str:
    if {*wanted.values()} - {None, False, "name"}:
        return "no jobs match"
    return "no jobs: workers seed the jobs that code declares when they start"


@cli.command("show")
def show(
    name: Name,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show a job: its fields and its latest occurrences."""
    with open_app(app, url) as target:
        among = scope(tenant, any_tenant)
        job = target.sync.jobs.get(name, tenant=among)
        latest = target.sync.jobs.runs(name, limit=SHOWN_OCCURRENCES, tenant=among)
    if json:
        runs = [occurrence_document(occurrence) for occurrence in latest]
        print_json(job_document(target, job) | {"runs": runs})
        return
    console, payload = make_console(), payload_data(target, job.kind, job.payload)
    console.print(job_tables.job_fields(job, payload, now()))
    console.print()
    console.print(job_tables.occurrence_lines(latest, now()))


@cli.command("runs")
def runs(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=MAX_RUNS, help="How many.")] = 20,
    before: job_options.BeforeRun = None,
    outcome: job_options.OfOutcome = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show a job's occurrences, newest first: ticks, skipped ticks and triggers."""
    with open_app(app, url) as target:
        occurrences = target.sync.jobs.runs(
            name,
            limit=limit,
            before=job_options.to_before(before),
            outcome=outcome,
            tenant=scope(tenant, any_tenant),
        )
    if json:
        print_json({"items": [occurrence_document(occurrence) for occurrence in occurrences]})
        return
    make_console().print(job_tables.occurrence_lines(occurrences, now()))


@cli.command("preview")
def preview(
    name: Name,
    count: Annotated[int, typer.Option(min=1, max=MAX_PREVIEW_TICKS, help="How many ticks.")] = 5,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show a job's next ticks, as if it were neither paused nor retired."""
    with open_app(app, url) as target:
        among = scope(tenant, any_tenant)
        job = target.sync.jobs.get(name, tenant=among)
        ticks = target.sync.jobs.preview(name, count, tenant=among)
    if json:
        print_json(_ticks_document(job, ticks))
        return
    print_lines(job_tables.words_of(job), "")
    print_lines(*tick_lines(job_tables.rule_of(job), ticks))
    if len(ticks) < count:
        print_lines("there are no more ticks")


@cli.command("put")
def put(
    name: Name,
    recurrence: job_options.Recurs,
    kind: job_options.Kind,
    payload: job_options.Payload = "{}",
    tz: job_options.Zone = None,
    starts_at: job_options.StartsAt = None,
    ends_at: job_options.EndsAt = None,
    misfire: job_options.MisfireChoice = MisfirePolicy.once,
    misfire_limit: job_options.MisfireLimit = 100,
    misfire_window: job_options.MisfireWindow = None,
    misfire_after: job_options.MisfireAfter = None,
    overlap: job_options.Overlap = Overlap.skip,
    jitter: job_options.Jitter = None,
    alert_after: job_options.AlertAfter = DEFAULT_ALERT_AFTER,
    priority: job_options.Priority = Priority.normal,
    queue: job_options.Queue = None,
    retry_attempts: job_options.RetryAttempts = None,
    retry_delay: job_options.RetryDelay = None,
    timeout: job_options.Timeout = None,
    version: job_options.Version = None,
    tenant: Tenant = None,
    by: By = None,
    note: Note = None,
    app: App = None,
    json: Json = False,
) -> None:
    """Create a job that no code declares, or change one that was created so."""
    app = kind_app(app, f"the app that declares {kind!r}")
    span: dict[str, Any] = {"tz": tz, "starts_at": starts_at, "ends_at": ends_at}
    act: dict[str, Any] = {"note": note, "version": version}
    run: dict[str, Any] = {"queue": queue, "priority": priority, "timeout": timeout}
    run["retry"] = job_options.to_retry(retry_attempts, retry_delay)
    late: dict[str, Any] = {"misfire_after": misfire_after, "overlap": overlap}
    late |= {"misfire": job_options.to_misfire(misfire, misfire_limit, misfire_window)}
    with open_app(app, None) as target:
        data = build_payload(target, kind, payload)
        late |= {"jitter": jitter or 0, "alert_after": alert_after}
        late["tenant"] = AMBIENT if tenant is None else tenant
        rule, given = job_options.to_rule(recurrence), span | late | run | act
        job = target.sync.jobs.put(name, rule, payload=data, by=actor(target, by), **given)
    _report(target, job, "put", json=json)


@cli.command("pause")
def pause(
    name: Name,
    note: Annotated[str | None, typer.Option(help="The reason; shown with the job.")] = None,
    until: Until = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Stop a job's ticks until it is resumed."""
    with open_app(app, url) as target:
        job = target.sync.jobs.pause(
            name, note=note, until=until, tenant=scope(tenant, any_tenant), by=actor(target, by)
        )
    _report(target, job, "paused", json=json)


@cli.command("resume")
def resume(
    name: Name,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Let a paused job tick again, from now on."""
    with open_app(app, url) as target:
        job = target.sync.jobs.resume(
            name, tenant=scope(tenant, any_tenant), by=actor(target, by), note=note
        )
    _report(target, job, "resumed", json=json)


@cli.command("bulk")
def bulk(
    verb: Annotated[BulkChoice, typer.Argument(help="What to do with each job.")],
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The jobs' names.")],
    until: Until = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Pause or resume many jobs. Exits with 1 if one of them is not found."""
    with open_app(app, url) as target:
        done = target.sync.jobs.bulk(
            verb.value,
            names,
            by=actor(target, by),
            note=note,
            until=until,
            tenant=scope(tenant, any_tenant),
        )
    if json:
        print_json(asdict(done))
    else:
        print_lines(*_bulk_lines(verb, done))
    if done.not_found or done.unreadable:
        raise typer.Exit(1)


def _bulk_lines(verb: BulkChoice, done: JobBulk) -> list[str]:
    ended = {"pause": "paused", "resume": "resumed"}[verb]
    words = {ended: done.changed, "unchanged": done.unchanged, "not found": done.not_found}
    words["cannot be read here"] = done.unreadable
    return [f"{how}: {name}" for how, names in words.items() for name in names]


@cli.command("trigger")
def trigger(
    name: Name,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Run a job once now, even while it is paused."""
    with open_app(app, url) as target:
        action = target.sync.jobs.trigger(
            name, tenant=scope(tenant, any_tenant), by=actor(target, by), note=note
        )
    if json:
        print_json(action_document(target, action))
        return
    waits = f", after {action.after} has finished" if action.waits else ""
    print_lines(f"triggered: {name} {action.id}{waits}")


@cli.command("remove")
def remove(
    name: Name,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Remove a job; its history stays, and `restore` brings it back."""
    with open_app(app, url) as target:
        target.sync.jobs.remove(
            name, tenant=scope(tenant, any_tenant), by=actor(target, by), note=note
        )
    if json:
        print_json({"name": name, "removed": True})
        return
    print_lines(f"removed: {name}")


@cli.command("restore")
def restore(
    name: Name,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Bring a removed job back as it was."""
    with open_app(app, url) as target:
        job = target.sync.jobs.restore(
            name, tenant=scope(tenant, any_tenant), by=actor(target, by), note=note
        )
    _report(target, job, "restored", json=json)


@cli.command("backfill")
def backfill(
    name: Name,
    start: Annotated[
        datetime, typer.Argument(parser=parse_instant, metavar="START", help="ISO 8601, included.")
    ],
    end: Annotated[
        datetime, typer.Argument(parser=parse_instant, metavar="END", help="ISO 8601, excluded.")
    ],
    run: Annotated[bool, typer.Option("--run", help="Create the occurrences.")] = False,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Create the missing occurrences of past ticks. Without --run, only show those ticks."""
    with open_app(app, url) as target:
        among = scope(tenant, any_tenant)
        job = target.sync.jobs.get(name, tenant=among)
        ticks = target.sync.jobs.backfill(
            name, start, end, dry_run=not run, tenant=among, by=actor(target, by), note=note
        )
    if json:
        print_json(_ticks_document(job, ticks) | {"dry_run": not run})
        return
    if ticks:
        print_lines(*tick_lines(job_tables.rule_of(job), ticks))
    created = "created" if run else "would be created: give --run to create them"
    print_lines(f"{len(ticks)} occurrence{'' if len(ticks) == 1 else 's'} of {name} {created}")


def _ticks_document(job: Job, ticks: list[datetime]) -> dict[str, object]:
    rule = job_tables.rule_of(job)
    words = {"recurrence": job.recurrence, "tz": job.tz, "words": rule.describe()}
    return {"name": job.name, **words, "ticks": tick_items(rule, ticks)}


def _report(app: Duetime, job: Job, done: str, *, json: bool) -> None:
    if json:
        print_json(job_document(app, job))
        return
    at = now()
    next_ = f"next {job_tables.next_text(job, at)}" if job.next_due_at else "no next tick"
    print_lines(f"{done}: {job.name}, {job_tables.words_of(job)}; {next_}")
