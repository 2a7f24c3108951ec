"""The meaning of each piece of cron syntax."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from duetime import Cron
from duetime.errors import InvalidArgument, NaiveDatetime

START = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = START - timedelta(seconds=1)


def ticks(expression: str, count: int, after: datetime = BEFORE) -> list[datetime]:
    return Cron(expression).between(after, datetime.max.replace(tzinfo=UTC), count)


def days(expression: str, count: int) -> list[str]:
    return [f"{tick:%m-%d}" for tick in ticks(expression, count)]


def times(expression: str, count: int) -> list[str]:
    return [f"{tick:%H:%M:%S}" for tick in ticks(expression, count)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 */30 * * * *", ["00:00:00", "00:30:00", "01:00:00"]),
        ("*/30 * * * * *", ["00:00:00", "00:00:30", "00:01:00"]),
        ("*/30 * * * *", ["00:00:00", "00:30:00", "01:00:00"]),
        ("5 * * * * *", ["00:00:05", "00:01:05", "00:02:05"]),
        ("5/20 * * * *", ["00:05:00", "00:25:00", "00:45:00", "01:05:00"]),
        ("10-20/5 3 * * *", ["03:10:00", "03:15:00", "03:20:00", "03:10:00"]),
        ("50-10/10 * * * *", ["00:00:00", "00:10:00", "00:50:00"]),
        ("0 22-2 * * *", ["00:00:00", "01:00:00", "02:00:00", "22:00:00", "23:00:00"]),
        ("0 22-2/2 * * *", ["00:00:00", "02:00:00", "22:00:00"]),
        ("*/90 * * * *", ["00:00:00", "01:00:00", "02:00:00"]),
        ("07 09 * * *", ["09:07:00"]),
        (" 0\t12  * * * ", ["12:00:00"]),
        ("@hourly", ["00:00:00", "01:00:00"]),
    ],
)
def test_times_of_day(expression: str, expected: list[str]) -> None:
    assert times(expression, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # 1 January 2026 is a Thursday.
        ("0 0 * * FRI-MON", ["01-02", "01-03", "01-04", "01-05", "01-09"]),
        ("0 0 * * 5-7", ["01-02", "01-03", "01-04", "01-09"]),
        ("0 0 * * 7-1", ["01-04", "01-05", "01-11"]),
        ("0 0 * * 0", ["01-04", "01-11"]),
        ("0 0 * * 7", ["01-04", "01-11"]),
        ("0 0 * * sun,Wed", ["01-04", "01-07"]),
        ("0 0 * * SAT-SUN", ["01-03", "01-04", "01-10"]),
        ("0 0 1 nov-FEB *", ["01-01", "02-01", "11-01", "12-01", "01-01"]),
        ("0 0 30-2 * *", ["01-01", "01-02", "01-30", "01-31", "02-01", "02-02", "03-01"]),
        ("0 0 L * *", ["01-31", "02-28", "03-31", "04-30"]),
        ("0 0 L-1,L * *", ["01-30", "01-31", "02-27", "02-28"]),
        ("0 0 15,L 2 *", ["02-15", "02-28"]),
        ("0 0 LW * *", ["01-30", "02-27", "03-31", "04-30", "05-29"]),
        ("0 0 1W * *", ["01-01", "02-02", "03-02", "04-01", "05-01", "06-01", "07-01", "08-03"]),
        ("0 0 15W * *", ["01-15", "02-16", "03-16", "04-15", "05-15", "06-15"]),
        ("0 0 31W * *", ["01-30", "03-31", "05-29", "07-31", "08-31", "10-30"]),
        ("0 0 * * MON#1", ["01-05", "02-02", "03-02"]),
        ("0 0 * * 7#5", ["03-29", "05-31", "08-30"]),
        ("0 0 * * MON#1,MON#3", ["01-05", "01-19", "02-02"]),
        ("0 0 * * 5L", ["01-30", "02-27"]),
        ("0 0 * * friL,MON#1", ["01-05", "01-30", "02-02"]),
        ("0 0 ? * MON", ["01-05", "01-12"]),
        ("0 0 13 * ?", ["01-13", "02-13"]),
        ("@yearly", ["01-01", "01-01"]),
        ("@Monthly", ["01-01", "02-01"]),
        ("@weekly", ["01-04", "01-11"]),
        ("@daily", ["01-01", "01-02"]),
        ("@midnight", ["01-01", "01-02"]),
    ],
)
def test_days(expression: str, expected: list[str]) -> None:
    assert days(expression, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 13 * FRI", ["01-02", "01-09", "01-13", "01-16"]),  # either
        ("0 0 1-31 * FRI", ["01-01", "01-02", "01-03"]),  # either, and one is always true
        ("0 0 */2 * FRI", ["01-09", "01-23", "02-13"]),  # both: it begins with a star
        ("0 0 13 * */5", ["02-13", "03-13", "09-13"]),  # both: Sundays and Fridays
        ("0 0 13 * *", ["01-13", "02-13"]),
        ("0 0 L * FRI", ["01-02", "01-09", "01-16", "01-23", "01-30", "01-31"]),
        ("0 0 15W * SAT#1", ["01-03", "01-15", "02-07", "02-16"]),
        ("0 0 *,13 * FRI", ["01-02", "01-09"]),
        ("0 0 13,* * FRI", ["01-01", "01-02"]),
    ],
)
def test_day_of_month_and_day_of_week_combine_as_in_classic_cron(
    expression: str, expected: list[str]
) -> None:
    assert days(expression, len(expected)) == expected


@pytest.mark.parametrize("before", [1, 3, 27, 28, 30])
def test_days_before_the_end_of_each_month(before: int) -> None:
    expected = []
    for month in range(2026 * 12, 2126 * 12):
        year, index = divmod(month, 12)
        last = monthrange(year, index + 1)[1]
        if last > before:
            expected.append(date(year, index + 1, last - before))
    found = ticks(f"0 0 L-{before} * *", len(expected))
    assert [tick.date() for tick in found] == expected


def test_leap_days() -> None:
    assert [t.year for t in ticks("0 0 29 2 *", 3)] == [2028, 2032, 2036]
    # 2100 is no leap year.
    assert ticks("0 0 29 2 *", 1, datetime(2096, 3, 1, tzinfo=UTC))[0].year == 2104
    # A leap day on a weekend; the fifth Monday of a February, up to 40 years apart.
    assert [t.year for t in ticks("0 0 29 2 */6", 3)] == [2032, 2048, 2060]
    assert [t.year for t in ticks("0 0 * 2 MON#5", 4)] == [2044, 2072, 2112, 2140]
    assert [t.year for t in ticks("0 0 29W 2 *", 2)] == [2028, 2032]


def test_the_calendar_ends() -> None:
    last = datetime(9999, 12, 31, tzinfo=UTC)
    assert Cron("0 0 * * *").next(last - timedelta(days=1)) == last
    assert Cron("0 0 * * *").next(last) is None
    assert Cron("0 0 1 1 *").next(last) is None
    assert Cron("* * * * * *").next(datetime.max.replace(tzinfo=UTC)) is None
    for tz in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        tick = Cron("0 12 * * *", tz=tz).next(last - timedelta(days=3))
        while tick is not None:
            tick = Cron("0 12 * * *", tz=tz).next(tick)


def test_the_calendar_begins() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    assert Cron("0 0 * * *").next(first) == first + timedelta(days=1)
    assert Cron("0 0 * * *").latest(first, first + timedelta(hours=1)) is None
    for tz in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        assert Cron("0 0 1 1 *", tz=tz).next(first) is not None
        Cron("0 0 1 1 *", tz=tz).latest(first, first + timedelta(hours=30))


def test_an_interval_that_always_falls_into_the_gap_has_no_next() -> None:
    rule = Cron("*/15 2 * 3 SUNL", tz="Europe/Paris")
    assert rule.next(START) is None
    assert rule.latest(START, START + timedelta(days=3650)) is None


def test_next_is_strictly_after_and_takes_any_zone() -> None:
    rule = Cron("0 2 * * *", tz="Europe/Paris")
    tick = rule.next(datetime(2026, 7, 1, 2, tzinfo=ZoneInfo("Europe/Paris")))
    assert tick == datetime(2026, 7, 2, 0, tzinfo=UTC)
    assert tick.tzinfo is UTC
    almost = tick - timedelta(microseconds=1)
    assert rule.next(almost) == tick
    assert rule.latest(START, almost) == tick - timedelta(days=1)
    assert rule.latest(START, tick) == tick


def test_naive_datetimes_are_refused() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001
    with pytest.raises(NaiveDatetime, match="after"):
        Cron("0 2 * * *").next(naive)
    with pytest.raises(NaiveDatetime, match="until"):
        Cron("0 2 * * *").latest(START, naive)
    with pytest.raises(NaiveDatetime, match="until"):
        Cron("0 2 * * *").between(START, naive, 3)
    with pytest.raises(InvalidArgument):
        Cron("0 2 * * *").next(date(2026, 1, 1))  # type: ignore[arg-type]


def test_a_cron_is_a_value() -> None:
    rule = Cron("0  2 * jan *", tz="Europe/Paris")
    assert rule == Cron("0 2 * JAN *", tz=ZoneInfo("Europe/Paris"))
    assert len({rule, Cron("0 2 * JAN *", tz="Europe/Paris"), Cron("0 2 * JAN *")}) == 2
    assert repr(rule) == "Cron(expr='0 2 * JAN *', tz='Europe/Paris')"
    assert Cron("@daily") == Cron("0 0 * * *")
