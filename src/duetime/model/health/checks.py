"""Health: what figures mean, whether it is bad, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from duetime.model.health.diagnosis import DatabaseFile, Diagnosis, Ear, Holder, Schema, Version
from duetime.model.health.stats import LivingWorker, Parked, Stats
from duetime.model.jobs.stats import JobStats
from duetime.model.validation import amount

# Seconds, unless their name says otherwise.
SLOW_ANSWER = 1.0
OVERDUE_WARNING = 60.0
OVERDUE_FAILURE = 600.0
CLOCK_WARNING = 1.0
SNAPSHOT_WARNING = 60.0
SNAPSHOT_TRANSACTIONS = 1_000_000
DISK_WARNING_BYTES = 500_000_000
DISK_FAILURE_BYTES = 50_000_000
# So many names stand in a line; the rest is counted.
MOST_NAMED = 5

Runs = Callable[[str, int], bool]


class Level(StrEnum):
    ok = "ok"
    warning = "warning"
    failure = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, how it is, and the remedy if it is not well."""

    check: str
    level: Level
    figure: str
    remedy: str | None = None


def is_usable(diagnosis: Diagnosis) -> bool:
    """Can the actions be read?"""
    schema = diagnosis.schema
    return diagnosis.fault is None and (
        schema is None or (not schema.pending and schema.refused is None)
    )


# -- the database --------------------------------------------------------------------


def judge_database(diagnosis: Diagnosis, migrate: str) -> list[Finding]:
    """`migrate` is the command that would make missing tables."""
    found = [connection(diagnosis)]
    found += [version(one) for one in diagnosis.versions]
    if diagnosis.schema is not None:
        found.append(schema(diagnosis.schema, migrate))
    if diagnosis.ear is not None:
        found.append(ear(diagnosis.ear))
    if diagnosis.holders is not None:
        found.append(snapshots(diagnosis.holders))
    if diagnosis.file is not None:
        found += file(diagnosis.file)
    return found


def connection(diagnosis: Diagnosis) -> Finding:
    if diagnosis.fault is not None:
        return _failure("connection", diagnosis.fault)
    if diagnosis.answered_in is None:
        return _ok("connection", "this store tells nothing of it")
    figure = f"answered in {diagnosis.answered_in * 1000:.0f} ms"
    if diagnosis.answered_in < SLOW_ANSWER:
        return _ok("connection", figure)
    return _warning("connection", figure, "look at the network, and at the load of the database")


def version(one: Version) -> Finding:
    figure, oldest = _dotted(one.found), _dotted(one.oldest)
    if one.found >= one.oldest:
        return _ok(one.name, figure)
    return _failure(one.name, f"{figure} is too old", f"install {oldest} or newer")


def schema(one: Schema, migrate: str) -> Finding:
    if one.refused is not None:
        return _failure("schema", one.refused)
    if one.pending:
        return _failure("schema", f"{', '.join(one.pending)} pending", f"run `{migrate}`")
    if one.applied > one.known:
        figure = f"version {one.applied}; this duetime knows up to {one.known}, and may go on"
        return _warning("schema", figure, "upgrade duetime on this machine soon")
    return _ok("schema", f"version {one.applied}")


def ear(one: Ear) -> Finding:
    if not one.wanted:
        return _ok("listen", "off (listen=False): workers poll")
    if one.heard_in is not None:
        return _ok("listen", f"heard a notice after {one.heard_in * 1000:.0f} ms")
    return _warning(
        "listen",
        f"a notice did not come through within {one.patience:g} s",
        "behind PgBouncer in transaction mode set listen=False, or give a URL that leads past it",
    )


def snapshots(holders: Iterable[Holder]) -> Finding:
    """The oldest transaction: what died since it began cannot be cleared away."""
    known = list(holders)
    bad = [one for one in known if _is_old(one)]
    if bad:
        remedy = "end it: claims have to step over every row that died since"
        return _warning("snapshots", "; ".join(_held(one) for one in bad), remedy)
    oldest = max((one.seconds or 0.0 for one in known), default=None)
    began = "none open" if oldest is None else f"the oldest began {amount(oldest)} ago"
    return _ok("snapshots", began)


def _is_old(one: Holder) -> bool:
    return (one.seconds or 0) > SNAPSHOT_WARNING or (one.transactions or 0) > SNAPSHOT_TRANSACTIONS


def _held(one: Holder) -> str:
    if one.seconds is None:
        return f"{one.name} holds back {one.transactions:,} transactions"
    return f"{one.name} has been open for {amount(one.seconds)}"


def file(one: DatabaseFile) -> list[Finding]:
    return [_writable(one), _journal(one), _lock(one), _space(one)]


def _writable(one: DatabaseFile) -> Finding:
    if not one.writable:
        return _failure("file", f"{one.path} cannot be written", "make it writable for this user")
    if not one.folder_writable:
        figure = f"the directory of {one.path} cannot be written"
        return _failure("file", figure, "make it writable: SQLite keeps files beside the database")
    return _ok("file", f"{one.path} is writable")


def _journal(one: DatabaseFile) -> Finding:
    if one.journal_mode in ("wal", None):
        return _ok("journal", one.journal_mode or "unknown")
    return _warning(
        "journal",
        f"mode {one.journal_mode}, not WAL",
        "the first use by duetime sets it, and this look at the work is one; if it says so again, "
        "move the file to a local disk",
    )


def _lock(one: DatabaseFile) -> Finding:
    if one.locked_for is None:
        return _ok("write lock", "free")
    figure = f"held by another for more than {one.locked_for:g} s"
    return _failure("write lock", figure, "end the transaction that is open on this file")


def _space(one: DatabaseFile) -> Finding:
    if one.free_bytes is None:
        return _ok("disk", "unknown")
    figure = f"{one.free_bytes / 1_000_000:,.0f} MB free"
    if one.free_bytes < DISK_FAILURE_BYTES:
        return _failure("disk", figure, "make room")
    return (
        _warning("disk", figure, "make room")
        if one.free_bytes < DISK_WARNING_BYTES
        else _ok("disk", figure)
    )


# -- the work ------------------------------------------------------------------------


def judge_work(stats: Stats, runs: Runs | None = None) -> list[Finding]:
    """`runs` tells what the app that was named has a handler for."""
    return [
        clock(stats.clock_offset),
        _ok("unfinished", _unfinished(stats)),
        overdue(stats),
        leases(stats),
        parked(stats, runs),
        unreachable(stats.unreachable),
        failed(stats.failed),
        _ok("jobs", _kept(stats.jobs)),
        ticks(stats),
        failing(stats.jobs),
        unreadable(stats.jobs),
        workers(stats.workers),
    ]


def clock(offset: float) -> Finding:
    if abs(offset) < CLOCK_WARNING:
        return _ok("clock", f"{offset:+.3f} s between the store and this machine")
    side = "ahead of" if offset > 0 else "behind"
    return _warning(
        "clock",
        f"the store is {amount(abs(offset))} {side} this machine",
        "set both by NTP: work starts by the store's clock, instants are computed by this one",
    )


def overdue(stats: Stats) -> Finding:
    oldest = stats.oldest_overdue or 0.0
    if not stats.overdue:
        return _ok("overdue", "none")
    remedy = "add workers or slots, and see that the queues are served"
    if not stats.workers:
        remedy = "start a worker"
    return _late("overdue", f"{stats.overdue:,}, the oldest", oldest, remedy)


def leases(stats: Stats) -> Finding:
    if not stats.expired_leases:
        return _ok("leases", f"{stats.running:,} running, none expired")
    remedy = "the next sweep of a worker frees them; if they stay, no worker runs"
    return _warning("leases", f"{stats.expired_leases:,} expired", remedy)


def parked(stats: Stats, runs: Runs | None) -> Finding:
    if not stats.parked_kinds:
        return _ok("parked", "none")
    named = ", ".join(f"{one.kind} v{one.version} ({one.count:,})" for one in stats.parked_kinds)
    remedies = sorted({_unparking(one, stats, runs) for one in stats.parked_kinds})
    return _warning("parked", f"{stats.parked:,}: {named}", "; ".join(remedies))


def _unparking(one: Parked, stats: Stats, runs: Runs | None) -> str:
    ours = runs is not None and runs(one.kind, one.version)
    if one.kind in stats.unknown_kinds:
        if ours:
            return "start a worker of this app"
        missing = "" if runs is None else " (this app has none)"
        return f"deploy a worker with a handler for {one.kind}{missing}"
    if ours:
        return f"a worker that knows {one.kind} takes it when it is due"
    return f"deploy a worker that knows version {one.version} of {one.kind}"


def unreachable(count: int) -> Finding:
    if not count:
        return _ok("unreachable", "none")
    remedy = "cancel them and schedule them anew; were rows written by hand?"
    return _failure("unreachable", f"{count:,} rows that nothing would ever find", remedy)


def failed(count: int) -> Finding:
    if not count:
        return _ok("failed", "none")
    remedy = (
        "see `duetime actions list --state failed --any-tenant`, and bring back what shall run "
        "again with `duetime actions retry ID`"
    )
    return _warning("failed", f"{count:,} actions for good", remedy)


def ticks(stats: Stats) -> Finding:
    jobs = stats.jobs
    if not jobs.overdue:
        return _ok("ticks", "none overdue")
    figure = f"those of {_jobs(jobs.overdue)} are overdue, the oldest"
    return _late("ticks", figure, jobs.oldest_overdue or 0.0, _ticking(stats))


def _ticking(stats: Stats) -> str:
    """Only workers of its own app make actions of a job's ticks."""
    alive = {one.app for one in stats.workers}
    idle = [app for app in stats.jobs.overdue_apps if app not in alive]
    if idle:
        return f"start a worker of {_some(idle)}"
    return "look into the log of the workers for jobs that cannot tick there"


def failing(jobs: JobStats) -> Finding:
    if not jobs.failing:
        return _ok("failing", "no job")
    remedy = f"see why with `duetime jobs runs {jobs.failing[0]}`"
    return _warning("failing", f"{_jobs(len(jobs.failing))}: {_some(jobs.failing)}", remedy)


def unreadable(jobs: JobStats) -> Finding:
    if not jobs.unreadable:
        return _ok("unreadable", "no job")
    figure = f"{_jobs(len(jobs.unreadable))}: {_some(jobs.unreadable)}"
    remedy = (
        "another version of duetime wrote this; upgrade duetime on this machine, and wherever "
        "workers run"
    )
    return _warning("unreadable", figure, remedy)


def workers(living: Iterable[LivingWorker]) -> Finding:
    found = list(living)
    if not found:
        return _warning("workers", "none alive", "start one with `duetime worker module:app`")
    return _ok("workers", f"{len(found)} alive: {', '.join(one.id for one in found)}")


def _unfinished(stats: Stats) -> str:
    names = ("scheduled", "running", "waiting", "parked")
    return ", ".join(f"{getattr(stats, name):,} {name}" for name in names)


def _kept(jobs: JobStats) -> str:
    names = ("scheduled", "paused", "retired")
    return ", ".join(f"{getattr(jobs, name):,} {name}" for name in names)


def _late(check: str, figure: str, seconds: float, remedy: str) -> Finding:
    told = f"{figure} for {amount(seconds)}"
    if seconds < OVERDUE_WARNING:
        return _ok(check, told)
    level = Level.failure if seconds >= OVERDUE_FAILURE else Level.warning
    return Finding(check, level, told, remedy)


# -- words ---------------------------------------------------------------------------


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in numbers)


def _jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number:,} jobs"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _ok(check: str, figure: str) -> Finding:
    return Finding(check, Level.ok, figure)


def _warning(check: str, figure: str, remedy: str) -> Finding:
    return Finding(check, Level.warning, figure, remedy)


def _failure(check: str, figure: str, remedy: str | None = None) -> Finding:
    return Finding(check, Level.failure, figure, remedy)
