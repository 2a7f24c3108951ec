"""`duetime stats`: the figures of a store or of one tenant, for people and for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta

from pydantic_core import to_jsonable_python
from rich.table import Table

from duetime.app import Duetime
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, Json, Tenant, Url, scope
from duetime.cli.output import make_console, print_json, print_lines, safe_cell
from duetime.cli.tables import value_table
from duetime.cli.times import milliseconds, shown
from duetime.model.health.series import MetricName
from duetime.model.health.stats import MOST_FINISHED, LivingWorker, Stats
from duetime.model.store_url import mask_password
from duetime.model.tenant import Ambient, Scope
from duetime.model.validation import amount

HOUR_SECONDS = 3600
HOUR_METRICS: Sequence[MetricName] = (
    "executed",
    "throughput",
    "lateness_p50",
    "lateness_p99",
    "duration_p50",
    "duration_p99",
)
# The value of each metric over the last hour; None if it had no runs.
LastHour = Mapping[str, float | None]


def stats(
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show how many actions wait, run and have finished, and which workers are alive."""
    with open_app(app, url) as target:
        tenants = scope(tenant, any_tenant)
        figures = target.sync.stats(tenant=tenants)
        hour = _last_hour(target, tenants)
    if json:
        print_json(to_jsonable_python(asdict(figures) | {"last_hour": hour}))
        return
    print_lines(mask_password(target.settings.url))
    console = make_console()
    console.print(value_table(_figures(figures) | _hour_figures(hour), figures.at))
    if figures.workers:
        console.print(_workers(figures))


def _last_hour(app: Duetime, tenant: Scope | Ambient) -> LastHour:
    series = (app.sync.series(metric, step=HOUR_SECONDS, tenant=tenant) for metric in HOUR_METRICS)
    return {each.metric: each.points[0].value for each in series}


def _hour_figures(hour: LastHour) -> dict[str, object]:
    """What ran in the last hour; nothing if there were no runs."""
    if not hour["executed"]:
        return {}
    figures: dict[str, object] = {
        "last hour": f"{hour['executed']:,.0f} runs, {hour['throughput']:,.2g} a second"
    }
    for name in ("lateness", "duration"):
        quantiles = ((rank, hour[f"{name}_{rank}"]) for rank in ("p50", "p99"))
        known = (
            f"{rank} {milliseconds(timedelta(seconds=value))}"
            for rank, value in quantiles
            if value is not None
        )
        figures[f"{name} of these"] = ", ".join(known)
    return figures


def _figures(stats: Stats) -> dict[str, object]:
    """The figures by name, those of finished actions as far as they are counted."""
    figures: dict[str, object] = {
        name: f"{getattr(stats, name):,}{' or more' if stats.capped else ''}"
        for name in ("scheduled", "running", "waiting", "parked", "overdue")
    }
    if stats.oldest_overdue is not None:
        figures["oldest overdue"] = amount(round(stats.oldest_overdue))
    for name in ("succeeded", "failed", "cancelled"):
        count = getattr(stats, name)
        figures[name] = f"{count:,}{' or more' if count >= MOST_FINISHED else ''}"
    if stats.parked_kinds:
        figures["parked kinds"] = ", ".join(
            f"{group.kind} version {group.version} ({group.count:,})"
            for group in stats.parked_kinds
        )
    return figures | {"workers": str(len(stats.workers))}


def _workers(stats: Stats) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("worker", "app", "slots", "queues", "seen", "problems"):
        table.add_column(name, overflow="fold")
    for worker in stats.workers:
        table.add_row(*map(safe_cell, _worker_row(worker, stats)))
    return table


def _worker_row(worker: LivingWorker, stats: Stats) -> list[str]:
    queues = ", ".join(worker.queues) or "all"
    seen = shown(worker.seen_at, stats.at)
    problems = ", ".join(worker.health.problems) or "none"
    return [worker.id, worker.app, str(worker.concurrency), queues, seen, problems]
