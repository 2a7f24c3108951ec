"""Failures: an error that a person can mend becomes one clear line, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from duetime.errors import ActionNotFound, DuetimeError, DuplicateKey, IllegalState, JobNotFound

LONGEST = 600


class Mistake(DuetimeError):
    """Something that only the command line can get wrong, and its remedy."""


@contextmanager
def plainly() -> Iterator[None]:
    """Say what went wrong on one line and exit with 1. A bug of ours keeps its traceback."""
    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted")
    except DuetimeError as error:
        fail(advice(error))


def fail(message: str) -> None:
    say(message)
    sys.exit(1)


def say(message: str) -> None:
    print(f"error: {one_line(message)}", file=sys.stderr)


def advice(error: DuetimeError) -> str:
    """The error's own words, with the remedy as one types it here."""
    match error:
        case ActionNotFound():
            return (
                f"no action {error.action_id}: it was never scheduled, was pruned after its "
                "retention, or belongs to another tenant (give --tenant or --any-tenant)"
            )
        case JobNotFound():
            which = str(error).partition(": ")[0]
            return (
                f"{which}: no worker has brought it into the store, it was removed (`duetime jobs "
                "restore` brings it back), or it belongs to another tenant (give --tenant or "
                "--any-tenant)"
            )
        case DuplicateKey():
            return (
                f"key {error.key!r} of kind {error.kind!r} is held by unfinished action "
                f"{error.action_id}: give --if-exists return to get it or replace to change it"
            )
        case IllegalState(verb="cancel", state="running"):
            return f"{error}; --running asks its handler to stop"
        case _:
            return str(error)


def one_line(text: str) -> str:
    """Drivers like to answer in paragraphs."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]}…"
