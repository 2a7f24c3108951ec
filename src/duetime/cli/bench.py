"""`duetime bench`: measures duetime on this machine with this database."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.table import Table

from duetime.app import Duetime
from duetime.bench.figures import Figure, format_figure
from duetime.bench.measures import MEASURES, measure
from duetime.cli.open_store import refuse_memory
from duetime.cli.options import Json
from duetime.cli.output import make_console, print_json, print_lines
from duetime.errors import did_you_mean
from duetime.model.store_url import mask_password

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
        int, typer.Option(min=1, help="Actions to drain; other measures use a share of this.")
    ] = 20_000,
    rounds: Annotated[int, typer.Option(min=1, help="How many times to repeat each measure.")] = 3,
    json_: Json = False,
) -> None:
    """Measure duetime on a database, beside your data: in a schema or a file that is created for
    the measures and dropped afterwards."""
    names = known(only or list(MEASURES))
    target = Duetime(url, migrate=False)
    refuse_memory(target)
    figures = measure(
        target.settings.url,
        names,
        count=count,
        rounds=rounds,
        progress=lambda line: None if json_ else print_lines(line, err=True),
    )
    if json_:
        print_json(document(target, figures, count, rounds))
    else:
        make_console().print(table(figures))


def known(names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if name not in MEASURES:
            hint = did_you_mean(name, MEASURES) or f"; choose from {', '.join(MEASURES)}"
            raise typer.BadParameter(f"there is no measure {name!r}{hint}")
    return list(dict.fromkeys(names))


def table(figures: Figures) -> Table:
    """A table of each figure's median, lowest and highest value."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("measure", no_wrap=True)
    table.add_column("figure", no_wrap=True)
    for name in ("median", "lowest", "highest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for name, group in figures.items():
        for row, figure in enumerate(group):
            values = [format_figure(value) for value in (figure.median, figure.low, figure.high)]
            table.add_row("" if row else name, figure.name, *values, figure.unit)
    return table


def document(app: Duetime, figures: Figures, count: int, rounds: int) -> dict[str, Any]:
    return {
        "store": mask_password(app.settings.url),
        "duetime": version("duetime"),
        "python": platform.python_version(),
        "count": count,
        "rounds": rounds,
        "figures": [
            {"measure": name, "words": MEASURES[name].description, **figure.document()}
            for name, group in figures.items()
            for figure in group
        ],
    }
