"""What an error of PostgreSQL means to the user: never a raw driver error."""

from __future__ import annotations

import re

import psycopg

from duetime.errors import ConfigError, DuetimeError, InvalidArgument, StoreUnavailable

# What a value may do before it reaches the server.
FAULTS = (psycopg.Error, UnicodeError)

NO_DATABASE = "3D000"
# A refused connection carries no code: the server's words are all there is.
NO_DATABASE_SAID = re.compile(r'FATAL: +database ".*" does not exist')
LOGIN_REFUSED_SAID = re.compile(
    r'FATAL: +(password authentication failed|role ".*" does not exist|no pg_hba.conf entry)'
    "|no password supplied"
)
SHUTTING_DOWN = {"57P01", "57P02", "57P03"}


def is_lost(error: Exception) -> bool:
    """Did the connection break? Then another one may do."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = error.sqlstate
    return state is None or state.startswith("08") or state in SHUTTING_DOWN


def is_known(error: Exception) -> bool:
    """Is an action of that id there? Another index that refuses it is the user's own."""
    if not isinstance(error, psycopg.errors.UniqueViolation):
        return False
    table = error.diag.table_name or ""  # under whatever prefix
    return table.endswith("actions") and error.diag.constraint_name == f"{table}_pkey"


def explain(error: Exception, where: str) -> DuetimeError:
    """The error to raise instead, naming the server and the remedy."""
    if not isinstance(error, psycopg.Error):
        return InvalidArgument("value", str(error), "PostgreSQL cannot store it as text")
    state, said = error.sqlstate or "", _said(error)
    match state[:2], state:
        case "22" | "23", _:
            return InvalidArgument("value", said, "PostgreSQL refused to store it")
        case _, "42P01" | "3F000":
            return ConfigError(f"{where} lacks our tables ({said}): run `duetime migrate`")
        case _, "42501":
            return ConfigError(
                f"{where} refused: {said}; grant the user the right, or let another one run "
                "`duetime migrate`"
            )
        case _, "55P03":
            return StoreUnavailable(
                f"{where}: another transaction held the row for too long; end it (is one of "
                "your own still open?) and try again"
            )
        case _, "53100":
            return StoreUnavailable(f"{where}: the disk is full ({said}); make room")
        case _, "53300":
            return StoreUnavailable(f"{where}: too many connections ({said}); allow more")
        case _, "25006":
            return StoreUnavailable(f"{where} is read-only ({said}); connect to the primary")
        case _ if state == NO_DATABASE or NO_DATABASE_SAID.search(str(error)):
            return StoreUnavailable(
                f"{where} does not exist: create it, or check its name in the URL"
            )
        case _ if LOGIN_REFUSED_SAID.search(str(error)):
            return StoreUnavailable(
                f"{where} refused the login: {said}; check user and password in the URL"
            )
        case _ if is_lost(error):
            return StoreUnavailable(
                f"{where} cannot be reached: {said}; check that it runs and that the URL is right"
            )
        case _:
            return StoreUnavailable(f"{where} failed: {said}")


def _said(error: psycopg.Error) -> str:
    """The first line is what happened; the others are advice for server administrators."""
    return (error.diag.message_primary or str(error).split("\n")[0]).strip()
