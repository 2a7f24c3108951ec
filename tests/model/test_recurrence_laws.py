"""Laws that hold for every rule: strictly increasing, nothing skipped, both directions agree."""

from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Recurrence
from duetime.model.recurrence.base import AnyOf, Exclusions, Without
from duetime.model.recurrence.serialize import from_text, to_text

from .rules import EXCLUSIONS, INSTANTS, LENGTHS, RULES, SIMPLE, no_deadline

MICROSECOND = timedelta(microseconds=1)
MAX_TICKS = 300
pytestmark = pytest.mark.usefixtures("small_search_bound")


@no_deadline
@given(rule=RULES, after=INSTANTS)
def test_strictly_increasing(rule: Recurrence, after: datetime) -> None:
    tick = rule.next(after)
    for _ in range(20):
        if tick is None:
            return
        assert tick > after
        after, tick = tick, rule.next(tick)


@no_deadline
@given(rule=RULES, first_instant=INSTANTS, second_instant=INSTANTS)
def test_nothing_is_skipped(
    rule: Recurrence, first_instant: datetime, second_instant: datetime
) -> None:
    """From every instant between two neighbouring ticks, `next` returns the later tick."""
    early, late = sorted((first_instant, second_instant))
    first, second = rule.next(early), rule.next(late)
    if first is None or second is None:
        assert second is None
    else:
        assert first <= second
        assert first == second or first <= late
        assert rule.next(first - MICROSECOND) == first
        assert first in rule


@no_deadline
@given(rule=RULES, after=INSTANTS, length=LENGTHS)
def test_forward_and_backward_agree(rule: Recurrence, after: datetime, length: timedelta) -> None:
    until = after + length
    forward = rule.between(after, until, MAX_TICKS)
    until = forward[-1] if len(forward) == MAX_TICKS else until
    assert all(after < tick <= until for tick in forward)
    assert all(earlier < later for earlier, later in pairwise(forward))
    backward = []
    tick = rule.latest(after, until)
    while tick is not None:
        backward.append(tick)
        tick = rule.latest(after, tick - MICROSECOND)
    assert backward[::-1] == forward


@no_deadline
@given(rules=st.lists(SIMPLE, min_size=1, max_size=3), after=INSTANTS, length=LENGTHS)
def test_a_union_is_the_union(rules: list[Recurrence], after: datetime, length: timedelta) -> None:
    joined = AnyOf(rules)
    expected = {tick for rule in rules for tick in rule.between(after, after + length, MAX_TICKS)}
    assert joined.between(after, after + length, MAX_TICKS) == sorted(expected)[:MAX_TICKS]


@no_deadline
@given(rule=SIMPLE, excluded=EXCLUSIONS, after=INSTANTS, length=LENGTHS)
def test_an_exclusion_is_the_difference(
    rule: Recurrence, excluded: Exclusions, after: datetime, length: timedelta
) -> None:
    zone = ZoneInfo(rule.tz)

    def is_left(tick: datetime) -> bool:
        local: date = tick.astimezone(zone).date()
        return (
            local not in excluded.dates
            and tick not in excluded.instants
            and not any(tick in other for other in excluded.rules)
        )

    all_ticks = rule.between(after, after + length, MAX_TICKS)
    until = all_ticks[-1] if len(all_ticks) == MAX_TICKS else after + length
    found = Without(rule, excluded).between(after, until, MAX_TICKS)
    assert found == [tick for tick in all_ticks if is_left(tick)]


@no_deadline
@given(rule=RULES)
def test_a_text_is_read_back_as_the_same_rule(rule: Recurrence) -> None:
    text = to_text(rule)
    assert from_text(text, rule.tz) == rule
    assert to_text(from_text(text, rule.tz)) == text
    assert rule.describe() == from_text(text, rule.tz).describe()
