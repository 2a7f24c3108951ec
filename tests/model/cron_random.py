"""Random cron expressions, and which of the two oracles interprets each of them correctly.

cronsim does not support nW, L-n, `?` or ranges that wrap. croniter does not support LW, L-n or
weekdays with L, reads a starred step in a day field as if it had no star, cannot combine `#` or W
with the other day field, and refuses 7 among six fields. Comments below name their other errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

MONTHS = ["JAN", "feb", "MAR", "APR", "MAY", "JUN", "JUL", "Aug", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "tue", "WED", "THU", "Fri", "SAT"]


@dataclass
class Drawn:
    """An expression, and the oracles that interpret it correctly."""

    fields: list[str]
    cronsim: bool = True
    croniter: bool = True

    @property
    def text(self) -> str:
        return " ".join(self.fields)


def draw(random: Random) -> Drawn:
    drawn = Drawn([])
    if random.random() < 0.3:
        drawn.fields.append(plain(random, drawn, 0, 59))
    drawn.fields.append(plain(random, drawn, 0, 59))
    drawn.fields.append(plain(random, drawn, 0, 23))
    drawn.fields.append(month_day(random, drawn))
    drawn.fields.append(plain(random, drawn, 1, 12, MONTHS))
    drawn.fields.append(weekday(random, drawn))
    day, week = drawn.fields[-3], drawn.fields[-1]
    if (day.startswith("*") and day != "*") or (week.startswith("*") and week != "*"):
        drawn.croniter = False
    if ("#" in week and day not in ("*", "?")) or ("W" in day and week not in ("*", "?")):
        drawn.croniter = False
    if len(drawn.fields) == 6 and "7" in week:
        drawn.croniter = False
    return drawn


def plain(random: Random, drawn: Drawn, low: int, high: int, names: list[str] | None = None) -> str:
    if random.random() < 0.35:
        return "*" if random.random() < 0.6 else f"*/{random.randint(1, high + 5)}"
    items = [item(random, drawn, low, high, names) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    return ",".join(items)


def item(random: Random, drawn: Drawn, low: int, high: int, names: list[str] | None) -> str:
    first, second = random.randint(low, high), random.randint(low, high)
    shape = random.choice(["one", "one", "range", "stepped", "from"])
    if shape == "one":
        return spelled(random, first, low, names)
    step = random.randint(1, max(2, high // 2))
    if shape == "from":
        # croniter loses a step that leads out of the unit, and ends weekdays with Saturday.
        drawn.croniter &= first + step <= high and names is not WEEKDAYS
        return f"{first}/{step}"
    if first == second or (first, second) == (7, 0):
        # Both read `5-5` as `5-59`, and croniter `7-0` as the whole week.
        drawn.cronsim = drawn.croniter = False
    if first > second:
        drawn.cronsim = False
    # croniter loses a step that leads out of the range, and counts one that wraps from zero again.
    drawn.croniter &= shape == "range" or first + step <= second
    both = f"{spelled(random, first, low, names)}-{spelled(random, second, low, names)}"
    return both if shape == "range" else f"{both}/{step}"


def spelled(random: Random, value: int, low: int, names: list[str] | None) -> str:
    if names and value - low < len(names) and random.random() < 0.5:
        return names[value - low]
    return str(value)


def month_day(random: Random, drawn: Drawn) -> str:
    chance = random.random()
    if chance < 0.75:
        return plain(random, drawn, 1, 31)
    if chance < 0.8:
        drawn.cronsim = False
        return "?"
    if chance < 0.86:
        drawn.cronsim = False
        # Where a month is too short for it, croniter takes another day.
        return f"{random.randint(1, 28)}W"
    if chance < 0.9:
        drawn.croniter = False
        return random.choice(["LW", "lw"])
    return random.choice(["L", "l", f"{random.randint(1, 28)},L"])


def weekday(random: Random, drawn: Drawn) -> str:
    chance = random.random()
    if chance < 0.5:
        return "*"
    if chance < 0.8:
        return plain(random, drawn, 0, 7, WEEKDAYS)
    if chance < 0.85:
        drawn.cronsim = False
        return "?"
    if chance < 0.92:
        drawn.croniter = False
        return f"{random.choice('01234567')}L"
    nth = [
        f"{random.choice(WEEKDAYS)}#{random.randint(1, 5)}" for _ in range(random.choice([1, 2]))
    ]
    return ",".join(nth)
