"""`duetime demo`: runs a small shop, and shows it in a dashboard or in the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from duetime.cli.argv import program_command
from duetime.cli.demo_shop import QUEUE
from duetime.cli.demo_terminal import show_in_terminal
from duetime.cli.output import print_lines
from duetime.model.store_url import mask_password

MEMORY = "memory:"
# What the dashboard is made with: the extra `server`.
WEB_PACKAGES = ("fastapi", "jinja2", "uvicorn")
MISSING = (
    "",
    "*** THE DASHBOARD IS MISSING: it needs {packages}, of the extra `server`:",
    "***     pip install 'duetime[server]'",
    "*** The demo goes on in this terminal, as with --terminal.",
    "",
)


def demo(
    url: Annotated[
        str | None, typer.Option(help="The demo's store; default: SQLite in a temporary file.")
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65_535, help="The dashboard's port; default: one that is free."),
    ] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="How long to run; default: until Ctrl-C.")
    ] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show actions in this terminal, not in a dashboard.")
    ] = False,
) -> None:
    """Open the dashboard of a small shop: actions that run, fail and are retried, jobs that tick,
    rows that change at their time."""
    missing = [] if terminal else missing_packages()
    if missing:
        print_lines(*(line.format(packages=", ".join(missing)) for line in MISSING), err=True)
    with nullcontext(url) if url else temporary_store() as place:
        if terminal or missing:
            show_in_terminal(place, seconds)
        else:
            # Imports the web framework, which the demo in a terminal does without.
            from duetime.cli.demo_dashboard import show_in_dashboard

            show_in_dashboard(place, port, seconds, is_temporary=url is None)
    if url and not url.startswith(MEMORY):
        store = shlex.quote(mask_password(url))
        listing = f"{program_command()} actions list --queue {QUEUE} --url {store}"
        print_lines(f"the demo's actions stay in the store: {listing}")


def missing_packages() -> list[str]:
    return [name for name in WEB_PACKAGES if find_spec(name) is None]


@contextmanager
def temporary_store() -> Iterator[str]:
    with TemporaryDirectory(prefix="duetime-demo-") as folder:
        yield f"sqlite:///{Path(folder) / 'demo.db'}"
