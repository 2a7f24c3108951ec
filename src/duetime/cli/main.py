"""The entry point. It can report that the extra `cli` is missing, so it imports it late."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

EXTRA = frozenset({"typer", "rich", "click"})
ADVICE = "the command line needs typer and rich: pip install 'duetime[cli]'"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 for success, 1 for a failure, 2 for wrong arguments."""
    try:
        from duetime.cli.commands import cli
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        print(ADVICE, file=sys.stderr)
        sys.exit(2)

    from duetime.cli.failures import exit_on_error
    from duetime.logs import LineFormatter

    if logging.lastResort is not None:
        # What libraries log where a command has set up no log, to standard error.
        logging.lastResort.setFormatter(LineFormatter())
    with exit_on_error():
        cli(arguments, prog_name="duetime")
