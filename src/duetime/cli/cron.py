"""`duetime cron`: what an expression means, and when it ticks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from duetime.cli.documents import emit
from duetime.cli.options import Json
from duetime.cli.times import iso, now, parse_instant
from duetime.model.clock_note import clock_note
from duetime.model.cron import Cron


def cron(
    expression: Annotated[
        str, typer.Argument(metavar="EXPR", help="The expression, in quotes, as '0 2 * * *'.")
    ],
    tz: Annotated[str, typer.Option(help="The IANA zone whose clocks it follows.")] = "UTC",
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many ticks.")] = 10,
    after: Annotated[
        datetime | None,
        typer.Option(parser=parse_instant, metavar="ISO", help="Ticks after this; default: now."),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a cron expression means, and show its next ticks."""
    rule = Cron(expression, tz=tz)
    ticks = list(_ticks(rule, after or now(), count))
    if json:
        emit(_document(rule, ticks))
        return
    typer.echo(f"{rule.describe()}\n")
    typer.echo("\n".join(_lines(rule, ticks)))
    if len(ticks) < count:
        typer.echo("there are no more")


def _ticks(rule: Cron, after: datetime, count: int) -> Iterator[datetime]:
    tick = rule.next(after)
    while tick is not None and count:
        yield tick
        tick, count = rule.next(tick), count - 1


def _document(rule: Cron, ticks: list[datetime]) -> dict[str, Any]:
    items = [
        {
            "tick": iso(tick),
            "local": tick.astimezone(ZoneInfo(rule.tz)).isoformat(),
            "note": clock_note(rule, tick),
        }
        for tick in ticks
    ]
    return {"recurrence": rule.expr, "tz": rule.tz, "words": rule.describe(), "ticks": items}


def _lines(rule: Cron, ticks: list[datetime]) -> Iterator[str]:
    """Not in a table of rich, which would break notes where the window is narrow."""
    yield f"{'local':<30}{'UTC':<22}note"
    for tick in ticks:
        local = f"{tick.astimezone(ZoneInfo(rule.tz)):%a %Y-%m-%d %H:%M:%S %Z}"
        yield f"{local:<30}{iso(tick):<22}{clock_note(rule, tick) or ''}".rstrip()
