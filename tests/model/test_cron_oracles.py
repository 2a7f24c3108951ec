"""Cron against cronsim and croniter, where each of them is right."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from zoneinfo import ZoneInfo

import pytest
from croniter import CroniterError, croniter
from cronsim import CronSim, CronSimError

from duetime import Cron
from duetime.errors import InvalidRecurrence

from .cron_random import Drawn, draw

EXPRESSIONS = 20_000
TICKS = 3
START = datetime(2020, 1, 1, tzinfo=UTC)
# Their clocks change by whole hours, and not at midnight, which cronsim gets wrong.
ZONES = ["Europe/Paris", "America/New_York", "Australia/Sydney", "America/St_Johns"]
REFUSED = ["refused"]


def random_instant(random: Random) -> datetime:
    return START + timedelta(seconds=random.randrange(12 * 365 * 86_400))


def ours(text: str, after: datetime, tz: str = "UTC") -> list[object]:
    try:
        rule = Cron(text, tz=tz)
    except InvalidRecurrence:
        return [*REFUSED]
    ticks: list[object] = []
    tick: datetime | None = after
    for _ in range(TICKS):
        assert tick is not None
        tick = rule.next(tick)
        ticks.append(tick)
    return ticks


def by_cronsim(text: str, after: datetime) -> list[object]:
    try:
        return [tick.astimezone(UTC) for tick in islice(CronSim(text, after), TICKS)] or [*REFUSED]
    except CronSimError:
        return [*REFUSED]


def by_croniter(text: str, after: datetime) -> list[object]:
    try:
        ticks = croniter(
            text, after, datetime, second_at_beginning=True, max_years_between_matches=50
        )
        return [next(ticks) for _ in range(TICKS)]
    except CroniterError:
        return [*REFUSED]


def judged(random: Random) -> Iterator[Drawn]:
    """Yield expressions that cronsim or croniter interprets correctly."""
    while True:
        drawn = draw(random)
        if drawn.cronsim or drawn.croniter:
            yield drawn


def test_random_expressions_agree_with_both() -> None:
    random, verdicts = Random(2026), Counter[str]()
    for drawn in islice(judged(random), EXPRESSIONS):
        after = random_instant(random)
        found = ours(drawn.text, after)
        if drawn.cronsim:
            assert found == by_cronsim(drawn.text, after), (drawn.text, after)
        if drawn.croniter:
            assert found == by_croniter(drawn.text, after), (drawn.text, after)
        verdicts.update(cronsim=drawn.cronsim, croniter=drawn.croniter)
        verdicts["refused"] += found == REFUSED
    assert min(verdicts["cronsim"], verdicts["croniter"]) > EXPRESSIONS // 2
    assert verdicts["refused"] < EXPRESSIONS // 20


@pytest.mark.parametrize("tz", ZONES)
def test_near_clock_changes_five_fields_agree_with_cronsim(tz: str) -> None:
    random, zone = Random(tz), ZoneInfo(tz)
    changes = [day for day in days(2020, 2036) if offset(day, zone) != offset(day + DAY, zone)]
    assert len(changes) > 30
    expressions = (drawn for drawn in judged(random) if drawn.cronsim and len(drawn.fields) == 5)
    for drawn in islice(expressions, 700):
        after = random.choice(changes) + timedelta(seconds=random.randrange(86_400))
        assert ours(drawn.text, after, tz) == by_cronsim(drawn.text, after.astimezone(zone)), (
            drawn.text,
            after,
        )


DAY = timedelta(days=1)


def days(first: int, last: int) -> Iterator[datetime]:
    day = datetime(first, 1, 1, tzinfo=UTC)
    while day.year < last:
        yield day
        day += DAY


def offset(instant: datetime, zone: ZoneInfo) -> timedelta | None:
    return instant.astimezone(zone).utcoffset()
