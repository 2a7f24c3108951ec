"""Times as people type and read them."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from duetime.cli.times import milliseconds, parse_delay, parse_instant, relative, shown

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1d", 86_400),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("1H 30M", 5400),
        ("250ms", 0.25),
        ("0", 0),
    ],
)
def test_delays(typed: str, seconds: float) -> None:
    assert parse_delay(typed) == seconds


@pytest.mark.parametrize("typed", ["", "m", "5x", "-5m", "5m-", "1e3s", "nan", "5 minutes"])
def test_no_delays(typed: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_delay(typed)


@pytest.mark.parametrize(
    "typed", ["2030-01-31T12:00:00Z", "2030-01-31T13:00+01:00", " 2030-01-31 12:00:00+00:00 "]
)
def test_instants(typed: str) -> None:
    assert parse_instant(typed) == NOON


@pytest.mark.parametrize("typed", ["", "noon", "2030-01-31", "2030-01-31T12:00", "2030-13-01T00Z"])
def test_no_instants(typed: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_instant(typed)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "now"),
        (3, "in 3 s"),
        (90, "in 90 s"),
        (179.99, "in 3 m"),
        (-5400, "90 m ago"),
        (-7199.9, "2 h ago"),
        (86_399.9, "in 24 h"),
        (86_400 * 400, "in 400 d"),
    ],
)
def test_relative(seconds: float, said: str) -> None:
    assert relative(timedelta(seconds=seconds)) == said


def test_the_date_is_shown_unless_it_is_today() -> None:
    later = NOON + timedelta(days=40)
    assert shown(later, NOON).startswith(later.astimezone().strftime("%Y-%m-%d %H:%M:%S"))
    assert shown(NOON, NOON).startswith(NOON.astimezone().strftime("%H:%M:%S"))
    assert shown(None, NOON) == "-"


def test_milliseconds() -> None:
    assert milliseconds(timedelta(microseconds=1_240)) == "1.2 ms"
    assert milliseconds(timedelta(seconds=12)) == "12,000 ms"


def test_what_took_a_minute_or_longer_is_not_shown_in_milliseconds() -> None:
    assert milliseconds(timedelta(seconds=59.9)) == "59,900 ms"
    assert milliseconds(timedelta(seconds=61)) == "61 s"
    assert milliseconds(timedelta(hours=50)) == "2 d"
    assert milliseconds(timedelta(hours=-50)) == "-2 d"
