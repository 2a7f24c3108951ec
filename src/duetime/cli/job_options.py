"""Options of `duetime jobs put`."""

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
        help="A cron expression such as '0 2 * * *', or an interval such as 'every 5m'.",
    ),
]
Kind = Annotated[str, typer.Option(help="The kind to schedule, as the app declares it.")]
Payload = Annotated[str, typer.Option(metavar="JSON", help="The payload of each tick.")]
Zone = Annotated[str | None, typer.Option(help="The IANA zone of the expression; default: UTC.")]
MisfireChoice = Annotated[MisfirePolicy, typer.Option(help="Which missed ticks to run late.")]
MisfireLimit = Annotated[int, typer.Option(help="With `all`: how many at most.")]
MisfireWindow = Annotated[
    float | None,
    typer.Option(
        parser=parse_delay, metavar="TIME", help="With `all`: how old at most; default: 1d."
    ),
]
Overlap = Annotated[
    Overlaps, typer.Option(help="What a tick does while an occurrence is unfinished.")
]
Jitter = Annotated[
    float | None,
    typer.Option(parser=parse_delay, metavar="TIME", help="Spread the starts over this time."),
]
AlertAfter = Annotated[int, typer.Option(help="Failures in a row before JobFailing is emitted.")]
Priority = Annotated[Priorities, typer.Option(help="The priority.")]
Queue = Annotated[str | None, typer.Option(help="The queue; default: the kind's.")]
Version = Annotated[
    int | None, typer.Option(help="Refuse unless the job has this version; 0: unless it is new.")
]


def to_rule(text: str) -> str | Every:
    """Convert `every` and a duration into an interval; other text is a cron expression."""
    word, _, length = text.strip().partition(" ")
    return Every(parse_delay(length)) if word.lower() == "every" else text


def to_misfire(policy: MisfirePolicy, limit: int, window: float | None) -> Misfire:
    if policy is MisfirePolicy.all:
        return Misfire.all(limit=limit, window=DAY if window is None else window)
    return Misfire.of(policy.value)
