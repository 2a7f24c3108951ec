"""Error output: an error that a user can fix becomes one line, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from duetime.cli.output import print_lines
from duetime.errors import (
    ActionNotFound,
    DuetimeError,
    DuplicateKey,
    IllegalState,
    JobNotFound,
    NotAuthenticated,
)
from duetime.model.traceback_text import traceback_text

MAX_LINE_LENGTH = 600


class CommandError(DuetimeError):
    """An error that only the command line can make; its message names the remedy."""


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Print a DuetimeError as one line and exit with 1; other exceptions with their traceback."""
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted")
    except DuetimeError as error:
        fail(advice(error))
    except Exception as error:  # noqa: BLE001 - Python would print its text as it is
        print_lines(*traceback_text(error).split("\n"), err=True)
        sys.exit(1)


def fail(message: str) -> None:
    say(message)
    sys.exit(1)


def say(message: str) -> None:
    print_lines(f"error: {one_line(message)}", err=True)


def advice(error: DuetimeError) -> str:
    """The error's message, with the remedy as a command line option where there is one."""
    match error:
        case ActionNotFound():
            what = str(error).partition(", or belongs to another tenant")[0]
            return f"{what}, or belongs to another tenant (give --tenant or --any-tenant)"
        case JobNotFound():
            which = str(error).partition(": ")[0]
            return (
                f"{which}: no worker has seeded it into the store, it was removed (`duetime jobs "
                "restore` brings it back), or it belongs to another tenant (give --tenant or "
                "--any-tenant)"
            )
        case DuplicateKey():
            return (
                f"key {error.key!r} of kind {error.kind!r} is held by unfinished action "
                f"{error.action_id}: give --if-exists return to get that action or replace to "
                "change it"
            )
        case NotAuthenticated():
            return f"{error}; give a key with --token-file FILE, or in DUETIME_TOKEN"
        case IllegalState(verb="cancel", state="running"):
            return f"{error}; --running asks its handler to stop"
        case _:
            return str(error)


def one_line(text: str) -> str:
    """Join the lines of a text, since drivers report errors in several, and limit its length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_LINE_LENGTH else f"{flat[:MAX_LINE_LENGTH]}…"
