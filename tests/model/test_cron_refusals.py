"""Expressions that are refused where they are declared: field, value and what is allowed."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Cron
from duetime.errors import InvalidArgument, InvalidRecurrence


@pytest.mark.parametrize(
    ("expression", "field", "part", "allowed"),
    [
        ("60 * * * *", "minute", "60", "0 to 59"),
        ("60 * * * * *", "second", "60", "0 to 59"),
        ("* 24 * * *", "hour", "24", "0 to 23"),
        ("* * 0 * *", "day of month", "0", "1 to 31"),
        ("* * 32 * *", "day of month", "32", "1 to 31"),
        ("* * * 0 *", "month", "0", "1 to 12 or JAN to DEC"),
        ("* * * 13 *", "month", "13", "1 to 12 or JAN to DEC"),
        ("* * * * 8", "day of week", "8", "0 to 7 or SUN to SAT"),
        ("-1 * * * *", "minute", "-1", "0 to 59"),
        ("1- * * * *", "minute", "1-", "0 to 59"),
        ("1-2-3 * * * *", "minute", "1-2-3", "0 to 59"),
        ("1,,2 * * * *", "minute", "", "0 to 59"),
        (", * * * *", "minute", "", "0 to 59"),
        ("1, * * * *", "minute", "", "0 to 59"),
        ("x * * * *", "minute", "X", "0 to 59"),
        ("1.5 * * * *", "minute", "1.5", "0 to 59"),
        ("MON * * * *", "minute", "MON", "0 to 59"),
        ("* * * MON *", "month", "MON", "1 to 12 or JAN to DEC"),
        ("* * * * MONDAY", "day of week", "MONDAY", "0 to 7 or SUN to SAT"),
        ("*-5 * * * *", "minute", "*-5", "0 to 59"),
        ("** * * * *", "minute", "**", "0 to 59"),
        ("\u0661 * * * *", "minute", "\u0661", "0 to 59"),
        ("\u00b2 * * * *", "minute", "\u00b2", "0 to 59"),
        ("* * * * \u017fun", "day of week", "\u017fUN", "0 to 7 or SUN to SAT"),
        ("* * * * fr\u0131", "day of week", "FR\u0131", "0 to 7 or SUN to SAT"),
        ("99999999999 * * * *", "minute", "99999999999", "0 to 59"),
        ("? * * * *", "minute", "?", "0 to 59"),
        ("* * * ? *", "month", "?", "1 to 12 or JAN to DEC"),
        ("* * ?/2 * *", "day of month", "?", "1 to 31"),
        ("* * 1,? * *", "day of month", "?", "1 to 31"),
        ("*/0 * * * *", "minute", "*/0", "steps of 1 and more, as */5"),
        ("*/ * * * *", "minute", "*/", "steps of 1 and more, as */5"),
        ("*/-1 * * * *", "minute", "*/-1", "steps of 1 and more, as */5"),
        ("*/2/3 * * * *", "minute", "*/2/3", "steps of 1 and more, as */5"),
        ("/5 * * * *", "minute", "/5", "0 to 59"),
        ("L * * * *", "minute", "L", "0 to 59"),
        ("* * L-31 * *", "day of month", "L-31", "L, L-1 to L-30 or LW"),
        ("* * L- * *", "day of month", "L-", "L, L-1 to L-30 or LW"),
        ("* * L3 * *", "day of month", "L3", "L, L-1 to L-30 or LW"),
        ("* * 0W * *", "day of month", "0", "1 to 31"),
        ("* * 32W * *", "day of month", "32", "1 to 31"),
        ("* * W * *", "day of month", "W", "a single day as 15W, or LW"),
        ("* * 1W,15W * *", "day of month", "1W,15W", "a single day as 15W, or LW"),
        ("* * LW,1 * *", "day of month", "LW,1", "a single day as 15W, or LW"),
        ("* * 1-5W * *", "day of month", "1-5W", "a single day as 15W, or LW"),
        ("* * L-3W * *", "day of month", "L-3W", "a single day as 15W, or LW"),
        ("* * * * L", "day of week", "L", "FRIL or 5L, and so on"),
        ("* * * * 8L", "day of week", "8", "0 to 7 or SUN to SAT"),
        ("* * * * MON#6", "day of week", "MON#6", "MON#1 to MON#5, or MONL for the last"),
        ("* * * * MON#0", "day of week", "MON#0", "MON#1 to MON#5, or MONL for the last"),
        ("* * * * MON#", "day of week", "MON#", "MON#1 to MON#5, or MONL for the last"),
        ("* * * * #1", "day of week", "#1", "MON#1 to MON#5, or MONL for the last"),
        ("* * * * 1-5#1", "day of week", "1-5", "0 to 7 or SUN to SAT"),
        ("0 0 31 2 *", "day of month", "31", "1 to 31"),
        ("0 0 30 FEB ?", "day of month", "30", "1 to 31"),
        ("0 0 31 4,6,9,11 *", "day of month", "31", "1 to 31"),
        ("0 0 L-30 2 *", "day of month", "L-30", "1 to 31"),
        ("0 0 */31 * MON#2", "day of month", "*/31", "1 to 31"),
    ],
)  # fmt: skip
def test_field_value_and_range_are_named(
    expression: str, field: str, part: str, allowed: str
) -> None:
    with pytest.raises(InvalidRecurrence) as refused:
        Cron(expression)
    error = refused.value
    assert (error.field, error.part, error.allowed) == (field, part, allowed)
    assert field in str(error)
    assert repr(part) in str(error)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("*", "it has 1 field;"),
        ("* * * *", "it has 4 fields; write minute, hour"),
        ("* * * * * * *", "it has 7 fields; leave out the year"),
        ("0 0 12 1 1 ? 2027", r"single dates are written \[datetime\(\.\.\.\)\]"),
        ("* * * * * * * *", "it has 8 fields; write minute, hour"),
        ("@reboot", "schedule an action when your program starts"),
        ("@Reboot", "schedule an action"),
        ("@dayly", "did you mean '@daily'"),
        ("@every 5m", r"an interval is written Every\(\.\.\.\), as Every\(minutes=5\)"),
        ("@every 1h30m", r"an interval is written Every\("),
        ("@every", r"an interval is written Every\("),
        ("@every_minute", r"write '\* \* \* \* \*'"),
        ("@every_second", r"write '\* \* \* \* \* \*'"),
        ("@fortnightly", "is not a macro; known are @yearly"),
        ("* " * 300, "500 characters"),
        (None, "as a string"),
        (5, "as a string"),
        (["0 2 * * *"], "as a string"),
    ],
)
def test_texts_that_are_not_expressions(expression: str, says: str) -> None:
    with pytest.raises(InvalidRecurrence, match=says):
        Cron(expression)


FIELDS = st.text("0123456789*?/-,LW#MONFEB", max_size=6)


@given(st.one_of(st.text(max_size=30), st.lists(FIELDS, min_size=5, max_size=6).map(" ".join)))
def test_any_text_is_a_rule_or_is_refused(text: str) -> None:
    try:
        rule = Cron(text)
    except InvalidRecurrence:
        return
    assert rule.next(datetime(2026, 1, 1, tzinfo=UTC)) is not None
    assert rule == Cron(rule.expr)
    assert rule.describe()


@pytest.mark.parametrize(
    "tz",
    ["", "Mars/Base", "Europe", "../Paris", "/etc/localtime", "localtime", "right/UTC", "posix/UTC",
     "Europe/Paris\x00", "\ud800", "é" * 300, None, 3, ["UTC"]],
)  # fmt: skip
def test_unknown_zones_are_refused(tz: str) -> None:
    with pytest.raises(InvalidRecurrence, match="zone"):
        Cron("0 2 * * *", tz=tz)


def test_the_nearest_zone_is_named() -> None:
    with pytest.raises(InvalidRecurrence, match="did you mean 'Europe/Paris'"):
        Cron("0 2 * * *", tz="Europe/Pariss")


def test_it_is_a_value_error_too() -> None:
    with pytest.raises(ValueError, match="is not valid") as refused:
        Cron("nonsense")
    assert isinstance(refused.value, InvalidArgument)
