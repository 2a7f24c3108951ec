"""Which ticks run after a time in which nothing could run them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Cron, Every, Instants, Misfire, Recurrence
from duetime.errors import InvalidArgument
from duetime.model.jobs.misfire import COUNTED, LISTED, decide

from .rules import INSTANTS, LENGTHS, RULES, unhurried

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


def test_once_makes_up_nothing_if_a_tick_runs_now_anyway() -> None:
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


def test_nothing_missed_is_nothing_to_do() -> None:
    due = decide(HOURLY, clock(12)[0], NOW, Misfire.once())
    assert due.run == ()
    assert due.misfired is None


def test_the_patience_is_a_setting() -> None:
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
    assert len(due.misfired.ticks) == LISTED
    assert (due.misfired.count, due.misfired.more) == (COUNTED, True)


@pytest.mark.usefixtures("impatience")
@unhurried
@given(rule=RULES, after=INSTANTS, length=LENGTHS, misfire=POLICIES)
def test_each_tick_runs_or_is_a_misfire(
    rule: Recurrence, after: datetime, length: timedelta, misfire: Misfire
) -> None:
    now = after + length
    ticks = rule.between(after, now, COUNTED)
    if len(ticks) == COUNTED:
        now = ticks[-1]
    due = decide(rule, after, now, misfire)
    missed = due.misfired.count if due.misfired else 0
    assert list(due.run) == ticks[missed:]
    assert due.misfired is None or list(due.misfired.ticks) == ticks[:missed][-LISTED:]
    assert all(now - tick > timedelta(seconds=10) for tick in ticks[:missed])


def test_a_list_that_has_ended() -> None:
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
def test_no_policy(value: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"Misfire\.all"):
        Misfire.of(value)


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": 1.5}, {"limit": True}, {"limit": 10**6},
                                   {"window": -1}, {"window": "day"}])  # fmt: skip
def test_bounds(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Misfire.all(**given)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"all":{"x":1}}', '{"all":3}', "all"])
def test_texts_that_nobody_wrote(text: str) -> None:
    with pytest.raises(InvalidArgument):
        Misfire.from_text(text)
