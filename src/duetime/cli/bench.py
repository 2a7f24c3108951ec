"""`duetime bench`: how fast is duetime on this machine, with this database?"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.table import Table

from duetime.app import Duetime
from duetime.bench.figures import Figure, shown
from duetime.bench.measures import MEASURES, measure
from duetime.cli.documents import emit
from duetime.cli.open_store import refuse_memory
from duetime.cli.options import Json
from duetime.cli.tables import make_console
from duetime.errors import did_you_mean
from duetime.store.sql.migrate_hint import masked

Figures = Mapping[str, Sequence[Figure]]


def bench(
    url: Annotated[
        str | None, typer.Option(help="The database; default: DUETIME_URL or TOML.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"One of {', '.join(MEASURES)}. Repeatable."),
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, help="Actions to drain; other measures take a share of it.")
    ] = 20_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often to measure each.")] = 3,
    json_: Json = False,
) -> None:
    """Measure duetime on a database, beside your data: in a schema or a file that is made for
    it and dropped in the end."""
    names = known(only or list(MEASURES))
    target = Duetime(url, migrate=False)
    refuse_memory(target)
    found = measure(
        target.settings.url,
        names,
        count=count,
        rounds=rounds,
        tell=lambda line: None if json_ else typer.echo(line, err=True),
    )
    if json_:
        emit(document(target, found, count, rounds))
    else:
        make_console().print(table(found))


def known(names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if name not in MEASURES:
            hint = did_you_mean(name, MEASURES) or f"; there are {', '.join(MEASURES)}"
            raise typer.BadParameter(f"no measure {name!r}{hint}")
    return list(dict.fromkeys(names))


def table(found: Figures) -> Table:
    """Each figure with its median and, of several rounds, the lowest and the highest."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("measure", no_wrap=True)
    table.add_column("figure", no_wrap=True)
    for name in ("median", "lowest", "highest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for name, ones in found.items():
        for row, one in enumerate(ones):
            values = [shown(value) for value in (one.median, one.low, one.high)]
            table.add_row("" if row else name, one.name, *values, one.unit)
    return table


def document(app: Duetime, found: Figures, count: int, rounds: int) -> dict[str, Any]:
    return {
        "store": masked(app.settings.url),
        "duetime": version("duetime"),
        "python": platform.python_version(),
        "count": count,
        "rounds": rounds,
        "figures": [
            {"measure": name, "words": MEASURES[name].words, **one.document()}
            for name, ones in found.items()
            for one in ones
        ],
    }
