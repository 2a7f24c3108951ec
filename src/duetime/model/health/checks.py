"""Health checks: judge figures and diagnoses, and name the remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from duetime.model.health.diagnosis import (
    NO_ENCODING,
    DatabaseFile,
    Diagnosis,
    ListenProbe,
    Schema,
    SnapshotHolder,
    Version,
)
from duetime.model.health.stats import LivingWorker, Parked, Stats
from duetime.model.jobs.stats import JobStats
from duetime.model.validation import amount

# Thresholds in seconds, unless the name says otherwise.
SLOW_ANSWER = 1.0
OVERDUE_WARNING = 60.0
OVERDUE_FAILURE = 600.0
CLOCK_WARNING = 1.0
SNAPSHOT_WARNING = 60.0
SNAPSHOT_TRANSACTIONS = 1_000_000
DISK_WARNING_BYTES = 500_000_000
DISK_FAILURE_BYTES = 50_000_000
# The rest of a longer list is only counted.
MAX_NAMES_SHOWN = 5

HasHandler = Callable[[str, int], bool]


class Level(StrEnum):
    ok = "ok"
    warning = "warning"
    failure = "failure"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check: its name, level and figure, and the remedy if it is not ok."""

    check: str
    level: Level
    figure: str
    remedy: str | None = None


def is_usable(diagnosis: Diagnosis) -> bool:
    """Return whether the actions can be read."""
    schema = diagnosis.schema
    return diagnosis.fault is None and (
        schema is None or (not schema.pending and schema.refused is None)
    )


# -- the database --------------------------------------------------------------------


def judge_database(diagnosis: Diagnosis, migrate: str) -> list[CheckResult]:
    """Judge a diagnosis; `migrate` is the command that would create missing tables."""
    results = [connection(diagnosis)]
    results += [version(installed) for installed in diagnosis.versions]
    if diagnosis.encoding is not None:
        results.append(encoding(diagnosis.encoding))
    if diagnosis.schema is not None:
        results.append(schema(diagnosis.schema, migrate))
    if diagnosis.listen_probe is not None:
        results.append(listening(diagnosis.listen_probe))
    if diagnosis.snapshot_holders is not None:
        results.append(snapshots(diagnosis.snapshot_holders))
    if diagnosis.file is not None:
        results += file(diagnosis.file)
    return results


def connection(diagnosis: Diagnosis) -> CheckResult:
    if diagnosis.fault is not None:
        return _failure("connection", diagnosis.fault)
    if diagnosis.answered_in is None:
        return _ok("connection", "this store does not report it")
    figure = f"answered in {diagnosis.answered_in * 1000:.0f} ms"
    if diagnosis.answered_in < SLOW_ANSWER:
        return _ok("connection", figure)
    return _warning("connection", figure, "check the network and the load of the database")


def version(part: Version) -> CheckResult:
    figure, oldest = _dotted(part.found), _dotted(part.oldest)
    if part.found >= part.oldest:
        return _ok(part.name, figure)
    return _failure(part.name, f"{figure} is too old", f"install {oldest} or newer")


def encoding(name: str) -> CheckResult:
    if name != NO_ENCODING:
        return _ok("encoding", name)
    return _failure(
        "encoding",
        f"{name}: text that is no UTF-8 may come into a row, and stops what reads it",
        "move to a database with ENCODING 'UTF8'",
    )


def schema(tables: Schema, migrate: str) -> CheckResult:
    if tables.refused is not None:
        return _failure("schema", tables.refused)
    if tables.pending:
        return _failure("schema", f"{', '.join(tables.pending)} pending", f"run `{migrate}`")
    if tables.applied > tables.known:
        figure = f"version {tables.applied}; this duetime knows up to {tables.known} and can use it"
        return _warning("schema", figure, "upgrade duetime on this machine soon")
    if tables.missing_indexes:
        figure = (
            f"version {tables.applied}, without the indexes {', '.join(tables.missing_indexes)}"
        )
        remedy = f"actions are found slowly: run `{migrate}`, or start a worker, which builds them"
        return _warning("schema", figure, remedy)
    return _ok("schema", f"version {tables.applied}")


def listening(probe: ListenProbe) -> CheckResult:
    if not probe.enabled:
        return _ok("listen", "off (listen=False): workers poll")
    if probe.received_in is not None:
        return _ok("listen", f"notified after {probe.received_in * 1000:.0f} ms")
    return _warning(
        "listen",
        f"no notification arrived within {probe.timeout:g} s",
        "behind PgBouncer in transaction mode set listen=False, or give a URL that bypasses it",
    )


def snapshots(holders: Iterable[SnapshotHolder]) -> CheckResult:
    """Judge the oldest open transactions: rows that died since they began cannot be vacuumed."""
    known = list(holders)
    bad = [holder for holder in known if _is_old(holder)]
    if bad:
        remedy = "end it: claims must skip every row that died since"
        return _warning("snapshots", "; ".join(_describe_holder(holder) for holder in bad), remedy)
    oldest = max((holder.seconds or 0.0 for holder in known), default=None)
    began = "none open" if oldest is None else f"the oldest began {amount(oldest)} ago"
    return _ok("snapshots", began)


def _is_old(holder: SnapshotHolder) -> bool:
    return (holder.seconds or 0) > SNAPSHOT_WARNING or (
        holder.transactions or 0
    ) > SNAPSHOT_TRANSACTIONS


def _describe_holder(holder: SnapshotHolder) -> str:
    if holder.seconds is None:
        return f"{holder.name} holds back {holder.transactions:,} transactions"
    return f"{holder.name} has been open for {amount(holder.seconds)}"


def file(database: DatabaseFile) -> list[CheckResult]:
    return [_writable(database), _journal(database), _lock(database), _space(database)]


def _writable(database: DatabaseFile) -> CheckResult:
    if not database.writable:
        return _failure(
            "file", f"{database.path} cannot be written", "make it writable for this user"
        )
    if not database.folder_writable:
        figure = f"the directory of {database.path} cannot be written"
        return _failure("file", figure, "make it writable: SQLite keeps files beside the database")
    return _ok("file", f"{database.path} is writable")


def _journal(database: DatabaseFile) -> CheckResult:
    if database.journal_mode in ("wal", None):
        return _ok("journal", database.journal_mode or "unknown")
    return _warning(
        "journal",
        f"mode {database.journal_mode}, not WAL",
        "duetime sets WAL at first use, which this check is; if this warning comes again, move the "
        "file to a local disk",
    )


def _lock(database: DatabaseFile) -> CheckResult:
    if database.locked_for is None:
        return _ok("write lock", "free")
    figure = f"held by another transaction for more than {database.locked_for:g} s"
    return _failure("write lock", figure, "end the transaction that is open on this file")


def _space(database: DatabaseFile) -> CheckResult:
    if database.free_bytes is None:
        return _ok("disk", "unknown")
    figure = f"{database.free_bytes / 1_000_000:,.0f} MB free"
    if database.free_bytes < DISK_FAILURE_BYTES:
        return _failure("disk", figure, "free disk space")
    return (
        _warning("disk", figure, "free disk space")
        if database.free_bytes < DISK_WARNING_BYTES
        else _ok("disk", figure)
    )


# -- the work ------------------------------------------------------------------------


def judge_work(stats: Stats, runs: HasHandler | None = None) -> list[CheckResult]:
    """Judge Stats; `runs` says whether the given app has a handler for a kind and version."""
    return [
        clock(stats.clock_offset),
        _ok("unfinished", _unfinished(stats)),
        overdue(stats),
        queues(stats.paused_queues),
        leases(stats),
        parked(stats, runs),
        unreachable(stats.unreachable),
        failed(stats.failed),
        _ok("jobs", _job_counts(stats.jobs)),
        ticks(stats),
        failing(stats.jobs),
        unreadable(stats.jobs),
        workers(stats.workers),
        problems(stats.workers),
        wakes(stats.workers),
    ]


def clock(offset: float) -> CheckResult:
    if abs(offset) < CLOCK_WARNING:
        return _ok("clock", f"{offset:+.3f} s between the store and this machine")
    side = "ahead of" if offset > 0 else "behind"
    return _warning(
        "clock",
        f"the store is {amount(abs(offset))} {side} this machine",
        "synchronise both by NTP: the store's clock starts actions, this one computes instants",
    )


def overdue(stats: Stats) -> CheckResult:
    oldest = stats.oldest_overdue or 0.0
    if not stats.overdue:
        return _ok("overdue", "none")
    remedy = "add workers or slots, and check that every queue is served"
    if not stats.workers:
        remedy = "start a worker"
    return _overdue_result("overdue", f"{stats.overdue:,}, the oldest", oldest, remedy)


def queues(paused: Sequence[str]) -> CheckResult:
    """Name the paused queues in which actions wait: somebody wanted that, so it is no problem."""
    return _ok("queues", f"paused: {_name_list(paused)}" if paused else "none paused")


def leases(stats: Stats) -> CheckResult:
    if not stats.expired_leases:
        return _ok("leases", f"{stats.running:,} running, none expired")
    remedy = "the next sweep of a worker rescues them; if they stay, no worker is running"
    return _warning("leases", f"{stats.expired_leases:,} expired", remedy)


def parked(stats: Stats, runs: HasHandler | None) -> CheckResult:
    if not stats.parked_kinds:
        return _ok("parked", "none")
    named = ", ".join(
        f"{group.kind} v{group.version} ({group.count:,})" for group in stats.parked_kinds
    )
    remedies = sorted({_unpark_remedy(group, stats, runs) for group in stats.parked_kinds})
    return _warning("parked", f"{stats.parked:,}: {named}", "; ".join(remedies))


def _unpark_remedy(group: Parked, stats: Stats, runs: HasHandler | None) -> str:
    ours = runs is not None and runs(group.kind, group.version)
    if group.kind in stats.unknown_kinds:
        if ours:
            return "start a worker of this app"
        missing = "" if runs is None else " (this app has none)"
        return f"deploy a worker with a handler for {group.kind}{missing}"
    if ours:
        return f"a worker that knows {group.kind} claims it when it is due"
    return f"deploy a worker that knows version {group.version} of {group.kind}"


def unreachable(count: int) -> CheckResult:
    if not count:
        return _ok("unreachable", "none")
    remedy = "cancel and schedule them again; were rows written by hand?"
    return _failure("unreachable", f"{count:,} rows that no worker would ever find", remedy)


def failed(count: int) -> CheckResult:
    if not count:
        return _ok("failed", "none")
    remedy = (
        "see `duetime actions find --state failed --any-tenant`, and retry what should run again "
        "with `duetime actions retry ID`"
    )
    return _warning("failed", f"{count:,} actions", remedy)


def ticks(stats: Stats) -> CheckResult:
    jobs = stats.jobs
    if not jobs.overdue:
        return _ok("ticks", "none overdue")
    figure = f"ticks of {_count_jobs(jobs.overdue)} are overdue, the oldest"
    return _overdue_result("ticks", figure, jobs.oldest_overdue or 0.0, _ticks_remedy(stats))


def _ticks_remedy(stats: Stats) -> str:
    """Return the remedy for overdue ticks; only workers of a job's own app handle its ticks."""
    alive = {worker.app for worker in stats.workers}
    idle = [app for app in stats.jobs.overdue_apps if app not in alive]
    if idle:
        return f"start a worker of {_name_list(idle)}"
    return "check the logs of the workers for jobs whose ticks fail"


def failing(jobs: JobStats) -> CheckResult:
    if not jobs.failing:
        return _ok("failing", "no job")
    remedy = f"see why with `duetime jobs runs {jobs.failing[0]}`"
    return _warning(
        "failing", f"{_count_jobs(len(jobs.failing))}: {_name_list(jobs.failing)}", remedy
    )


def unreadable(jobs: JobStats) -> CheckResult:
    if not jobs.unreadable:
        return _ok("unreadable", "no job")
    figure = f"{_count_jobs(len(jobs.unreadable))}: {_name_list(jobs.unreadable)}"
    remedy = (
        "another version of duetime wrote this; upgrade duetime on this machine and on all workers"
    )
    return _warning("unreadable", figure, remedy)


def workers(living: Iterable[LivingWorker]) -> CheckResult:
    found = list(living)
    if not found:
        return _warning("workers", "none alive", "start one with `duetime worker module:app`")
    return _ok("workers", f"{len(found)} alive: {', '.join(worker.id for worker in found)}")


def problems(living: Iterable[LivingWorker]) -> CheckResult:
    """Judge what workers say of themselves: claims that fail, wakes that do not arrive."""
    reporting = [worker for worker in living if worker.health.problems]
    if not reporting:
        return _ok("problems", "no worker reports a problem")
    reports = [f"{worker.id}: {'; '.join(worker.health.problems)}" for worker in reporting]
    return _failure("problems", _name_list(reports, ". "), "see the logs of these workers")


def wakes(living: Iterable[LivingWorker]) -> CheckResult:
    refused = {worker.id: worker.health.refused_wakes for worker in living}
    worst = max(refused, key=lambda worker: refused[worker], default=None)
    if worst is None or not refused[worst]:
        return _ok("wakes", "none refused")
    return _warning(
        "wakes",
        f"{worst} refused {refused[worst]:,} messages that duetime did not send",
        "find out who sends them: any role that may connect to the database can",
    )


def _unfinished(stats: Stats) -> str:
    names = ("scheduled", "running", "waiting", "parked")
    return ", ".join(f"{getattr(stats, name):,} {name}" for name in names)


def _job_counts(jobs: JobStats) -> str:
    names = ("scheduled", "paused", "retired")
    return ", ".join(f"{getattr(jobs, name):,} {name}" for name in names)


def _overdue_result(check: str, figure: str, seconds: float, remedy: str) -> CheckResult:
    figure = f"{figure} for {amount(seconds)}"
    if seconds < OVERDUE_WARNING:
        return _ok(check, figure)
    level = Level.failure if seconds >= OVERDUE_FAILURE else Level.warning
    return CheckResult(check, level, figure, remedy)


# -- formatting -----------------------------------------------------------------------


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in numbers)


def _count_jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number:,} jobs"


def _name_list(names: Sequence[str], separator: str = ", ") -> str:
    more = len(names) - MAX_NAMES_SHOWN
    return separator.join(names[:MAX_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _ok(check: str, figure: str) -> CheckResult:
    return CheckResult(check, Level.ok, figure)


def _warning(check: str, figure: str, remedy: str) -> CheckResult:
    return CheckResult(check, Level.warning, figure, remedy)


def _failure(check: str, figure: str, remedy: str | None = None) -> CheckResult:
    return CheckResult(check, Level.failure, figure, remedy)
