"""Draws job definitions: rules in many time zones, with all misfire and overlap policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from duetime.api.job_arguments import JobArguments, to_definition
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import JobDefinition, Overlap
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
class JobSpec:
    """Definition of a job, as declared in code or given to `put`."""

    name: str
    rule: Recurrence
    misfire: Misfire
    overlap: Overlap
    jitter: float
    alert_after: int


def draw_spec(rng: Random, name: str, begin: datetime, busy: float) -> JobSpec:
    return JobSpec(
        name,
        draw_rule(rng, begin, busy),
        _misfire(rng),
        rng.choice(OVERLAPS),
        rng.choice([0, 0, 0, rng.randint(1, 5), rng.randint(60, 900)]),
        rng.randint(1, 5),
    )


def redrawn(rng: Random, spec: JobSpec, begin: datetime, busy: float) -> JobSpec:
    """Draw a new definition of a job.

    The overlap policy stays: occurrences inserted under another policy could not be checked.
    """
    if rng.random() < 0.3:
        return replace(spec, alert_after=spec.alert_after + 1, misfire=_misfire(rng))
    return replace(draw_spec(rng, spec.name, begin, busy), overlap=spec.overlap)


def definition_of(
    spec: JobSpec, entry: PayloadType, payload: str, retry: Retry | None
) -> JobDefinition:
    arguments = JobArguments(
        name=spec.name,
        recurrence=spec.rule,
        misfire=spec.misfire,
        overlap=spec.overlap,
        jitter=spec.jitter,
        alert_after=spec.alert_after,
        retry=retry,
    )
    return to_definition(arguments, entry, payload, entry.queue)


def draw_rule(rng: Random, begin: datetime, busy: float) -> Recurrence:
    """Draw a rule; `busy` is the share of rules with several ticks an hour."""
    if rng.random() < busy:
        return _often(rng, begin)
    match rng.randrange(12):
        case 0:
            return _hourly(rng)
        case 1:
            return Every(hours=rng.randint(4, 40), anchor=begin + timedelta(seconds=7))
        case 2:
            return _daily(rng) | _daily(rng)
        case 3:
            return _daily(rng) - [(begin + timedelta(days=rng.randint(0, 29))).date()]
        case 4:
            return _hourly(rng) - _daily(rng)
        case 5:
            return _daily(rng) | Every(hours=rng.randint(9, 30))
        case _:
            return _daily(rng)


def _often(rng: Random, begin: datetime) -> Recurrence:
    if rng.random() < 0.5:
        minutes = rng.choice([5, 10, 20])
        return Cron(f"*/{minutes} * * * *", tz=rng.choice(ZONES))
    return Every(minutes=rng.randint(5, 30), anchor=begin)


def _hourly(rng: Random) -> Recurrence:
    hours = rng.choice(["*/6", "8-18/5", "1,2,3", "0-4"])
    return Cron(f"{rng.randrange(60)} {hours} * * *", tz=rng.choice(ZONES))


def _daily(rng: Random) -> Recurrence:
    """Draw a daily rule, mostly at night, when clocks change."""
    hour = rng.choice([0, 1, 2, 2, 2, 3, 3, 12, 23])
    minute = rng.choice([0, 0, 15, 30, 45, rng.randrange(60)])
    days = rng.choice(["*", "*", "*", "1-5", "SUN", "SAT,SUN"])
    return Cron(f"{minute} {hour} * * {days}", tz=rng.choice(ZONES))


def _misfire(rng: Random) -> Misfire:
    window = rng.choice([600.0, 7200.0, 86_400.0])
    catch_up = Misfire.all(limit=rng.choice([1, 3, 20]), window=window)
    return rng.choice([Misfire.skip(), Misfire.once(), Misfire.once(), catch_up, catch_up])
