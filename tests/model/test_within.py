"""A rule within a span has the ticks of the rule that lie in the span, and no others."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from duetime import Cron, Every, Recurrence
from duetime.model.recurrence.base import BEGINNING, END
from duetime.model.recurrence.within import Within

from .rules import INSTANTS, LENGTHS, RULES, no_deadline

MICROSECOND = timedelta(microseconds=1)
MAX_TICKS = 100
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = Cron("0 * * * *")


@pytest.mark.usefixtures("small_search_bound")
@no_deadline
@given(rule=RULES, start=INSTANTS, length=LENGTHS, after=INSTANTS)
def test_it_has_the_ticks_of_the_span_and_no_others(
    rule: Recurrence, start: datetime, length: timedelta, after: datetime
) -> None:
    end = start + length
    inside = rule.between(start - MICROSECOND, end, MAX_TICKS)
    span = Within(rule, start, inside[-1] if len(inside) == MAX_TICKS else end)
    assert span.between(BEGINNING, END, MAX_TICKS + 1) == inside
    assert span.next(after) == next((tick for tick in inside if tick > after), None)
    assert span.latest(after, END) == next((t for t in reversed(inside) if t > after), None)
    assert span.latest(BEGINNING, after) == next((t for t in reversed(inside) if t <= after), None)
    wake = span.wake(after)
    assert wake is None or after < wake <= (span.next(after) or span.end)


def test_both_ends_are_included() -> None:
    span = Within(HOURLY, NOON, NOON + 2 * HOUR)
    assert span.between(BEGINNING, END, 9) == [NOON, NOON + HOUR, NOON + 2 * HOUR]
    assert NOON in span
    assert NOON - HOUR not in span
    assert NOON + 3 * HOUR not in span


def test_either_end_may_be_open() -> None:
    assert Within(HOURLY, end=NOON).next(NOON) is None
    assert Within(HOURLY, end=NOON).latest(BEGINNING, END) == NOON
    assert Within(HOURLY, start=NOON).next(BEGINNING) == NOON
    assert Within(HOURLY, start=NOON).latest(BEGINNING, NOON - MICROSECOND) is None


def test_an_interval_keeps_its_grid() -> None:
    """The start of the span is no anchor."""
    span = Within(Every(hours=5), NOON)
    assert span.next(BEGINNING) == Every(hours=5).next(NOON - MICROSECOND)


def test_its_words_name_the_span() -> None:
    words = Within(HOURLY, NOON, NOON + HOUR).describe()
    assert words == (
        f"{HOURLY.describe()}, from 2030-01-01T12:00:00+00:00, until 2030-01-01T13:00:00+00:00"
    )
    assert Within(Cron("0 9 * * *", tz="Europe/Paris"), NOON).tz == "Europe/Paris"
