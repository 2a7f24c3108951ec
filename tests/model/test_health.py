"""What figures mean: every rule of the doctor, by values."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from duetime.model.health import checks as health
from duetime.model.health.checks import Finding, Level, is_usable, judge_database, judge_work
from duetime.model.health.diagnosis import DatabaseFile, Diagnosis, Ear, Holder, Schema, Version
from duetime.model.health.stats import LivingWorker, Parked, Stats
from duetime.model.jobs.stats import JobStats
from duetime.model.validation import amount

NOW = datetime(2030, 1, 1, tzinfo=UTC)
WORKER = LivingWorker("w1", "shop", "here", 7, ("mail",), (), 100, NOW)
WELL = Stats(
    at=NOW,
    scheduled=3,
    waiting=0,
    parked=0,
    running=2,
    overdue=0,
    oldest_overdue=None,
    expired_leases=0,
    unreachable=0,
    succeeded=5,
    failed=0,
    cancelled=0,
    parked_kinds=(),
    unknown_kinds=(),
    workers=(WORKER,),
    jobs=JobStats(scheduled=4, paused=1, retired=2, overdue=1, oldest_overdue=0.1),
    clock_offset=0.0,
)
FILE = DatabaseFile("x.db", True, True, 10**10, "wal")
OK, WARNING, FAILURE = Level.ok, Level.warning, Level.failure


def work(check: str, runs: Any = None, **changes: Any) -> Finding:
    [found] = [one for one in judge_work(replace(WELL, **changes), runs) if one.check == check]
    return found


def base(check: str, **facts: Any) -> Finding:
    found = judge_database(Diagnosis(**facts), "duetime migrate --app shop:app")
    return next(one for one in found if one.check == check)


def test_what_is_well_is_told_with_its_figures_and_no_remedy() -> None:
    found = judge_work(WELL)
    assert {one.level for one in found} == {OK}
    assert {one.remedy for one in found} == {None}
    assert work("unfinished").figure == "3 scheduled, 2 running, 0 waiting, 0 parked"


@pytest.mark.parametrize(
    ("oldest", "level"),
    [(0.0, OK), (59.9, OK), (60.0, WARNING), (599.0, WARNING), (600.0, FAILURE)],
)
def test_overdue_work_is_worse_the_older_it_is(oldest: float, level: Level) -> None:
    found = work("overdue", overdue=4, oldest_overdue=oldest)
    assert found.level is level
    assert found.figure.startswith("4, the oldest for ")
    assert (found.remedy is None) == (level is OK)


def test_overdue_work_without_workers_needs_workers() -> None:
    assert work("overdue", overdue=1, oldest_overdue=99.0, workers=()).remedy == "start a worker"
    assert "slots" in (work("overdue", overdue=1, oldest_overdue=99.0).remedy or "")


@pytest.mark.parametrize(
    ("offset", "level"), [(0.9, OK), (-0.9, OK), (1.0, WARNING), (-7200.0, WARNING)]
)
def test_clocks(offset: float, level: Level) -> None:
    assert work("clock", clock_offset=offset).level is level


def test_which_clock_is_ahead() -> None:
    assert work("clock", clock_offset=90.0).figure == "the store is 90 s ahead of this machine"
    assert work("clock", clock_offset=-7200.0).figure == "the store is 2 h behind this machine"


def test_expired_leases_are_for_the_next_sweep() -> None:
    found = work("leases", expired_leases=3)
    assert (found.level, found.figure) == (WARNING, "3 expired")


def test_unreachable_rows_are_a_failure() -> None:
    assert work("unreachable", unreachable=1).level is FAILURE


def test_no_worker_is_a_warning() -> None:
    assert work("workers").figure == "1 alive: w1"
    assert work("workers", workers=()).level is WARNING


def test_what_failed_for_good_is_a_warning_that_names_the_way_back() -> None:
    found = work("failed", failed=1200)
    assert (found.level, found.figure) == (WARNING, "1,200 actions for good")
    assert "duetime actions list --state failed" in (found.remedy or "")
    assert "duetime actions retry" in (found.remedy or "")


@pytest.mark.parametrize(
    ("oldest", "level"), [(59.9, OK), (60.0, WARNING), (599.0, WARNING), (600.0, FAILURE)]
)
def test_overdue_ticks_are_worse_the_older_they_are(oldest: float, level: Level) -> None:
    jobs = JobStats(overdue=2, oldest_overdue=oldest, overdue_apps=("shop",))
    found = work("ticks", jobs=jobs)
    assert found.level is level
    assert found.figure.startswith("those of 2 jobs are overdue, the oldest for ")
    assert (found.remedy is None) == (level is OK)


def test_overdue_ticks_want_a_worker_of_their_own_app() -> None:
    jobs = JobStats(overdue=2, oldest_overdue=900.0, overdue_apps=("books", "shop"))
    assert work("ticks", jobs=jobs).remedy == "start a worker of books"
    assert work("ticks", jobs=jobs, workers=()).remedy == "start a worker of books, shop"
    ours = replace(jobs, overdue_apps=("shop",))
    assert "look into the log" in (work("ticks", jobs=ours).remedy or "")


def test_failing_jobs_are_a_warning_that_names_the_first() -> None:
    names = tuple(f"job-{number}" for number in range(7))
    found = work("failing", jobs=JobStats(failing=names))
    told = "7 jobs: job-0, job-1, job-2, job-3, job-4 and 2 more"
    assert (found.level, found.figure) == (WARNING, told)
    assert found.remedy == "see why with `duetime jobs runs job-0`"


def test_jobs_of_another_version_want_an_upgrade() -> None:
    found = work("unreadable", jobs=JobStats(unreadable=("job-1",)))
    assert (found.level, found.figure) == (WARNING, "1 job: job-1")
    assert "upgrade duetime" in (found.remedy or "")


def test_jobs_are_counted() -> None:
    assert work("jobs").figure == "4 scheduled, 1 paused, 2 retired"


@pytest.mark.parametrize(
    ("kind", "runs", "remedy"),
    [
        ("fax", None, "deploy a worker with a handler for fax"),
        ("fax", lambda kind, version: False, "with a handler for fax (this app has none)"),
        ("fax", lambda kind, version: True, "start a worker of this app"),
        ("mail", None, "deploy a worker that knows version 2 of mail"),
        ("mail", lambda kind, version: version == 1, "knows version 2 of mail"),
        ("mail", lambda kind, version: True, "takes it when it is due"),
    ],
)
def test_what_is_parked_waits_for_whom(kind: str, runs: Any, remedy: str) -> None:
    unknown = () if kind == "mail" else (kind,)
    found = work(
        "parked", runs, parked=3, parked_kinds=(Parked(kind, 2, 3),), unknown_kinds=unknown
    )
    assert (found.level, found.figure) == (WARNING, f"3: {kind} v2 (3)")
    assert remedy in (found.remedy or "")


def test_a_connection_that_fails_is_all_there_is() -> None:
    assert not is_usable(Diagnosis(fault="no server"))
    assert base("connection", fault="no server") == Finding("connection", FAILURE, "no server")


def test_an_answer_takes_its_time() -> None:
    assert base("connection", answered_in=0.02).figure == "answered in 20 ms"
    assert base("connection", answered_in=1.0).level is WARNING
    assert base("connection").level is OK  # a store that tells nothing


@pytest.mark.parametrize(
    ("found", "level"), [((13, 0), OK), ((18, 1), OK), ((12, 9), FAILURE), ((9, 6), FAILURE)]
)
def test_versions_are_compared_by_their_numbers(found: tuple[int, ...], level: Level) -> None:
    told = base("PostgreSQL", versions=(Version("PostgreSQL", found, (13,)),))
    assert told.level is level


@pytest.mark.parametrize(
    ("schema", "level", "words", "usable"),
    [
        (Schema(1, 1), OK, "version 1", True),
        (Schema(0, 1, ("0001_actions",)), FAILURE, "0001_actions pending", False),
        (Schema(3, 1), WARNING, "may go on", True),
        (Schema(3, 1, (), "needs newer code"), FAILURE, "needs newer code", False),
    ],
)
def test_schemas(schema: Schema, level: Level, words: str, usable: bool) -> None:
    found = base("schema", schema=schema)
    assert found.level is level
    assert words in found.figure
    assert is_usable(Diagnosis(schema=schema)) == usable


def test_pending_migrations_name_the_command() -> None:
    found = base("schema", schema=Schema(0, 1, ("0001_actions",)))
    assert found.remedy == "run `duetime migrate --app shop:app`"


def test_listening() -> None:
    assert base("listen", ear=Ear(False)).level is OK
    assert base("listen", ear=Ear(True, 0.01, 2.0)).figure == "heard a notice after 10 ms"
    deaf = base("listen", ear=Ear(True, None, 2.0))
    assert deaf.level is WARNING
    assert "listen=False" in (deaf.remedy or "")


@pytest.mark.parametrize(
    ("holder", "level"),
    [
        (Holder("session 7 (psql, me)", 60.0), OK),
        (Holder("session 7 (psql, me)", 61.0), WARNING),
        (Holder("replication slot s", None, 1_000_000), OK),
        (Holder("replication slot s", None, 1_000_001), WARNING),
    ],
)
def test_the_oldest_snapshot(holder: Holder, level: Level) -> None:
    found = base("snapshots", answered_in=0.0, holders=(holder,))
    assert found.level is level
    assert (holder.name in found.figure) == (level is WARNING)
    assert base("snapshots", answered_in=0.0, holders=()).figure == "none open"


def test_a_store_that_tells_of_no_snapshots_is_not_told_that_there_are_none() -> None:
    found = judge_database(Diagnosis(answered_in=0.0), "duetime migrate")
    assert [one.check for one in found] == ["connection"]


@pytest.mark.parametrize(
    ("check", "changes", "level"),
    [
        ("file", {}, OK),
        ("file", {"writable": False}, FAILURE),
        ("file", {"folder_writable": False}, FAILURE),
        ("journal", {}, OK),
        ("journal", {"journal_mode": "delete"}, WARNING),
        ("write lock", {}, OK),
        ("write lock", {"locked_for": 2.0}, FAILURE),
        ("disk", {"free_bytes": health.DISK_WARNING_BYTES}, OK),
        ("disk", {"free_bytes": health.DISK_WARNING_BYTES - 1}, WARNING),
        ("disk", {"free_bytes": None}, OK),
        ("disk", {"free_bytes": health.DISK_FAILURE_BYTES - 1}, FAILURE),
    ],
)
def test_files(check: str, changes: dict[str, Any], level: Level) -> None:
    assert base(check, file=replace(FILE, **changes)).level is level


def test_durations_are_short() -> None:
    told = [amount(seconds) for seconds in (0.25, 3, 12, 119, 120, 7200, 200_000)]
    assert told == ["0.2 s", "3 s", "12 s", "119 s", "2 m", "2 h", "2 d"]
