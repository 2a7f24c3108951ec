"""Series computed from sums of figures."""

from collections.abc import Sequence

import pytest

from duetime.model.clock import SECOND, from_micros
from duetime.model.health.figures import (
    MINUTE,
    REST,
    FigureFilter,
    FigureSum,
    FigureSums,
)
from duetime.model.health.series import (
    DEFAULT_POINTS,
    MINUTES_OF_DEFAULT_STEPS,
    Series,
    default_step,
    series_of,
)


def series(
    metric: str,
    sums: Sequence[FigureSum],
    by: str | None = None,
    minutes: int = 4,
    step: int = 2 * MINUTE,
) -> Series:
    wanted = FigureFilter(since=0, until=minutes * MINUTE, step=step, by=by)  # type: ignore[arg-type]
    return series_of(metric, wanted, FigureSums(sums, capped=False))


def values(found: Series) -> dict[str | None, list[float | None]]:
    return {line.value: [point.value for point in line.points] for line in found}


def test_each_step_has_a_point_also_without_runs() -> None:
    found = series("executed", [FigureSum(1, REST, 0, 7)], minutes=5)
    assert [(point.at, point.value) for point in found.points] == [
        (from_micros(0), 0),
        (from_micros(2 * MINUTE), 7),
        (from_micros(4 * MINUTE), 0),
    ]
    assert (found.since, found.until) == (from_micros(0), from_micros(5 * MINUTE))


def test_throughput_is_by_the_second() -> None:
    found = series("throughput", [FigureSum(0, REST, 0, 60)])
    assert values(found) == {None: [0.5, 0.0]}


def test_the_last_step_may_be_short() -> None:
    found = series("throughput", [FigureSum(0, REST, 0, 60), FigureSum(1, REST, 0, 60)], minutes=3)
    assert values(found) == {None: [0.5, 1.0]}


def test_a_quantile_without_runs_is_unknown() -> None:
    sums = [FigureSum(1, REST, SECOND, 3), FigureSum(1, REST, SECOND // 2, 1)]
    assert values(series("lateness_p50", sums)) == {None: [None, 0.5 + 0.5 / 3]}


def test_without_any_figures_there_is_one_line_of_zeros() -> None:
    assert values(series("executed", [])) == {None: [0, 0]}
    assert values(series("executed", [], by="kind")) == {}
    assert series("executed", [], by="kind").points == ()


def test_lines_are_ordered_by_runs_and_the_others_come_last() -> None:
    sums = [
        FigureSum(0, "a", 0, 1),
        FigureSum(0, "b", 0, 2),
        FigureSum(1, "b", 0, 2),
        FigureSum(0, REST, 0, 90),
        FigureSum(1, "c", 0, 1),
    ]
    found = series("executed", sums, by="kind")
    assert [line.value for line in found] == ["b", "a", "c", "other"]
    assert values(found)["b"] == [2, 2]


@pytest.mark.parametrize("minutes", [1, 59, 60, 120, 121, 1440, 10_080, 525_600])
def test_default_steps_give_few_points(minutes: int) -> None:
    step = default_step(minutes * MINUTE, MINUTE)
    assert -(-minutes * MINUTE // step) <= DEFAULT_POINTS
    whole = step // MINUTE
    assert whole in MINUTES_OF_DEFAULT_STEPS or whole % MINUTES_OF_DEFAULT_STEPS[-1] == 0


def test_an_hour_is_shown_by_the_minute() -> None:
    assert default_step(60 * MINUTE, MINUTE) == MINUTE
