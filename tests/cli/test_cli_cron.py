"""`duetime cron`: words, ticks, notes; and mistakes in one line."""

import json

import pytest

from .conftest import Duetimes
from .test_cli_mistakes import check

SPRING = """\
at 02:30, every day, Europe/Paris

local                         UTC                   note
Sat 2026-03-28 02:30:00 CET   2026-03-28T01:30:00Z
Sun 2026-03-29 03:00:00 CEST  2026-03-29T01:00:00Z  first instant after the gap 02:00-03:00
Mon 2026-03-30 02:30:00 CEST  2026-03-30T00:30:00Z
"""


def cron(duetime: Duetimes, expression: str, *more: str) -> str:
    return duetime.ok("cron", expression, "--after", "2026-03-27T12:00Z", *more)


def test_words_ticks_and_notes(duetime: Duetimes) -> None:
    assert cron(duetime, "30 2 * * *", "--tz", "Europe/Paris", "--count", "3") == SPRING


def test_ten_ticks_from_now_in_utc(duetime: Duetimes) -> None:
    lines = duetime.ok("cron", "@daily").splitlines()
    assert lines[0] == "at 00:00, every day, UTC"
    assert len(lines) == 3 + 10


def test_both_passes(duetime: Duetimes) -> None:
    out = duetime.ok(
        "cron", "30 * * * *", "--tz", "Europe/Paris", "--after", "2026-10-25T00:00Z", "--count", "3"
    )
    first, second, third = out.splitlines()[-3:]
    assert first.endswith("first pass: the clocks go back from 03:00 to 02:00")
    assert second.endswith("second pass: the clocks went back from 03:00")
    assert third.endswith("Z")


def test_json(duetime: Duetimes) -> None:
    out = cron(duetime, "30 2 * * *", "--tz", "Europe/Paris", "--count", "2", "--json")
    assert json.loads(out) == {
        "recurrence": "30 2 * * *",
        "tz": "Europe/Paris",
        "words": "at 02:30, every day, Europe/Paris",
        "ticks": [
            {
                "tick": "2026-03-28T01:30:00Z",
                "local": "2026-03-28T02:30:00+01:00",
                "note": None,
            },
            {
                "tick": "2026-03-29T01:00:00Z",
                "local": "2026-03-29T03:00:00+02:00",
                "note": "first instant after the gap 02:00-03:00",
            },
        ],
    }


def test_the_end_of_the_calendar(duetime: Duetimes) -> None:
    out = duetime.ok("cron", "0 0 * * *", "--after", "9999-12-30T00:00Z")
    assert out.splitlines()[-1] == "there are no more ticks"


@pytest.mark.parametrize(
    ("arguments", "code", "pattern"),
    [
        (["61 * * * *"], 1, "minute '61' is out of range; allowed are 0 to 59"),
        (["0 0 31 2 *"], 1, "never fire"),
        (["@reboot"], 1, "schedule an action"),
        (["0 2 * *"], 1, "4 fields"),
        (["0 2 * * *", "--tz", "Europe/Pari"], 1, "did you mean 'Europe/Paris'"),
        (["0 2 * * *", "--after", "2026-01-01"], 2, "no time zone"),
        (["0 2 * * *", "--count", "0"], 2, "--count"),
        (["0", "2", "*", "*", "*"], 2, "unexpected extra argument"),
        ([], 2, "EXPR"),
    ],
)
def test_mistakes(duetime: Duetimes, arguments: list[str], code: int, pattern: str) -> None:
    check(duetime("cron", *arguments), code, pattern)
