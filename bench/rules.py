"""Speed of recurrence rules: `python bench/rules.py`. One process, rules parsed beforehand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from duetime import Cron, Every, Recurrence

START = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = 50_000
RULES: dict[str, Recurrence] = {
    "0 2 * * *      Europe/Paris": Cron("0 2 * * *", tz="Europe/Paris"),
    "*/5 * * * *    UTC": Cron("*/5 * * * *"),
    "0 9 * * MON#1  Europe/Paris": Cron("0 9 * * MON#1", tz="Europe/Paris"),
    "* * * * * *    Europe/Paris": Cron("* * * * * *", tz="Europe/Paris"),
    "0 0 29 2 *     America/New_York": Cron("0 0 29 2 *", tz="America/New_York"),
    "Every(minutes=5)": Every(minutes=5),
}


def walk(rule: Recurrence) -> float:
    """Return ticks per second, from tick to tick, starting over every ten years."""
    tick: datetime | None = START
    end = START + timedelta(days=3650)
    began = time.perf_counter()
    for _ in range(COUNT):
        tick = rule.next(START if tick is None or tick > end else tick)
    return COUNT / (time.perf_counter() - began)


def look_back(rule: Recurrence) -> float:
    """Return how many searches per second find the newest tick of a year."""
    began = time.perf_counter()
    for number in range(COUNT):
        until = START + timedelta(seconds=number * 3607)
        rule.latest(until - timedelta(days=365), until)
    return COUNT / (time.perf_counter() - began)


def main() -> None:
    for name, rule in RULES.items():
        print(f"{name:<34} next {walk(rule):>9,.0f}/s    latest {look_back(rule):>9,.0f}/s")


if __name__ == "__main__":
    main()
