"""Misfires: which ticks run after a time in which no worker could run them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Cron, Every, Instants, Misfire, Recurrence
from duetime.errors import InvalidArgument
from duetime.model.jobs.misfire import (
    MAX_COUNTED_MISFIRES,
    MAX_LISTED_MISFIRES,
    DueTicks,
    Misfired,
    decide,
)
from duetime.model.recurrence.base import Exclusions, Without

from .rules import INSTANTS, LENGTHS, RULES, no_deadline

NOW = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOURLY = Every(hours=1)
POLICIES = st.one_of(
    st.just(Misfire.skip()),
    st.just(Misfire.once()),
    st.builds(Misfire.all, limit=st.integers(1, 30), window=LENGTHS),
)


def clock(*hours: int) -> tuple[datetime, ...]:
    return tuple(NOW.replace(hour=hour, minute=0, second=0) for hour in hours)


def test_a_tick_that_is_a_little_late_just_runs() -> None:
    noon = clock(12)[0]
    for misfire in (Misfire.skip(), Misfire.once(), Misfire.all()):
        due = decide(HOURLY, noon - SECOND, noon + 10 * SECOND, misfire)
        assert due.run == (noon,)
        assert due.misfired is None


def test_skip_runs_none() -> None:
    due = decide(HOURLY, clock(8)[0], NOW, Misfire.skip())
    assert due.run == ()
    assert due.misfired is not None
    assert (due.misfired.first, due.misfired.last) == clock(9, 12)
    assert due.misfired.ticks == clock(9, 10, 11, 12)
    assert (due.misfired.count, due.misfired.more) == (4, False)


def test_once_runs_the_newest() -> None:
    due = decide(HOURLY, clock(8)[0], NOW, Misfire.once())
    assert due.run == clock(12)
    assert due.misfired is not None
    assert due.misfired.ticks == clock(9, 10, 11)


def test_once_runs_no_misfire_if_a_tick_runs_now_anyway() -> None:
    due = decide(HOURLY, clock(8)[0], clock(12)[0] + SECOND, Misfire.once())
    assert due.run == clock(12)
    assert due.misfired is not None
    assert due.misfired.ticks == clock(9, 10, 11)


def test_all_runs_the_newest_within_limit_and_window_oldest_first() -> None:
    due = decide(HOURLY, clock(1)[0], NOW, Misfire.all(limit=3))
    assert due.run == clock(10, 11, 12)
    assert due.misfired is not None
    assert (due.misfired.last, due.misfired.count) == (clock(9)[0], 8)
    window = NOW - clock(9)[0]
    assert decide(HOURLY, clock(1)[0], NOW, Misfire.all(window=window)).run == clock(9, 10, 11, 12)


def test_without_missed_ticks_nothing_runs() -> None:
    due = decide(HOURLY, clock(12)[0], NOW, Misfire.once())
    assert due.run == ()
    assert due.misfired is None


def test_misfire_after_is_a_setting() -> None:
    due = decide(HOURLY, clock(11)[0], NOW, Misfire.skip(), misfire_after=30)
    assert due.run == clock(12)
    due = decide(HOURLY, clock(11)[0], NOW, Misfire.skip(), misfire_after=timedelta(seconds=29))
    assert due.run == ()


@pytest.mark.parametrize("rule", [Every(seconds=1), Cron("* * * * * *", tz="Europe/Paris")])
@pytest.mark.parametrize("misfire", [Misfire.skip(), Misfire.once(), Misfire.all(limit=5)])
def test_a_year_of_seconds_is_not_enumerated(rule: Recurrence, misfire: Misfire) -> None:
    start = NOW - timedelta(days=365)
    due = decide(rule, start, NOW, misfire, misfire_after=0)
    assert due.run[-1] == NOW
    assert due.misfired is not None
    assert due.misfired.first == start + SECOND
    assert due.misfired.last == due.run[0] - SECOND
    assert len(due.misfired.ticks) == MAX_LISTED_MISFIRES
    assert (due.misfired.count, due.misfired.more) == (MAX_COUNTED_MISFIRES, True)


@pytest.mark.usefixtures("small_search_bound")
@no_deadline
@given(rule=RULES, after=INSTANTS, length=LENGTHS, misfire=POLICIES)
def test_each_tick_runs_or_is_a_misfire(
    rule: Recurrence, after: datetime, length: timedelta, misfire: Misfire
) -> None:
    now = after + length
    ticks = rule.between(after, now, MAX_COUNTED_MISFIRES)
    if len(ticks) == MAX_COUNTED_MISFIRES:
        now = ticks[-1]
    due = decide(rule, after, now, misfire)
    missed = due.misfired.count if due.misfired else 0
    assert list(due.run) == ticks[missed:]
    assert due.misfired is None or list(due.misfired.ticks) == ticks[:missed][-MAX_LISTED_MISFIRES:]
    assert all(now - tick > timedelta(seconds=10) for tick in ticks[:missed])


def test_misfires_after_more_excluded_ticks_than_a_search_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`latest` finds misfires that `between`, which searches from the start, gives up on."""
    monkeypatch.setattr("duetime.model.recurrence.base.MAX_CHECKS_PER_WAKE", 10)
    start = datetime(2026, 5, 1, tzinfo=UTC)
    ticks = [start + timedelta(seconds=5000), start + timedelta(seconds=5002)]
    busy = Without(Every(seconds=1), Exclusions(instants=frozenset(ticks)))
    rule = Without(Every(seconds=1), Exclusions(rules=(busy,)))
    now = start + timedelta(seconds=5020)
    assert rule.next(start) is None
    due = decide(rule, start, now, Misfire.skip())
    assert due == DueTicks((), Misfired(ticks[0], ticks[1], tuple(ticks), 2, False))


def test_an_exhausted_list_has_no_ticks() -> None:
    due = decide(Instants(clock(9)), clock(8)[0], NOW, Misfire.once())
    assert due.run == clock(9)
    assert decide(Instants(clock(9)), clock(9)[0], NOW, Misfire.once()).run == ()


def test_values_and_texts() -> None:
    assert Misfire.of("skip") == Misfire.skip()
    assert Misfire.of("once") == Misfire.once()
    everything = Misfire.all(limit=5, window=timedelta(hours=1))
    assert Misfire.of(everything) is everything
    for misfire in (Misfire.skip(), Misfire.once(), everything):
        assert Misfire.from_text(misfire.to_text()) == misfire
    assert Misfire.once().to_text() == "once"
    assert everything.to_text() == '{"all": {"limit": 5, "window": 3600.0}}'


@pytest.mark.parametrize("value", ["all", "onse", "", None, 3, {"all": {}}])
def test_unknown_policies_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"Misfire\.all"):
        Misfire.of(value)


@pytest.mark.parametrize(
    "arguments",
    [{"limit": 0}, {"limit": 1.5}, {"limit": True}, {"limit": 10**6}, {"window": -1},
     {"window": "day"}],
)  # fmt: skip
def test_bounds(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Misfire.all(**arguments)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"all":{"x":1}}', '{"all":3}', "all"])
def test_foreign_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        Misfire.from_text(text)
