"""Translation of psycopg's errors: users never see a raw driver error."""

from __future__ import annotations

import re

import psycopg

from duetime.errors import (
    ConfigError,
    DuetimeError,
    InvalidArgument,
    StoreUnavailable,
    UnreadableRow,
)

# Errors of the driver; UnicodeError comes from values that cannot be encoded.
DRIVER_ERRORS = (psycopg.Error, UnicodeError)

NO_DATABASE_STATE = "3D000"
# A refused connection carries no SQLSTATE: only the server's message says why.
NO_DATABASE_MESSAGE = re.compile(r'FATAL: +database ".*" does not exist')
LOGIN_REFUSED_MESSAGE = re.compile(
    r'FATAL: +(password authentication failed|role ".*" does not exist|no pg_hba.conf entry)'
    "|no password supplied"
)
SHUTDOWN_STATES = {"57P01", "57P02", "57P03"}


def is_connection_lost(error: Exception) -> bool:
    """Return whether the connection broke, so that another connection may work."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = error.sqlstate
    return state is None or state.startswith("08") or state in SHUTDOWN_STATES


def is_duplicate_action(error: Exception) -> bool:
    """Return whether an action of that id exists; other unique indexes are the user's own."""
    if not isinstance(error, psycopg.errors.UniqueViolation):
        return False
    table = error.diag.table_name or ""  # under whatever prefix
    return table.endswith("actions") and error.diag.constraint_name == f"{table}_pkey"


def explain(error: Exception, where: str) -> DuetimeError:
    """Return the error to raise instead; it names the server and the remedy."""
    if not isinstance(error, psycopg.Error):
        return InvalidArgument("value", str(error), "PostgreSQL cannot store the value as text")
    state, message = error.sqlstate or "", _primary_message(error)
    match state:
        # Text that is no UTF-8 comes from the database; what the driver sends is valid.
        case "XX001" | "XX002" | "22021":
            return _unreadable(where, message)
        # Not by their states: what the driver itself refuses, such as NUL in a text, has none.
        case _ if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            return InvalidArgument("value", message, "PostgreSQL refused to store it")
        case "42P01" | "3F000":
            return ConfigError(f"{where} lacks our tables ({message}): run `duetime migrate`")
        case "42501":
            return ConfigError(
                f"{where} refused: {message}; grant the user the right, or let another one run "
                "`duetime migrate`"
            )
        case "55P03":
            return StoreUnavailable(
                f"{where}: another transaction held the row for too long; end it (is one of "
                "your own still open?) and try again"
            )
        case "53100":
            return StoreUnavailable(f"{where}: the disk is full ({message}); make room")
        case "53300":
            return StoreUnavailable(f"{where}: too many connections ({message}); allow more")
        case "25006":
            return StoreUnavailable(f"{where} is read-only ({message}); connect to the primary")
        case _ if state == NO_DATABASE_STATE or NO_DATABASE_MESSAGE.search(str(error)):
            return StoreUnavailable(
                f"{where} does not exist: create it, or check its name in the URL"
            )
        case _ if LOGIN_REFUSED_MESSAGE.search(str(error)):
            return StoreUnavailable(
                f"{where} refused the login: {message}; check user and password in the URL"
            )
        case _ if is_connection_lost(error):
            return StoreUnavailable(
                f"{where} cannot be reached: {message}; check that it runs and that "
                "the URL is right"
            )
        case _:
            return StoreUnavailable(f"{where} failed: {message}")


def _unreadable(where: str, message: str) -> UnreadableRow:
    return UnreadableRow(
        f"{where} cannot read a row ({message}): its disk or memory may be damaged; workers find "
        "the row and fail its action"
    )


def _primary_message(error: psycopg.Error) -> str:
    """Return the first line of the message: the others are advice for server administrators."""
    return (error.diag.message_primary or str(error).split("\n")[0]).strip()
