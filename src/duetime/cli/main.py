"""The entry point. Imports nothing of the extra `cli` before it can say that it is missing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

EXTRA = frozenset({"typer", "rich", "click"})
ADVICE = "the command line needs typer and rich: pip install 'duetime[cli]'"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 it failed, 2 it was not understood."""
    try:
        from duetime.cli.commands import cli
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        print(ADVICE, file=sys.stderr)
        sys.exit(2)

    from duetime.cli.failures import plainly

    with plainly():
        cli(arguments, prog_name="duetime")
