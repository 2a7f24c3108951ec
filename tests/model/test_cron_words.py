"""Expressions in words."""

import random

import pytest

from duetime import Cron
from duetime.errors import InvalidRecurrence

from .cron_random import draw


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 2 * * *", "at 02:00, every day"),
        ("15 30 2 * * *", "at 02:30:15, every day"),
        ("0,30 2 * * *", "at 02:00 and 02:30, every day"),
        ("*/5 * * * *", "every 5 minutes, every day"),
        ("* * * * *", "every minute, every day"),
        ("* * * * * *", "every second, every day"),
        ("*/30 * * * * *", "every 30 seconds, every day"),
        ("0 */30 * * * *", "every 30 minutes, every day"),
        ("0 * * * *", "at minute 0 of every hour, every day"),
        ("*/90 * * * *", "at minute 0 of every hour, every day"),
        ("5,35 * * * *", "at minutes 5 and 35 of every hour, every day"),
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour, every day"),
        ("5-10 * * * * *", "at seconds 5 to 10 of every minute, every day"),
        ("*/10 5 * * * *", "every 10 seconds at minute 5 of every hour, every day"),
        ("30 */5 * * * *", "at second 30 every 5 minutes, every day"),
        ("*/15 2 * * *", "every 15 minutes of hour 2, every day"),
        ("*/15 9-17 * * MON-FRI", "every 15 minutes of hours 9 to 17, on Monday to Friday"),
        ("0 */2 * * *", "at minute 0 of every 2nd hour from 0, every day"),
        ("0 */7 * * *", "at minute 0 of hours 0, 7, 14 and 21, every day"),
        ("0 0 1 1 *", "at 00:00, on day 1 of the month, in January"),
        ("0 0 1,15 * *", "at 00:00, on days 1 and 15 of the month"),
        ("0 0 1-7 NOV-FEB *", "at 00:00, on days 1 to 7 of the month, from November to February"),
        ("0 0 L * *", "at 00:00, on the last day of the month"),
        ("0 0 L-2 * *", "at 00:00, on the day 2 days before the last of the month"),
        ("0 0 LW * *", "at 00:00, on the last weekday of the month"),
        ("0 0 15W * ?", "at 00:00, on the weekday nearest to day 15 of the month"),
        ("0 0 * * MON#2", "at 00:00, on the second Monday of the month"),
        ("0 0 * * FRIL", "at 00:00, on the last Friday of the month"),
        ("0 0 * * FRI-MON", "at 00:00, on Friday to Monday"),
        ("0 0 * * 0,6", "at 00:00, on Sunday and Saturday"),
        ("0 0 13 * FRI", "at 00:00, on day 13 of the month and also on Friday"),
        ("0 0 */10 * 1,3",
            "at 00:00, on days 1, 11, 21 and 31 of the month if it is also Monday or Wednesday"),
        ("0 0 * 5,7 *", "at 00:00, every day, in May and July"),
    ],
)  # fmt: skip
def test_words(expression: str, words: str) -> None:
    assert Cron(expression, tz="Europe/Paris").describe() == f"{words}, Europe/Paris"


@pytest.mark.parametrize(
    ("expression", "tz", "words"),
    [
        ("0-59/15 0-23 * * *", "Europe/Paris", "every 15 minutes (fixed times), every day"),
        ("*/15 * * * *", "Europe/Paris", "every 15 minutes, every day"),
        ("0 0-23 * * *", "Europe/Paris",
            "at minute 0 of every hour (fixed times), every day"),
        ("0-59/5 2 * * *", "Europe/Paris",
            "every 5 minutes of hour 2 (fixed times), every day"),
        # On these days and at these hours the clocks never change: both kinds tick alike.
        ("0 9-17 * * *", "Europe/Paris", "at minute 0 of hours 9 to 17, every day"),
        ("0-59/15 0-23 * 5 *", "Europe/Paris", "every 15 minutes, every day, in May"),
        ("0-59/15 0-23 * * *", "UTC", "every 15 minutes, every day"),
        ("0-59/15 0-23 * * *", "Asia/Tokyo", "every 15 minutes, every day"),
    ],
)  # fmt: skip
def test_fixed_times_are_marked_where_an_interval_would_tick_differently(
    expression: str, tz: str, words: str
) -> None:
    assert Cron(expression, tz=tz).describe() == f"{words}, {tz}"


def test_every_expression_has_words() -> None:
    chance = random.Random(3)
    for _ in range(2000):
        text = draw(chance).text
        try:
            words = Cron(text).describe()
        except InvalidRecurrence:
            continue
        assert words.endswith(", UTC")
        assert "  " not in words
