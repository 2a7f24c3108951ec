"""Every rule by which `duetime doctor` judges figures and diagnoses."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.model.health import checks as health
from duetime.model.health.checks import CheckResult, Level, is_usable, judge_database, judge_work
from duetime.model.health.diagnosis import (
    DatabaseFile,
    Diagnosis,
    ListenProbe,
    Schema,
    SnapshotHolder,
    Version,
)
from duetime.model.health.stats import LivingWorker, Parked, Stats
from duetime.model.health.worker import WorkerHealth, health_of_text, health_to_text
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


def work(check: str, runs: Any = None, **changes: Any) -> CheckResult:
    results = judge_work(replace(WELL, **changes), runs)
    [result] = [result for result in results if result.check == check]
    return result


def base(check: str, **facts: Any) -> CheckResult:
    results = judge_database(Diagnosis(**facts), "duetime migrate --app shop:app")
    return next(result for result in results if result.check == check)


def test_healthy_figures_are_ok_and_have_no_remedy() -> None:
    results = judge_work(WELL)
    assert {result.level for result in results} == {OK}
    assert {result.remedy for result in results} == {None}
    assert work("unfinished").figure == "3 scheduled, 2 running, 0 waiting, 0 parked"


@pytest.mark.parametrize(
    ("oldest", "level"),
    [(0.0, OK), (59.9, OK), (60.0, WARNING), (599.0, WARNING), (600.0, FAILURE)],
)
def test_overdue_work_is_worse_the_older_it_is(oldest: float, level: Level) -> None:
    result = work("overdue", overdue=4, oldest_overdue=oldest)
    assert result.level is level
    assert result.figure.startswith("4, the oldest for ")
    assert (result.remedy is None) == (level is OK)


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
    result = work("leases", expired_leases=3)
    assert (result.level, result.figure) == (WARNING, "3 expired")


def test_unreachable_rows_are_a_failure() -> None:
    assert work("unreachable", unreachable=1).level is FAILURE


def test_no_worker_is_a_warning() -> None:
    assert work("workers").figure == "1 alive: w1"
    assert work("workers", workers=()).level is WARNING


def test_failed_actions_are_a_warning_that_names_the_retry_command() -> None:
    result = work("failed", failed=1200)
    assert (result.level, result.figure) == (WARNING, "1,200 actions")
    assert "duetime actions find --state failed" in (result.remedy or "")
    assert "duetime actions retry" in (result.remedy or "")


@pytest.mark.parametrize(
    ("oldest", "level"), [(59.9, OK), (60.0, WARNING), (599.0, WARNING), (600.0, FAILURE)]
)
def test_overdue_ticks_are_worse_the_older_they_are(oldest: float, level: Level) -> None:
    jobs = JobStats(overdue=2, oldest_overdue=oldest, overdue_apps=("shop",))
    result = work("ticks", jobs=jobs)
    assert result.level is level
    assert result.figure.startswith("ticks of 2 jobs are overdue, the oldest for ")
    assert (result.remedy is None) == (level is OK)


def test_overdue_ticks_want_a_worker_of_their_own_app() -> None:
    jobs = JobStats(overdue=2, oldest_overdue=900.0, overdue_apps=("books", "shop"))
    assert work("ticks", jobs=jobs).remedy == "start a worker of books"
    assert work("ticks", jobs=jobs, workers=()).remedy == "start a worker of books, shop"
    ours = replace(jobs, overdue_apps=("shop",))
    assert "check the logs of the workers" in (work("ticks", jobs=ours).remedy or "")


def test_failing_jobs_are_a_warning_that_names_the_first() -> None:
    names = tuple(f"job-{number}" for number in range(7))
    result = work("failing", jobs=JobStats(failing=names))
    figure = "7 jobs: job-0, job-1, job-2, job-3, job-4 and 2 more"
    assert (result.level, result.figure) == (WARNING, figure)
    assert result.remedy == "see why with `duetime jobs runs job-0`"


def test_jobs_of_another_version_want_an_upgrade() -> None:
    result = work("unreadable", jobs=JobStats(unreadable=("job-1",)))
    assert (result.level, result.figure) == (WARNING, "1 job: job-1")
    assert "upgrade duetime" in (result.remedy or "")


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
        ("mail", lambda kind, version: True, "claims it when it is due"),
    ],
)
def test_the_remedy_for_parked_actions_names_the_missing_worker(
    kind: str, runs: Any, remedy: str
) -> None:
    unknown = () if kind == "mail" else (kind,)
    result = work(
        "parked", runs, parked=3, parked_kinds=(Parked(kind, 2, 3),), unknown_kinds=unknown
    )
    assert (result.level, result.figure) == (WARNING, f"3: {kind} v2 (3)")
    assert remedy in (result.remedy or "")


def test_a_failed_connection_is_the_only_result() -> None:
    assert not is_usable(Diagnosis(fault="no server"))
    assert base("connection", fault="no server") == CheckResult("connection", FAILURE, "no server")


def test_a_slow_answer_is_a_warning() -> None:
    assert base("connection", answered_in=0.02).figure == "answered in 20 ms"
    assert base("connection", answered_in=1.0).level is WARNING
    assert base("connection").level is OK  # a store that does not report it


@pytest.mark.parametrize(
    ("found", "level"), [((13, 0), OK), ((18, 1), OK), ((12, 9), FAILURE), ((9, 6), FAILURE)]
)
def test_versions_are_compared_by_their_numbers(found: tuple[int, ...], level: Level) -> None:
    result = base("PostgreSQL", versions=(Version("PostgreSQL", found, (13,)),))
    assert result.level is level


@pytest.mark.parametrize(
    ("schema", "level", "words", "usable"),
    [
        (Schema(1, 1), OK, "version 1", True),
        (Schema(0, 1, ("0001_actions",)), FAILURE, "0001_actions pending", False),
        (Schema(3, 1), WARNING, "knows up to 1 and can use it", True),
        (Schema(3, 1, (), "needs newer code"), FAILURE, "needs newer code", False),
        (Schema(1, 1, missing_indexes=("x_a", "x_b")), WARNING, "the indexes x_a, x_b", True),
    ],
)
def test_schemas(schema: Schema, level: Level, words: str, usable: bool) -> None:
    result = base("schema", schema=schema)
    assert result.level is level
    assert words in result.figure
    assert is_usable(Diagnosis(schema=schema)) == usable


def test_pending_migrations_name_the_command() -> None:
    result = base("schema", schema=Schema(0, 1, ("0001_actions",)))
    assert result.remedy == "run `duetime migrate --app shop:app`"


def test_listening() -> None:
    assert base("listen", listen_probe=ListenProbe(False)).level is OK
    assert (
        base("listen", listen_probe=ListenProbe(True, 0.01, 2.0)).figure == "notified after 10 ms"
    )
    missed = base("listen", listen_probe=ListenProbe(True, None, 2.0))
    assert missed.level is WARNING
    assert "listen=False" in (missed.remedy or "")


@pytest.mark.parametrize(
    ("holder", "level"),
    [
        (SnapshotHolder("session 7 (psql, me)", 60.0), OK),
        (SnapshotHolder("session 7 (psql, me)", 61.0), WARNING),
        (SnapshotHolder("replication slot s", None, 1_000_000), OK),
        (SnapshotHolder("replication slot s", None, 1_000_001), WARNING),
    ],
)
def test_the_oldest_snapshot(holder: SnapshotHolder, level: Level) -> None:
    result = base("snapshots", answered_in=0.0, snapshot_holders=(holder,))
    assert result.level is level
    assert (holder.name in result.figure) == (level is WARNING)
    assert base("snapshots", answered_in=0.0, snapshot_holders=()).figure == "none open"


def test_a_store_without_snapshot_report_has_no_snapshot_check() -> None:
    results = judge_database(Diagnosis(answered_in=0.0), "duetime migrate")
    assert [result.check for result in results] == ["connection"]


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


def test_what_workers_say_of_themselves_is_a_failure() -> None:
    reporting = replace(
        WORKER, id="w2", health=WorkerHealth(("claim is failing: x", "not listening"))
    )
    result = work("problems", workers=(WORKER, reporting))
    assert result.level is FAILURE
    assert result.figure == "w2: claim is failing: x; not listening"


def test_refused_wakes_are_a_warning_with_the_worker_that_refused_most() -> None:
    refused = [replace(WORKER, id=f"w{n}", health=WorkerHealth((), n)) for n in (0, 7, 3)]
    result = work("wakes", workers=tuple(refused))
    assert result.level is WARNING
    assert result.figure.startswith("w7 refused 7 messages")


@given(
    st.builds(WorkerHealth, st.lists(st.text(max_size=50), max_size=5).map(tuple), st.integers(0))
)
def test_stored_health_is_read_back(stored: WorkerHealth) -> None:
    assert health_of_text(health_to_text(stored)) == stored


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "5", '{"problems": 5, "refused_wakes": 0}', "[" * 10**5]
)
def test_health_that_cannot_be_read_is_a_problem(text: str) -> None:
    [problem] = health_of_text(text).problems
    assert problem.startswith("its stored health is unreadable")


def test_durations_are_short() -> None:
    texts = [amount(seconds) for seconds in (0.25, 3, 12, 119, 120, 7200, 200_000)]
    assert texts == ["0.2 s", "3 s", "12 s", "119 s", "2 m", "2 h", "2 d"]
