"""`duetime cron`: explains an expression and shows its next ticks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer

from duetime.cli.options import Json
from duetime.cli.output import print_json, print_lines
from duetime.cli.ticks import tick_items, tick_lines
from duetime.cli.times import now, parse_instant
from duetime.model.recurrence.cron import Cron


def cron(
    expression: Annotated[
        str, typer.Argument(metavar="EXPR", help="The expression in quotes, such as '0 2 * * *'.")
    ],
    tz: Annotated[str, typer.Option(help="The IANA zone of the expression.")] = "UTC",
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many ticks.")] = 10,
    after: Annotated[
        datetime | None,
        typer.Option(parser=parse_instant, metavar="ISO", help="Ticks after this; default: now."),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a cron expression and show its next ticks."""
    rule = Cron(expression, tz=tz)
    ticks = list(_ticks(rule, after or now(), count))
    if json:
        words = {"recurrence": rule.expr, "tz": rule.tz, "words": rule.describe()}
        print_json(words | {"ticks": tick_items(rule, ticks)})
        return
    print_lines(rule.describe(), "")
    print_lines(*tick_lines(rule, ticks))
    if len(ticks) < count:
        print_lines("there are no more ticks")


def _ticks(rule: Cron, after: datetime, count: int) -> Iterator[datetime]:
    tick = rule.next(after)
    while tick is not None and count:
        yield tick
        tick, count = rule.next(tick), count - 1
