"""The `duetime` command with all its subcommands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from duetime.cli.actions import cli as actions
from duetime.cli.alive import alive
from duetime.cli.api_keys import cli as api_keys
from duetime.cli.audit import cli as audit
from duetime.cli.bench import bench
from duetime.cli.bulk import bulk
from duetime.cli.cron import cron
from duetime.cli.demo import demo
from duetime.cli.doctor import doctor
from duetime.cli.erase import erase
from duetime.cli.grants import cli as grants
from duetime.cli.jobs import cli as jobs
from duetime.cli.migrate import migrate
from duetime.cli.notifications import cli as notifications
from duetime.cli.output import print_lines
from duetime.cli.queues import cli as queues
from duetime.cli.safe_group import SafeGroup
from duetime.cli.serve import serve
from duetime.cli.server import offer_server
from duetime.cli.stats import stats
from duetime.cli.subscriptions import SUBSCRIPTION_COMMANDS
from duetime.cli.timeline import timeline
from duetime.cli.transitions import cli as transitions
from duetime.cli.worker import worker
from duetime.cli.workers import workers

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
cli.command("alive")(alive)
cli.command("serve")(serve)
actions.command("bulk")(bulk)
cli.add_typer(actions, name="actions")
cli.add_typer(jobs, name="jobs")
cli.add_typer(transitions, name="transitions")
cli.add_typer(queues, name="queues")
cli.command("workers")(workers)
cli.add_typer(audit, name="audit")
cli.command("erase")(erase)
cli.command("timeline")(timeline)
cli.add_typer(api_keys, name="keys")
cli.add_typer(grants, name="grants")
for words, command in SUBSCRIPTION_COMMANDS.items():
    notifications.command(words)(command)
cli.add_typer(notifications, name="notifications")
cli.command("cron")(cron)
cli.command("migrate")(migrate)
cli.command("stats")(stats)
cli.command("doctor")(doctor)
cli.command("bench")(bench)
offer_server(cli)


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
