"""Cron around every change of clocks 2020-2037 of every zone, against a scan of all minutes."""

from bisect import bisect_right
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from duetime import Cron

from .cron_scan import Sets, Window, histories

MINUTES, HOURS = tuple(range(60)), tuple(range(24))
QUARTERS = (0, 15, 30, 45)
MONDAY, FRIDAY, SUNDAY = 0, 4, 6
WORKDAYS = frozenset(range(5))

FIXED = [
    Sets("0 0 * * *", (0,), (0,)),
    Sets("30 0 * * *", (30,), (0,)),
    Sets("0 1 * * *", (0,), (1,)),
    Sets("15 1 * * *", (15,), (1,)),
    Sets("59 1 * * *", (59,), (1,)),
    Sets("0 2 * * *", (0,), (2,)),
    Sets("30 2 * * *", (30,), (2,)),
    Sets("0,30 2 * * *", (0, 30), (2,)),
    Sets("0 3 * * *", (0,), (3,)),
    Sets("0 2,3 * * *", (0,), (2, 3)),
    Sets("45 23 * * *", (45,), (23,)),
    Sets("30 0-4 * * *", (30,), (0, 1, 2, 3, 4)),
    Sets("0-59/15 0-23 * * *", QUARTERS, HOURS),
    Sets("5 22-2 * * *", (5,), (0, 1, 2, 22, 23)),
    Sets("0 2 * * SUN", (0,), (2,), weekdays=frozenset({SUNDAY})),
    Sets("30 1 * * 1-5", (30,), (1,), weekdays=WORKDAYS),
    Sets("30 0 1,25-31 * FRI", (30,), (0,), days=frozenset({1, *range(25, 32)}),
         weekdays=frozenset({FRIDAY}), either=True),
    Sets("0 0 */2 * SUN", (0,), (0,), days=frozenset(range(1, 32, 2)),
         weekdays=frozenset({SUNDAY})),
    Sets("30 2 * 3,4,10,11 *", (30,), (2,), months=frozenset({3, 4, 10, 11})),
    Sets("10 12 * * *", (10,), (12,)),
]  # fmt: skip
INTERVAL = [
    Sets("* * * * *", MINUTES, HOURS, interval=True),
    Sets("*/15 * * * *", QUARTERS, HOURS, interval=True),
    Sets("0 * * * *", (0,), HOURS, interval=True),
    Sets("30 * * * *", (30,), HOURS, interval=True),
    Sets("*/30 2 * * *", (0, 30), (2,), interval=True),
    Sets("* 1 * * *", MINUTES, (1,), interval=True),
    Sets("0 */2 * * *", (0,), tuple(range(0, 24, 2)), interval=True),
    Sets("15 */3 * * MON", (15,), tuple(range(0, 24, 3)), weekdays=frozenset({MONDAY}),
         interval=True),
    Sets("*/20 0 * * *", (0, 20, 40), (0,), interval=True),
    Sets("*/7 23-1 * * *", tuple(range(0, 60, 7)), (0, 1, 23), interval=True),
]  # fmt: skip
ALL = FIXED + INTERVAL


def test_there_are_thirty_expressions_and_dozens_of_histories() -> None:
    assert len(ALL) == 30
    assert len(histories()) > 40
    assert sum(map(len, histories().values())) > 1000


SHARES = 8
LONG = [pytest.param(share, marks=pytest.mark.soak) for share in range(1, SHARES)]


# In shares, because parameters are needed before the zones are read.
@pytest.mark.parametrize("share", [0, *LONG])
def test_around_each_change(share: int) -> None:
    for tz in list(histories())[share::SHARES]:
        check(tz)


def check(tz: str) -> None:
    rules = [(sets, Cron(sets.text, tz=tz)) for sets in ALL]
    for number, change in enumerate(histories()[tz]):
        window = Window(change, ZoneInfo(tz))
        for sets, rule in rules:
            if len(sets.times) == 1440 and number % 8:
                continue  # every minute takes as long as all others together
            assert rule.interval == sets.interval
            expected = window.ticks(sets)
            assert walked(rule, change) == expected, (sets.text, change)
            check_within(rule, change, expected)


def check_within(rule: Cron, change: datetime, expected: list[datetime]) -> None:
    """Start also from within the gap, or from within either pass of a fold."""
    for minutes in (-40, -20, 10, 40):
        start = change + timedelta(minutes=minutes)
        place = bisect_right(expected, start)
        if 0 < place < len(expected):
            assert rule.next(start) == expected[place], (rule, start)
            assert rule.latest(change - DAY, start) == expected[place - 1], (rule, start)


DAY, MICROSECOND = timedelta(days=1), timedelta(microseconds=1)


def walked(rule: Cron, change: datetime) -> list[datetime]:
    """Return the ticks less than a day from the change; both directions must agree."""
    first, last = change - DAY, change + DAY - MICROSECOND
    forward = rule.between(first, last, 3000)
    assert all(earlier < later for earlier, later in pairwise(forward))
    if len(forward) < 100:
        backward = []
        tick = rule.latest(first, last)
        while tick is not None:
            backward.append(tick)
            tick = rule.latest(first, tick - MICROSECOND)
        assert backward[::-1] == forward
    return forward
