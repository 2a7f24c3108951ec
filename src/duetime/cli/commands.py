"""The `duetime` command with all its subcommands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from duetime.cli.actions import cli as actions
from duetime.cli.bench import bench
from duetime.cli.cron import cron
from duetime.cli.demo import demo
from duetime.cli.doctor import doctor
from duetime.cli.jobs import cli as jobs
from duetime.cli.migrate import migrate
from duetime.cli.output import print_lines
from duetime.cli.safe_group import SafeGroup
from duetime.cli.transitions import cli as transitions
from duetime.cli.worker import worker

cli = typer.Typer(
    cls=SafeGroup,
    help="Everything that must happen later: run workers, look at actions and jobs, change them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
cli.command("demo")(demo)
cli.command("worker")(worker)
cli.add_typer(actions, name="actions")
cli.add_typer(jobs, name="jobs")
cli.add_typer(transitions, name="transitions")
cli.command("cron")(cron)
cli.command("migrate")(migrate)
cli.command("doctor")(doctor)
cli.command("bench")(bench)


def _print_version(requested: bool) -> None:
    if requested:
        print_lines(f"duetime {version('duetime')}")
        raise typer.Exit


@cli.callback()
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass
