"""Jobs as a seed draws them: rules of many zones, with every way to miss and to overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from duetime.api.job_arguments import JobArguments, to_definition
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import Definition, Overlap
from duetime.model.jobs.misfire import Misfire
from duetime.model.payloads.registry import PayloadType
from duetime.model.recurrence.base import Recurrence
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.every import Every

ZONES = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Los_Angeles",
    "America/St_Johns",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Chatham",
    "Pacific/Auckland",
]
OVERLAPS = [Overlap.skip, Overlap.skip, Overlap.queue, Overlap.queue, Overlap.allow]
RETRY = Retry(attempts=2, delay=30)


@dataclass(frozen=True, slots=True)
class Spec:
    """One job as code, or `put`, says it."""

    name: str
    rule: Recurrence
    misfire: Misfire
    overlap: Overlap
    jitter: float
    alert_after: int


def draw_spec(dice: Random, name: str, begin: datetime, busy: float) -> Spec:
    return Spec(
        name,
        draw_rule(dice, begin, busy),
        _misfire(dice),
        dice.choice(OVERLAPS),
        dice.choice([0, 0, 0, dice.randint(1, 5), dice.randint(60, 900)]),
        dice.randint(1, 5),
    )


def changed(dice: Random, spec: Spec, begin: datetime, busy: float) -> Spec:
    """The same job after an edit of its code. How it overlaps stays: what was made when they
    might overlap would not be judged by the rule of those that must not."""
    if dice.random() < 0.3:
        return replace(spec, alert_after=spec.alert_after + 1, misfire=_misfire(dice))
    return replace(draw_spec(dice, spec.name, begin, busy), overlap=spec.overlap)


def definition_of(spec: Spec, entry: PayloadType, payload: str, retry: Retry | None) -> Definition:
    given = JobArguments(
        name=spec.name,
        recurrence=spec.rule,
        misfire=spec.misfire,
        overlap=spec.overlap,
        jitter=spec.jitter,
        alert_after=spec.alert_after,
    )
    return to_definition(given, entry, payload, entry.queue, retry)


def draw_rule(dice: Random, begin: datetime, busy: float) -> Recurrence:
    """`busy` is the share of rules that come several times an hour."""
    if dice.random() < busy:
        return _often(dice, begin)
    match dice.randrange(12):
        case 0:
            return _hourly(dice)
        case 1:
            return Every(hours=dice.randint(4, 40), anchor=begin + timedelta(seconds=7))
        case 2:
            return _daily(dice) | _daily(dice)
        case 3:
            return _daily(dice) - [(begin + timedelta(days=dice.randint(0, 29))).date()]
        case 4:
            return _hourly(dice) - _daily(dice)
        case 5:
            return _daily(dice) | Every(hours=dice.randint(9, 30))
        case _:
            return _daily(dice)


def _often(dice: Random, begin: datetime) -> Recurrence:
    if dice.random() < 0.5:
        minutes = dice.choice([5, 10, 20])
        return Cron(f"*/{minutes} * * * *", tz=dice.choice(ZONES))
    return Every(minutes=dice.randint(5, 30), anchor=begin)


def _hourly(dice: Random) -> Recurrence:
    hours = dice.choice(["*/6", "8-18/5", "1,2,3", "0-4"])
    return Cron(f"{dice.randrange(60)} {hours} * * *", tz=dice.choice(ZONES))


def _daily(dice: Random) -> Recurrence:
    """At night above all: that is when clocks are changed."""
    hour = dice.choice([0, 1, 2, 2, 2, 3, 3, 12, 23])
    minute = dice.choice([0, 0, 15, 30, 45, dice.randrange(60)])
    days = dice.choice(["*", "*", "*", "1-5", "SUN", "SAT,SUN"])
    return Cron(f"{minute} {hour} * * {days}", tz=dice.choice(ZONES))


def _misfire(dice: Random) -> Misfire:
    window = dice.choice([600.0, 7200.0, 86_400.0])
    some = Misfire.all(limit=dice.choice([1, 3, 20]), window=window)
    return dice.choice([Misfire.skip(), Misfire.once(), Misfire.once(), some, some])
