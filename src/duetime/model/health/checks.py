"""Health checks: judge figures and diagnoses, and name the remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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
from duetime.model.notifications.delivery import is_notifier
from duetime.model.validation import amount
from duetime.words.languages import said
from duetime.words.phrase import Phrase, joined, phrase

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

    def in_language(self, language: str) -> CheckResult:
        """Return the result in the words of a language, as "fr"."""
        remedy = None if self.remedy is None else said(self.remedy, language)
        return replace(self, figure=said(self.figure, language), remedy=remedy)


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
        return _failure("connection", phrase("{fault}", fault=diagnosis.fault))
    if diagnosis.answered_in is None:
        return _ok("connection", phrase("this store does not report it"))
    figure = phrase("answered in {ms:.0f} ms", ms=diagnosis.answered_in * 1000)
    if diagnosis.answered_in < SLOW_ANSWER:
        return _ok("connection", figure)
    remedy = phrase("check the network and the load of the database")
    return _warning("connection", figure, remedy)


def version(part: Version) -> CheckResult:
    figure, oldest = _dotted(part.found), _dotted(part.oldest)
    if part.found >= part.oldest:
        return _ok(part.name, phrase("{version}", version=figure))
    remedy = phrase("install {oldest} or newer", oldest=oldest)
    return _failure(part.name, phrase("{version} is too old", version=figure), remedy)


def encoding(name: str) -> CheckResult:
    if name != NO_ENCODING:
        return _ok("encoding", phrase("{name}", name=name))
    harm = "{name}: text that is no UTF-8 may come into a row, and stops what reads it"
    remedy = phrase("move to a database with ENCODING 'UTF8'")
    return _failure("encoding", phrase(harm, name=name), remedy)


def schema(tables: Schema, migrate: str) -> CheckResult:
    if tables.refused is not None:
        return _failure("schema", phrase("{refused}", refused=tables.refused))
    run = phrase("run `{migrate}`", migrate=migrate)
    if tables.pending:
        pending = phrase("{names} pending", names=", ".join(tables.pending))
        return _failure("schema", pending, run)
    version = phrase("version {applied}", applied=str(tables.applied))
    if tables.applied > tables.known:
        newer = "{version}; this duetime knows up to {known} and can use it"
        figure = phrase(newer, version=version, known=str(tables.known))
        return _warning("schema", figure, phrase("upgrade duetime on this machine soon"))
    if tables.missing_indexes:
        names = ", ".join(tables.missing_indexes)
        figure = phrase("{version}, without the indexes {names}", version=version, names=names)
        slow = "actions are found slowly: {run}, or start a worker, which builds them"
        return _warning("schema", figure, phrase(slow, run=run))
    return _ok("schema", version)


def listening(probe: ListenProbe) -> CheckResult:
    if not probe.enabled:
        return _ok("listen", phrase("off (listen=False): workers poll"))
    if probe.received_in is not None:
        return _ok("listen", phrase("notified after {ms:.0f} ms", ms=probe.received_in * 1000))
    return _warning(
        "listen",
        phrase("no notification arrived within {seconds:g} s", seconds=probe.timeout),
        phrase(
            "behind PgBouncer in transaction mode set listen=False, or give a URL that bypasses it"
        ),
    )


def snapshots(holders: Iterable[SnapshotHolder]) -> CheckResult:
    """Judge the oldest open transactions: rows that died since they began cannot be vacuumed."""
    known = list(holders)
    bad = [holder for holder in known if is_old_snapshot(holder)]
    if bad:
        remedy = phrase("end it: claims must skip every row that died since")
        return _warning("snapshots", joined(map(_describe_holder, bad)), remedy)
    oldest = max((holder.seconds or 0.0 for holder in known), default=None)
    if oldest is None:
        return _ok("snapshots", phrase("none open"))
    return _ok("snapshots", phrase("the oldest began {age} ago", age=amount(oldest)))


def is_old_snapshot(holder: SnapshotHolder) -> bool:
    """Return whether a transaction has been open for too long."""
    return (holder.seconds or 0) > SNAPSHOT_WARNING or (
        holder.transactions or 0
    ) > SNAPSHOT_TRANSACTIONS


def _describe_holder(holder: SnapshotHolder) -> Phrase:
    if holder.seconds is None:
        template = "{name} holds back {count:,} transactions"
        return phrase(template, name=holder.name, count=holder.transactions)
    return phrase("{name} has been open for {age}", name=holder.name, age=amount(holder.seconds))


def file(database: DatabaseFile) -> list[CheckResult]:
    return [_writable(database), _journal(database), _lock(database), _space(database)]


def _writable(database: DatabaseFile) -> CheckResult:
    if not database.writable:
        figure = phrase("{path} cannot be written", path=database.path)
        return _failure("file", figure, phrase("make it writable for this user"))
    if not database.folder_writable:
        figure = phrase("the directory of {path} cannot be written", path=database.path)
        remedy = phrase("make it writable: SQLite keeps files beside the database")
        return _failure("file", figure, remedy)
    return _ok("file", phrase("{path} is writable", path=database.path))


def _journal(database: DatabaseFile) -> CheckResult:
    if database.journal_mode in ("wal", None):
        return _ok("journal", phrase("wal" if database.journal_mode else "unknown"))
    remedy = phrase(
        "duetime sets WAL at first use, which this check is; if this warning comes again, move the "
        "file to a local disk"
    )
    return _warning("journal", phrase("mode {mode}, not WAL", mode=database.journal_mode), remedy)


def _lock(database: DatabaseFile) -> CheckResult:
    if database.locked_for is None:
        return _ok("write lock", phrase("free"))
    held = "held by another transaction for more than {seconds:g} s"
    remedy = phrase("end the transaction that is open on this file")
    return _failure("write lock", phrase(held, seconds=database.locked_for), remedy)


def _space(database: DatabaseFile) -> CheckResult:
    if database.free_bytes is None:
        return _ok("disk", phrase("unknown"))
    figure = phrase("{free:,.0f} MB free", free=database.free_bytes / 1_000_000)
    if database.free_bytes >= DISK_WARNING_BYTES:
        return _ok("disk", figure)
    judge = _failure if database.free_bytes < DISK_FAILURE_BYTES else _warning
    return judge("disk", figure, phrase("free disk space"))


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
        workers(_running_work(stats.workers)),
        problems(stats.workers),
        wakes(stats.workers),
    ]


def clock(offset: float) -> CheckResult:
    if abs(offset) < CLOCK_WARNING:
        return _ok(
            "clock", phrase("{offset:+.3f} s between the store and this machine", offset=offset)
        )
    side = (
        "the store is {time} ahead of this machine"
        if offset > 0
        else "the store is {time} behind this machine"
    )
    remedy = "synchronise both by NTP: the store's clock starts actions, this one computes instants"
    return _warning("clock", phrase(side, time=amount(abs(offset))), phrase(remedy))


def overdue(stats: Stats) -> CheckResult:
    oldest = stats.oldest_overdue or 0.0
    if not stats.overdue:
        return _ok("overdue", phrase("none"))
    remedy = phrase("add workers or slots, and check that every queue is served")
    if not _running_work(stats.workers):
        remedy = phrase("start a worker")
    late = "{count:,}, the oldest for {age}"
    figure = phrase(late, count=stats.overdue, age=amount(oldest))
    return _overdue_result("overdue", figure, oldest, remedy)


def queues(paused: Sequence[str]) -> CheckResult:
    """Name the paused queues in which actions wait: somebody wanted that, so it is no problem."""
    if not paused:
        return _ok("queues", phrase("none paused"))
    return _ok("queues", phrase("paused: {names}", names=_name_list(paused)))


def leases(stats: Stats) -> CheckResult:
    if not stats.expired_leases:
        return _ok("leases", phrase("{count:,} running, none expired", count=stats.running))
    remedy = phrase("the next sweep of a worker rescues them; if they stay, no worker is running")
    return _warning("leases", phrase("{count:,} expired", count=stats.expired_leases), remedy)


def parked(stats: Stats, runs: HasHandler | None) -> CheckResult:
    if not stats.parked_kinds:
        return _ok("parked", phrase("none"))
    named = ", ".join(
        f"{group.kind} v{group.version} ({group.count:,})" for group in stats.parked_kinds
    )
    remedies = sorted({_unpark_remedy(group, stats, runs) for group in stats.parked_kinds})
    figure = phrase("{count:,}: {kinds}", count=stats.parked, kinds=named)
    return _warning("parked", figure, joined(remedies))


def _unpark_remedy(group: Parked, stats: Stats, runs: HasHandler | None) -> Phrase:
    kind, ours = group.kind, runs is not None and runs(group.kind, group.version)
    if kind in stats.unknown_kinds:
        if ours:
            return phrase("start a worker of this app")
        remedy = phrase("deploy a worker with a handler for {kind}", kind=kind)
        return remedy if runs is None else phrase("{remedy} (this app has none)", remedy=remedy)
    if ours:
        return phrase("a worker that knows {kind} claims it when it is due", kind=kind)
    unknown = "deploy a worker that knows version {version} of {kind}"
    return phrase(unknown, version=str(group.version), kind=kind)


def unreachable(count: int) -> CheckResult:
    if not count:
        return _ok("unreachable", phrase("none"))
    remedy = phrase("cancel and schedule them again; were rows written by hand?")
    figure = phrase("{count:,} rows that no worker would ever find", count=count)
    return _failure("unreachable", figure, remedy)


def failed(count: int) -> CheckResult:
    if not count:
        return _ok("failed", phrase("none"))
    remedy = phrase(
        "see `duetime actions find --state failed --any-tenant`, and retry what should run again "
        "with `duetime actions retry ID`"
    )
    return _warning("failed", phrase("{count:,} actions", count=count), remedy)


def ticks(stats: Stats) -> CheckResult:
    jobs = stats.jobs
    if not jobs.overdue:
        return _ok("ticks", phrase("none overdue"))
    oldest = jobs.oldest_overdue or 0.0
    late = "ticks of {jobs} are overdue, the oldest for {age}"
    figure = phrase(late, jobs=_count_jobs(jobs.overdue), age=amount(oldest))
    return _overdue_result("ticks", figure, oldest, _ticks_remedy(stats))


def _ticks_remedy(stats: Stats) -> Phrase:
    """Return the remedy for overdue ticks; only workers of a job's own app handle its ticks."""
    alive = {worker.app for worker in stats.workers}
    idle = [app for app in stats.jobs.overdue_apps if app not in alive]
    if idle:
        return phrase("start a worker of {names}", names=_name_list(idle))
    return phrase("check the logs of the workers for jobs whose ticks fail")


def failing(jobs: JobStats) -> CheckResult:
    if not jobs.failing:
        return _ok("failing", phrase("no job"))
    remedy = phrase("see why with `duetime jobs runs {job}`", job=jobs.failing[0])
    return _warning("failing", _named_jobs(jobs.failing), remedy)


def unreadable(jobs: JobStats) -> CheckResult:
    if not jobs.unreadable:
        return _ok("unreadable", phrase("no job"))
    remedy = phrase(
        "another version of duetime wrote this; upgrade duetime on this machine and on all workers"
    )
    return _warning("unreadable", _named_jobs(jobs.unreadable), remedy)


def _running_work(living: Iterable[LivingWorker]) -> list[LivingWorker]:
    """Return the workers without those that only send notifications."""
    return [worker for worker in living if not is_notifier(worker.queues)]


def workers(living: Iterable[LivingWorker]) -> CheckResult:
    found = list(living)
    if not found:
        remedy = phrase("start one with `duetime worker module:app`")
        return _warning("workers", phrase("none alive"), remedy)
    names = ", ".join(worker.id for worker in found)
    return _ok("workers", phrase("{count} alive: {names}", count=len(found), names=names))


def problems(living: Iterable[LivingWorker]) -> CheckResult:
    """Judge what workers say of themselves: claims that fail, wakes that do not arrive."""
    reporting = [worker for worker in living if worker.health.problems]
    if not reporting:
        return _ok("problems", phrase("no worker reports a problem"))
    reports = [f"{worker.id}: {'; '.join(worker.health.problems)}" for worker in reporting]
    return _failure("problems", _name_list(reports, ". "), phrase("see the logs of these workers"))


def wakes(living: Iterable[LivingWorker]) -> CheckResult:
    refused = {worker.id: worker.health.refused_wakes for worker in living}
    worst = max(refused, key=lambda worker: refused[worker], default=None)
    if worst is None or not refused[worst]:
        return _ok("wakes", phrase("none refused"))
    strange = "{worker} refused {count:,} messages that duetime did not send"
    remedy = phrase("find out who sends them: any role that may connect to the database can")
    return _warning("wakes", phrase(strange, worker=worst, count=refused[worst]), remedy)


def _unfinished(stats: Stats) -> Phrase:
    return phrase(
        "{scheduled:,} scheduled, {running:,} running, {waiting:,} waiting, {parked:,} parked",
        scheduled=stats.scheduled,
        running=stats.running,
        waiting=stats.waiting,
        parked=stats.parked,
    )


def _job_counts(jobs: JobStats) -> Phrase:
    return phrase(
        "{scheduled:,} scheduled, {paused:,} paused, {retired:,} retired",
        scheduled=jobs.scheduled,
        paused=jobs.paused,
        retired=jobs.retired,
    )


def _overdue_result(check: str, figure: Phrase, seconds: float, remedy: Phrase) -> CheckResult:
    if seconds < OVERDUE_WARNING:
        return _ok(check, figure)
    level = Level.failure if seconds >= OVERDUE_FAILURE else Level.warning
    return CheckResult(check, level, figure, remedy)


# -- formatting -----------------------------------------------------------------------


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in numbers)


def _count_jobs(number: int) -> Phrase:
    return phrase("{count:,} job" if number == 1 else "{count:,} jobs", count=number)


def _named_jobs(names: Sequence[str]) -> Phrase:
    return phrase("{jobs}: {names}", jobs=_count_jobs(len(names)), names=_name_list(names))


def _name_list(names: Sequence[str], separator: str = ", ") -> Phrase:
    shown, more = separator.join(names[:MAX_NAMES_SHOWN]), len(names) - MAX_NAMES_SHOWN
    if more <= 0:
        return phrase("{names}", names=shown)
    return phrase("{names} and {more:,} more", names=shown, more=more)


def _ok(check: str, figure: Phrase) -> CheckResult:
    return CheckResult(check, Level.ok, figure)


def _warning(check: str, figure: Phrase, remedy: Phrase) -> CheckResult:
    return CheckResult(check, Level.warning, figure, remedy)


def _failure(check: str, figure: Phrase, remedy: Phrase | None = None) -> CheckResult:
    return CheckResult(check, Level.failure, figure, remedy)
