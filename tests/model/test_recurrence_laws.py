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

from .rules import EXCLUSIONS, INSTANTS, LENGTHS, RULES, SIMPLE, unhurried

MICROSECOND = timedelta(microseconds=1)
MOST = 300
pytestmark = pytest.mark.usefixtures("impatience")


@unhurried
@given(rule=RULES, after=INSTANTS)
def test_strictly_increasing(rule: Recurrence, after: datetime) -> None:
    tick = rule.next(after)
    for _ in range(20):
        if tick is None:
            return
        assert tick > after
        after, tick = tick, rule.next(tick)


@unhurried
@given(rule=RULES, one=INSTANTS, other=INSTANTS)
def test_nothing_is_skipped(rule: Recurrence, one: datetime, other: datetime) -> None:
    """From anywhere before a tick, and not beyond the one before it, that tick comes next."""
    early, late = sorted((one, other))
    first, second = rule.next(early), rule.next(late)
    if first is None or second is None:
        assert second is None
    else:
        assert first <= second
        assert first == second or first <= late
        assert rule.next(first - MICROSECOND) == first
        assert first in rule


@unhurried
@given(rule=RULES, after=INSTANTS, length=LENGTHS)
def test_forward_and_backward_agree(rule: Recurrence, after: datetime, length: timedelta) -> None:
    until = after + length
    forward = rule.between(after, until, MOST)
    until = forward[-1] if len(forward) == MOST else until
    assert all(after < tick <= until for tick in forward)
    assert all(one < other for one, other in pairwise(forward))
    backward = []
    tick = rule.latest(after, until)
    while tick is not None:
        backward.append(tick)
        tick = rule.latest(after, tick - MICROSECOND)
    assert backward[::-1] == forward


@unhurried
@given(rules=st.lists(SIMPLE, min_size=1, max_size=3), after=INSTANTS, length=LENGTHS)
def test_a_union_is_the_union(rules: list[Recurrence], after: datetime, length: timedelta) -> None:
    joined = AnyOf(rules)
    expected = {tick for rule in rules for tick in rule.between(after, after + length, MOST)}
    assert joined.between(after, after + length, MOST) == sorted(expected)[:MOST]


@unhurried
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

    all_ticks = rule.between(after, after + length, MOST)
    until = all_ticks[-1] if len(all_ticks) == MOST else after + length
    found = Without(rule, excluded).between(after, until, MOST)
    assert found == [tick for tick in all_ticks if is_left(tick)]


@unhurried
@given(rule=RULES)
def test_a_text_comes_back_as_the_same_rule(rule: Recurrence) -> None:
    text = to_text(rule)
    assert from_text(text, rule.tz) == rule
    assert to_text(from_text(text, rule.tz)) == text
    assert rule.describe() == from_text(text, rule.tz).describe()
