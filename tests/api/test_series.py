"""`app.series`: metrics by time, in the scope of a tenant."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.apps import Note, Other, case_id
from duetime import ANY, Duetime, Fail, Line, Point, Series
from duetime.errors import InvalidArgument, NaiveDatetime
from duetime.model.health.series import MAX_POINTS, MAX_POINTS_BY, METRICS
from duetime.testing import FakeClock

NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)


async def run_all(app: Duetime, *payloads: Note | Other, tenant: str | None = None) -> None:
    """Let a worker of its own run these payloads, one after the other."""
    async with app.worker():
        for payload in payloads:
            action = await app.schedule(payload, tenant=tenant)
            await app.wait(action.id, timeout=20, tenant=tenant)


@pytest.fixture
def running_app(app: Duetime) -> Duetime:
    @app.handler(kind="note")
    async def note(payload: Note) -> object:
        return Fail("no") if payload.text == "fails" else None

    @app.handler(kind="other", queue="q")
    async def other(payload: Other) -> None: ...

    return app


def values(line: Line) -> list[float | None]:
    return [point.value for point in line.points]


async def test_points_are_of_the_minutes_in_which_runs_ended(
    running_app: Duetime, clock: FakeClock
) -> None:
    start = clock.now()
    await run_all(running_app, Note(), Note("fails"))
    clock.advance(minutes=2, seconds=30)
    await run_all(running_app, Note())
    found = await running_app.series("executed", since=start)
    assert isinstance(found, Series)
    assert (found.metric, found.since, found.by, found.capped) == ("executed", start, None, False)
    assert (found.step, found.until) == (timedelta(minutes=1), start + timedelta(minutes=3))
    assert found.points == (
        Point(start, 2),
        Point(start + timedelta(minutes=1), 0),
        Point(start + timedelta(minutes=2), 1),
    )
    [failed] = await running_app.series("failed", since=start)
    assert values(failed) == [1, 0, 0]
    [rate] = await running_app.series("throughput", since=start)
    assert values(rate) == [2 / 60, 0, 1 / 60]
    assert running_app.sync.series("executed", since=start) == found


async def test_without_arguments_it_shows_the_last_hour_by_the_minute(
    running_app: Duetime, clock: FakeClock
) -> None:
    await run_all(running_app, Note())
    clock.advance(minutes=59)
    found = await running_app.series("succeeded")
    assert len(found.points) == 60
    assert (found.points[0].value, found.until - found.since) == (1, timedelta(hours=1))
    clock.advance(minutes=1)
    assert {point.value for point in (await running_app.series("succeeded")).points} == {0}


async def test_steps_begin_with_the_first_minute(running_app: Duetime, clock: FakeClock) -> None:
    clock.advance(minutes=7, seconds=20)
    since = clock.now()
    await run_all(running_app, Note())
    clock.advance(minutes=9)
    found = await running_app.series("executed", since=since, step=timedelta(minutes=5))
    assert [point.at.minute for point in found.points] == [7, 12]
    assert [point.value for point in found.points] == [1, 0]


async def test_one_step_tells_of_the_whole_time(running_app: Duetime) -> None:
    await run_all(running_app, Note(), Note())
    [point] = (await running_app.series("executed", step=3600)).points
    assert point.value == 2


async def test_lines_by_kind_queue_and_outcome(running_app: Duetime) -> None:
    await run_all(running_app, Note(), Note("fails"), Other())
    for by, expected in {
        "kind": {"note": 2, "other": 1},
        "queue": {"default": 2, "q": 1},
        "outcome": {"succeeded": 2, "failed": 1},
    }.items():
        found = await running_app.series("executed", by=by)  # type: ignore[arg-type]
        assert {line.value: sum(p.value or 0 for p in line.points) for line in found} == expected
    [failed] = await running_app.series("failed", by="kind")
    assert failed.value == "note"
    by_outcome = await running_app.series("duration_p99", by="outcome")
    assert {line.value for line in by_outcome} == {"succeeded", "failed"}


async def test_runs_of_other_tenants_are_not_counted(running_app: Duetime) -> None:
    await run_all(running_app, Note())
    await run_all(running_app, Note(), Note(), tenant="a")
    await run_all(running_app, Other(), tenant="b")

    async def total(**scope: Any) -> float:
        return sum(p.value or 0 for p in (await running_app.series("executed", **scope)).points)

    assert [await total(), await total(tenant="a"), await total(tenant="c")] == [1, 2, 0]
    assert await total(tenant=ANY) == 4
    with running_app.acting(tenant="b"):
        assert await total() == 1
        assert [line.value for line in await running_app.series("executed", by="kind")] == ["other"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"metric": "excuted"}, "did you mean 'executed'"),
    ({"metric": "lateness"}, "give one of executed, succeeded"),
    ({"metric": None}, "metric"),
    ({"metric": ["executed"]}, "metric"),
    ({"by": "tenant"}, 'give "queue", "kind" or "outcome"'),
    ({"by": "knd"}, "did you mean 'kind'"),
    ({"by": ["kind"]}, "by"),
    ({"step": 0}, "whole minutes"),
    ({"step": 90}, "whole minutes"),
    ({"step": 59.9}, "whole minutes"),
    ({"step": -60}, "negative"),
    ({"step": "1m"}, "seconds or a timedelta"),
    ({"step": True}, "seconds or a timedelta"),
    ({"step": float("nan")}, "finite"),
    ({"since": "yesterday"}, "aware datetime"),
    ({"since": datetime(2031, 1, 1, tzinfo=UTC)}, "before 2030"),
    (
        {"since": datetime(2030, 1, 1, tzinfo=UTC), "until": datetime(2029, 1, 1, tzinfo=UTC)},
        "2029",
    ),
    ({"since": datetime(2020, 1, 1, tzinfo=UTC), "step": 60}, "points, 1500 are allowed"),
    ({"tenant": ""}, "tenant"),
    ({"tenant": 7}, "tenant"),
]


@pytest.mark.parametrize(("wrong", "match"), BAD, ids=case_id)
async def test_bad_arguments_are_refused(
    memory_app: Duetime, wrong: dict[str, Any], match: str
) -> None:
    given = {"metric": "executed"} | wrong
    with pytest.raises(InvalidArgument, match=match) as error:
        await memory_app.series(**given)
    assert next(iter(wrong)) in str(error.value)


@pytest.mark.parametrize("name", ["since", "until"])
async def test_naive_instants_are_refused(memory_app: Duetime, name: str) -> None:
    with pytest.raises(NaiveDatetime, match=name):
        await memory_app.series("executed", **{name: NAIVE})  # type: ignore[arg-type]


@pytest.mark.parametrize(("by", "most"), [(None, MAX_POINTS), ("kind", MAX_POINTS_BY)])
async def test_the_step_that_is_asked_for_suffices(
    memory_app: Duetime, clock: FakeClock, by: Any, most: int
) -> None:
    since = clock.now() - timedelta(days=30, seconds=7)
    with pytest.raises(InvalidArgument, match=f"{most} are allowed") as error:
        await memory_app.series("executed", since=since, step=60, by=by)
    least = int(str(error.value).split("at least ")[1].split(" ")[0])
    found = await memory_app.series("executed", since=since, step=least, by=by)
    assert all(len(line.points) <= most for line in found)


@pytest.mark.parametrize("metric", METRICS)
async def test_every_metric_can_be_read_at_the_ends_of_time(app: Duetime, metric: Any) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    found = await app.series(metric, since=first, until=last)
    assert (found.points[0].at, {point.value for point in found.points} <= {0, None}) == (
        first,
        True,
    )


async def test_a_series_does_not_begin_before_the_first_instant(memory_app: Duetime) -> None:
    first = datetime.min.replace(tzinfo=UTC)
    with pytest.raises(InvalidArgument, match="until"):
        await memory_app.series("executed", until=first)
    assert len((await memory_app.series("executed", until=first + timedelta(hours=1))).points) == 60
