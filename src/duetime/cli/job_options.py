"""Options of a job that is put."""

from __future__ import annotations

from typing import Annotated

import typer

from duetime.cli.times import parse_delay
from duetime.model.jobs.job import Overlap as Overlaps
from duetime.model.jobs.misfire import Misfire, MisfirePolicy
from duetime.model.lane import Priority as Priorities
from duetime.model.recurrence.every import Every

DAY = 86_400.0

Recurs = Annotated[
    str,
    typer.Argument(
        metavar="RECURRENCE",
        help="A cron expression, as '0 2 * * *', or an interval, as 'every 5m'.",
    ),
]
Kind = Annotated[str, typer.Option(help="The kind that it schedules, as the app declares it.")]
Payload = Annotated[str, typer.Option(metavar="JSON", help="Its payload.")]
Zone = Annotated[str | None, typer.Option(help="The IANA zone of the expression; default: UTC.")]
MisfireGiven = Annotated[
    MisfirePolicy, typer.Option(help="Which ticks are made up that nothing ran at their time.")
]
MisfireLimit = Annotated[int, typer.Option(help="With `all`: so many at most.")]
MisfireWindow = Annotated[
    float | None,
    typer.Option(parser=parse_delay, metavar="TIME", help="With `all`: how old; default: 1d."),
]
Overlap = Annotated[Overlaps, typer.Option(help="What a tick does that finds one unfinished.")]
Jitter = Annotated[
    float | None,
    typer.Option(parser=parse_delay, metavar="TIME", help="Spread its starts over this time."),
]
AlertAfter = Annotated[int, typer.Option(help="Failures in a row until JobFailing is told.")]
Priority = Annotated[Priorities, typer.Option(help="How urgently.")]
Queue = Annotated[str | None, typer.Option(help="Default: the queue of its kind.")]
Version = Annotated[
    int | None, typer.Option(help="Refuse unless it is at this version; 0: unless it is new.")
]


def to_rule(text: str) -> str | Every:
    """A cron expression, or `every` and a length of time."""
    word, _, length = text.strip().partition(" ")
    return Every(parse_delay(length)) if word.lower() == "every" else text


def to_misfire(policy: MisfirePolicy, limit: int, window: float | None) -> Misfire:
    if policy is MisfirePolicy.all:
        return Misfire.all(limit=limit, window=DAY if window is None else window)
    return Misfire.of(policy.value)
