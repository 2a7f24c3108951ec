"""Options of `duetime jobs`: of its lists, and of `put`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from duetime.cli.times import parse_coming, parse_delay, parse_instant, parse_past
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import Overlap as Overlaps
from duetime.model.jobs.misfire import Misfire, MisfirePolicy
from duetime.model.jobs.view import JobState
from duetime.model.lane import Priority as Priorities
from duetime.model.recurrence.every import Every
from duetime.model.state import Outcome

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
MisfireAfter = Annotated[
    float | None,
    typer.Option(
        parser=parse_delay,
        metavar="TIME",
        help="How late a tick may be and still run; default: the app's setting.",
    ),
]
StartsAt = Annotated[
    datetime | None,
    typer.Option(parser=parse_instant, metavar="INSTANT", help="No tick comes before it."),
]
EndsAt = Annotated[
    datetime | None,
    typer.Option(parser=parse_instant, metavar="INSTANT", help="No tick comes after it."),
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


RetryAttempts = Annotated[
    int | None,
    typer.Option(help="How often a run is tried, the first try included; default: the handler's."),
]
RetryDelay = Annotated[
    float | None,
    typer.Option(
        parser=parse_delay,
        metavar="TIME",
        help="With --retry-attempts: the first pause, which grows; default: 1s.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        parser=parse_delay, metavar="TIME", help="The timeout of a run; default: the handler's."
    ),
]
OfState = Annotated[JobState | None, typer.Option("--state", help="Only jobs in this state.")]
Enabled = Annotated[
    bool | None, typer.Option("--enabled/--paused", help="Only jobs that are not paused, or are.")
]
Failing = Annotated[
    bool | None,
    typer.Option("--failing/--not-failing", help="Only jobs that keep failing, or do not."),
]
Declared = Annotated[
    bool | None, typer.Option("--declared/--by-put", help="Only jobs that code declares, or not.")
]
OfKind = Annotated[str | None, typer.Option("--kind", help="Only jobs of this kind.")]
OfQueue = Annotated[str | None, typer.Option("--queue", help="Only jobs of this queue.")]
DueBefore = Annotated[
    datetime | None,
    typer.Option(
        parser=parse_coming,
        metavar="TIME",
        help="Only with a tick before this instant in ISO 8601, or 2h from now.",
    ),
]
Query = Annotated[
    str | None, typer.Option("--q", metavar="TEXT", help="Only names that hold this text.")
]
Sort = Annotated[
    str,
    typer.Option(
        metavar="FIELD",
        help="name, next_due_at or consecutive_failures; with a minus, the other way round.",
    ),
]
OfOutcome = Annotated[
    Outcome | None, typer.Option("--outcome", help="Only occurrences that ended so.")
]
BeforeRun = Annotated[
    str | None,
    typer.Option(metavar="ID|TIME", help="Only older ones: an occurrence's action id, or a time."),
]


def to_retry(attempts: int | None, delay: float | None) -> Retry | None:
    """Return the policy that the options describe; None if none of them is given."""
    if attempts is None and delay is not None:
        raise typer.BadParameter("give --retry-attempts, too: how often a run is tried")
    if attempts is None:
        return None
    return Retry(attempts) if delay is None else Retry(attempts, delay)


def to_before(text: str | None) -> UUID | datetime | None:
    """Return the id of an occurrence, or an instant."""
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError:
        return parse_past(text)


def to_rule(text: str) -> str | Every:
    """Convert `every` and a duration into an interval; other text is a cron expression."""
    word, _, length = text.strip().partition(" ")
    return Every(parse_delay(length)) if word.lower() == "every" else text


def to_misfire(policy: MisfirePolicy, limit: int, window: float | None) -> Misfire:
    if policy is MisfirePolicy.all:
        return Misfire.all(limit=limit, window=DAY if window is None else window)
    return Misfire.of(policy.value)
