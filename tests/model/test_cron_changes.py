"""The contract for days on which clocks change, by examples that were worked out by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from duetime import Cron
from duetime.model.recurrence.preview_notes import clock_change_note

DAY = timedelta(days=1)


def ticks(expression: str, tz: str, day: str, length: timedelta = DAY) -> list[str]:
    """All ticks of one day that starts at this instant, by the clocks of UTC."""
    start = datetime.fromisoformat(day)
    found = Cron(expression, tz=tz).between(
        start - timedelta(microseconds=1), start + length - timedelta(microseconds=1), 2000
    )
    return [f"{tick:%dT%H:%M}" for tick in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # In Paris, 02:00 to 03:00 is missing on 29 March: it is 01:00 in UTC.
        ("59 1 * * *", ["29T00:59"]),
        ("0 2 * * *", ["29T01:00"]),
        ("30 2 * * *", ["29T01:00"]),
        ("0,30 2 * * *", ["29T01:00"]),  # two times of the gap are one tick
        ("0 2,3 * * *", ["29T01:00"]),  # and so are one of the gap and the one after it
        ("30 2,3 * * *", ["29T01:00", "29T01:30"]),
        ("0 3 * * *", ["29T01:00"]),
        ("*/30 2 * * *", []),  # an interval: the clock never shows these times
        ("* 2 * * *", []),
        ("30 */2 * * *", [f"{d}T{h}:30" for d, h in
            [(28, 23), (29, "02"), (29, "04"), (29, "06"), (29, "08"), (29, 10), (29, 12),
             (29, 14), (29, 16), (29, 18), (29, 20)]]),
    ],
)  # fmt: skip
def test_a_gap(expression: str, expected: list[str]) -> None:
    day = "2026-03-28T23:00Z"
    assert ticks(expression, "Europe/Paris", day, timedelta(hours=23)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # In Paris, 02:00 to 03:00 comes twice on 25 October: from 00:00 and from 01:00 in UTC.
        ("0 2 * * *", ["25T00:00"]),
        ("30 2 * * *", ["25T00:30"]),
        ("0,30 2 * * *", ["25T00:00", "25T00:30"]),
        ("0 3 * * *", ["25T02:00"]),
        ("*/30 2 * * *", ["25T00:00", "25T00:30", "25T01:00", "25T01:30"]),
        ("30 */2 * * *", [f"{d}T{h}:30" for d, h in
            [(24, 22), (25, "00"), (25, "01"), (25, "03"), (25, "05"), (25, "07"), (25, "09"),
             (25, 11), (25, 13), (25, 15), (25, 17), (25, 19), (25, 21)]]),
    ],
)  # fmt: skip
def test_a_fold(expression: str, expected: list[str]) -> None:
    day = "2026-10-24T22:00Z"
    assert ticks(expression, "Europe/Paris", day, timedelta(hours=25)) == expected


def test_far_from_its_other_ticks_a_fold_is_found_from_both_sides() -> None:
    """Both look far ahead or back for the next month, and must not pass the other pass."""
    fixed = Cron("30 2 25 * *", tz="Europe/Paris")
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    in_second_pass = first + timedelta(minutes=40)
    assert fixed.latest(first - 99 * DAY, in_second_pass) == first
    assert fixed.next(first + timedelta(minutes=30)) == datetime(2026, 11, 25, 1, 30, tzinfo=UTC)
    interval = Cron("*/30 2 25 * *", tz="Europe/Paris")
    assert interval.next(first) == first + timedelta(minutes=30)
    assert interval.latest(first - 99 * DAY, in_second_pass) == first + timedelta(minutes=30)


def test_six_fields_follow_the_same_contract() -> None:
    assert ticks("15 30 2 * * *", "Europe/Paris", "2026-03-28T23:00Z") == ["29T01:00"]
    fold = "2026-10-24T22:00Z"
    assert ticks("0 30 2 * * *", "Europe/Paris", fold) == ["25T00:30"]
    assert ticks("*/30 30 2 * * *", "Europe/Paris", fold) == ["25T00:30"] * 2 + ["25T01:30"] * 2


@pytest.mark.parametrize(
    ("tz", "day", "expression", "expected"),
    [
        # Half an hour, Lord Howe: 02:00 to 02:30 is missing, 01:30 to 02:00 comes twice.
        ("Australia/Lord_Howe", "2026-10-03T13:30Z", "15 2 * * *", ["03T15:30"]),
        ("Australia/Lord_Howe", "2026-10-03T13:30Z", "45 2 * * *", ["03T15:45"]),
        ("Australia/Lord_Howe", "2026-04-04T13:00Z", "45 1 * * *", ["04T14:45"]),
        ("Australia/Lord_Howe", "2026-04-04T13:00Z", "*/45 1 * * *",
            ["04T14:00", "04T14:45", "04T15:15"]),
        # At midnight: the day begins at 01:00, and the tick belongs to it.
        ("Asia/Beirut", "2026-03-28T21:00Z", "0 0 * * *", ["28T22:00"]),
        ("Asia/Beirut", "2026-03-28T21:00Z", "0 0 29 3 *", ["28T22:00"]),
        ("Asia/Beirut", "2026-03-28T21:00Z", "30 0 28 3 *", []),
        ("America/Sao_Paulo", "2018-11-04T02:00Z", "0 0 * * *", ["04T03:00"]),
        # A midnight that comes twice, and a Saturday whose last hour does.
        ("America/Havana", "2026-11-01T04:00Z", "30 0 * * *", ["01T04:30"]),
        ("America/Sao_Paulo", "2018-02-17T23:00Z", "30 23 * * *", ["18T01:30"]),
        # A whole day is missing: its fixed times run as the next day begins, once.
        ("Pacific/Apia", "2011-12-29T10:00Z", "0 12 * * *", ["29T22:00"]),
        ("Pacific/Apia", "2011-12-30T10:00Z", "0 12 * * *", ["30T10:00", "30T22:00"]),
        ("Pacific/Apia", "2011-12-30T10:00Z", "0 0 * * *", ["30T10:00"]),
        ("Pacific/Apia", "2011-12-30T10:00Z", "0 12 30 12 *", ["30T10:00"]),
        ("Pacific/Apia", "2011-12-30T10:00Z", "0 */12 30 12 *", []),
        ("Pacific/Kwajalein", "1993-08-21T12:00Z", "30 6 21 8 *", ["21T12:00"]),
        # A day of 47 hours: Kwajalein set its clocks back by 23 hours in 1969.
        ("Pacific/Kwajalein", "1969-09-29T13:00Z", "30 12 30 9 *", ["30T01:30"]),
        # Offsets of seconds: Paris was 9 minutes and 21 seconds ahead until 1911.
        ("Europe/Paris", "1900-01-01T00:00Z", "0 12 * * *", ["01T11:50"]),
    ],
)  # fmt: skip
def test_rare_changes(tz: str, day: str, expression: str, expected: list[str]) -> None:
    assert ticks(expression, tz, day) == expected


def test_offsets_of_seconds_are_exact() -> None:
    noon = Cron("0 12 * * *", tz="Europe/Paris").next(datetime(1900, 1, 1, tzinfo=UTC))
    assert noon == datetime(1900, 1, 1, 11, 50, 39, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "tz", "tick", "note"),
    [
        ("30 2 * * *", "Europe/Paris", "2026-03-29T01:00Z",
            "first instant after the gap 02:00-03:00"),
        ("0 3 * * *", "Europe/Paris", "2026-03-29T01:00Z", None),
        ("0 12 * * *", "Pacific/Apia", "2011-12-30T10:00Z",
            "first instant after the gap 2011-12-30 00:00-2011-12-31 00:00"),
        ("30 2 * * *", "Europe/Paris", "2026-10-25T00:30Z",
            "first pass: the clocks go back from 03:00 to 02:00, and it does not run again"),
        ("30 * * * *", "Europe/Paris", "2026-10-25T00:30Z",
            "first pass: the clocks go back from 03:00 to 02:00"),
        ("30 * * * *", "Europe/Paris", "2026-10-25T01:30Z",
            "second pass: the clocks went back from 03:00"),
        ("30 1 * * *", "Europe/Paris", "2026-10-24T23:30Z", None),
        ("30 3 * * *", "Europe/Paris", "2026-10-25T02:30Z", None),
        ("0 0 * * *", "UTC", "2026-10-25T00:00Z", None),
        # An interval has no tick for a time that the clock skips: the next tick says so.
        ("*/15 2 * * *", "Europe/Paris", "2026-03-30T00:00Z",
            "no ticks in the gap 2026-03-29 02:00-03:00"),
        ("*/15 2 * * *", "Europe/Paris", "2026-03-30T00:15Z", None),
        ("*/15 2 * * *", "Europe/Paris", "2026-03-28T01:45Z", None),
        ("*/15 * * * *", "Europe/Paris", "2026-03-29T01:00Z",
            "no ticks in the gap 02:00-03:00"),
        ("*/15 2 29 3,10 *", "Europe/Paris", "2026-10-29T01:00Z",
            "no ticks in the gap 2026-03-29 02:00-03:00"),
        ("*/15 2 * 3,10 SUNL", "Europe/Paris", "2026-10-25T00:00Z",
            "no ticks in the gap 2026-03-29 02:00-03:00; "
            "first pass: the clocks go back from 03:00 to 02:00"),
        ("*/15 3 * * *", "Europe/Paris", "2026-03-29T01:00Z", None),
        ("0 */12 30 12 *", "Pacific/Apia", "2012-12-29T10:00Z",
            "no ticks in the gap 2011-12-30 00:00-2011-12-31 00:00"),
    ],
)  # fmt: skip
def test_notes(expression: str, tz: str, tick: str, note: str | None) -> None:
    instant = datetime.fromisoformat(tick)
    rule = Cron(expression, tz=tz)
    assert instant in rule
    assert clock_change_note(rule, instant) == note
