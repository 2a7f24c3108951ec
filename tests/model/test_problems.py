"""What counts as a problem, since when, and which comes first."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from duetime.model.health.checks import Level
from duetime.model.health.diagnosis import DatabaseFile, Diagnosis, SnapshotHolder
from duetime.model.health.problems import (
    FailingJob,
    Problem,
    ProblemFacts,
    is_stalled,
    problems_of,
)
from duetime.model.health.queues import Queue
from duetime.model.health.stats import Parked
from duetime.model.health.worker import WorkerHealth
from duetime.model.jobs.stats import JobStats
from model.test_health import FILE, NOW, WELL, WORKER

WARNING, FAILURE = Level.warning, Level.failure
SWEEP = 10.0


def ago(seconds: float) -> Any:
    return NOW - timedelta(seconds=seconds)


def found(facts: dict[str, Any] | None = None, **changes: Any) -> list[Problem]:
    stats = replace(WELL, **changes)
    return problems_of(ProblemFacts(stats=stats, sweep=SWEEP, **(facts or {})))


def test_all_well() -> None:
    assert found({"diagnosis": Diagnosis(file=FILE, snapshot_holders=())}) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"workers": ()}, Problem(name="no_worker")),
        (
            {"workers": (), "overdue": 2, "oldest_overdue": 5.0},
            Problem(name="no_worker", level=FAILURE, since=ago(5), count=2),
        ),
        (
            {"workers": (replace(WORKER, seen_at=ago(21)),)},
            Problem(name="worker_stalled", subject="w1", since=ago(21)),
        ),
        (
            {"workers": (replace(WORKER, health=WorkerHealth(("no room",))),)},
            Problem(name="worker_reports", level=FAILURE, subject="w1", details=("no room",)),
        ),
        (
            {"workers": (replace(WORKER, health=WorkerHealth((), 3)),)},
            Problem(name="wakes_refused", subject="w1", count=3),
        ),
        (
            {"overdue": 4, "oldest_overdue": 60.0},
            Problem(name="overdue", since=ago(60), count=4, seconds=60.0),
        ),
        (
            {"overdue": 4, "oldest_overdue": 600.0},
            Problem(name="overdue", level=FAILURE, since=ago(600), count=4, seconds=600.0),
        ),
        ({"expired_leases": 1}, Problem(name="leases_expired", count=1)),
        ({"unreachable": 1}, Problem(name="unreachable", level=FAILURE, count=1)),
        (
            {"jobs": JobStats(overdue=1, oldest_overdue=61.0, overdue_apps=("shop",))},
            Problem(name="ticks_overdue", since=ago(61), count=1, details=("shop",)),
        ),
        (
            {"jobs": JobStats(failing=("nightly",))},
            Problem(name="job_failing", subject="nightly"),
        ),
        (
            {"jobs": JobStats(unreadable=("nightly",))},
            Problem(name="job_unreadable", subject="nightly"),
        ),
        (
            {"parked_kinds": (Parked("mail", 2, 7),), "unknown_kinds": ("mail",)},
            Problem(name="kind_unknown", subject="mail", count=7, details=("2",)),
        ),
        (
            {"parked_kinds": (Parked("mail", 2, 7),)},
            Problem(name="version_unknown", subject="mail", count=7, details=("2",)),
        ),
        ({"paused_queues": ("q",)}, Problem(name="queue_paused", subject="q")),
        ({"clock_offset": -1.0}, Problem(name="clock_differs", seconds=1.0)),
    ],
    ids=lambda value: value.name if isinstance(value, Problem) else "",
)
def test_what_figures_tell(changes: dict[str, Any], problem: Problem) -> None:
    assert found(**changes) == [problem]


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": (replace(WORKER, seen_at=ago(20)),)},
        {"overdue": 4, "oldest_overdue": 59.9},
        {"jobs": JobStats(overdue=1, oldest_overdue=59.9)},
        {"clock_offset": 0.9},
        {"failed": 1000},
    ],
)
def test_what_is_no_problem_yet(changes: dict[str, Any]) -> None:
    assert found(**changes) == []


def test_who_sees_more_learns_more() -> None:
    paused = Queue(
        name="q",
        paused_at=ago(9),
        paused_by="ann",
        pause_note="flood",
        paused_until=NOW,
        scheduled=3,
    )
    facts = {"queues": [paused], "failing": [FailingJob("nightly", 5, ago(7))]}
    job, queue = found(facts, paused_queues=("q",), jobs=JobStats(failing=("nightly",)))
    assert job == Problem(name="job_failing", subject="nightly", since=ago(7), count=5)
    assert (queue.since, queue.by, queue.until) == (ago(9), "ann", NOW)
    assert (queue.count, queue.details) == (3, ("flood",))


@pytest.mark.parametrize(
    ("holder", "problem"),
    [
        (
            SnapshotHolder("psql", 61.0),
            Problem(name="snapshot_held", subject="psql", since=ago(61)),
        ),
        (SnapshotHolder("psql", 60.0), None),
        (
            SnapshotHolder("slot", None, 1_000_001),
            Problem(name="snapshot_held", subject="slot", count=1_000_001),
        ),
    ],
)
def test_snapshots_that_are_held(holder: SnapshotHolder, problem: Problem | None) -> None:
    diagnosis = Diagnosis(snapshot_holders=(holder,))
    assert found({"diagnosis": diagnosis}) == [problem] * (problem is not None)


@pytest.mark.parametrize(
    ("free", "level"), [(10**9, None), (499_999_999, WARNING), (49_999_999, FAILURE), (None, None)]
)
def test_disks_that_are_nearly_full(free: int | None, level: Level | None) -> None:
    diagnosis = Diagnosis(file=DatabaseFile("x.db", True, True, free))
    problems = found({"diagnosis": diagnosis})
    assert [(each.name, each.level, each.count) for each in problems] == (
        [] if level is None else [("disk_full", level, free)]
    )


def test_failures_come_first() -> None:
    problems = found(expired_leases=1, unreachable=1, paused_queues=("q",))
    assert [each.name for each in problems] == ["unreachable", "leases_expired", "queue_paused"]


def test_a_worker_is_stalled_after_two_sweeps() -> None:
    assert not is_stalled(WORKER, NOW + timedelta(seconds=20), SWEEP)
    assert is_stalled(WORKER, NOW + timedelta(seconds=20.1), SWEEP)
