"""Diagnosis of a PostgreSQL database, without changing anything in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg

from duetime.errors import DuetimeError
from duetime.model.clock import monotonic
from duetime.model.health.diagnosis import (
    Diagnosis,
    ListenProbe,
    Schema,
    SnapshotHolder,
    Version,
)
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql import migrate
from duetime.store.sql.postgres.errors import DRIVER_ERRORS, explain
from duetime.store.sql.postgres.late_indexes import ready_steps
from duetime.store.sql.postgres.notify import ping_message
from duetime.store.sql.postgres.server import Server
from duetime.store.sql.statements.access import LATE_INDEXES
from duetime.store.sql.statements.loader import StatementLoader

# The first version with a built-in gen_random_uuid().
OLDEST_SERVER = (13,)
OLDEST_DRIVER = (3, 2, 9)
PING_TIMEOUT_SECONDS = 2.0

Perform = Callable[[Flow[Any]], Any]


def examine(
    server: Server, loader: StatementLoader, perform: Perform, *, listening: bool
) -> Diagnosis:
    """Return a diagnosis, with an error as its fault. `perform` runs a flow without migrating."""
    started = monotonic()
    try:
        number = perform(_read("server_version"))[0][0]
        answered_in = monotonic() - started
        holders = perform(_read("snapshots"))
        return Diagnosis(
            answered_in=answered_in,
            versions=(Version("PostgreSQL", divmod(number, 10_000), OLDEST_SERVER), _driver()),
            encoding=perform(_read("encoding"))[0][0],
            schema=_schema(loader, perform),
            listen_probe=_listen(server, loader, perform)
            if listening
            else ListenProbe(enabled=False),
            snapshot_holders=tuple(SnapshotHolder(*row) for row in holders),
        )
    except DuetimeError as error:
        return Diagnosis(fault=str(error), versions=(_driver(),))
    except DRIVER_ERRORS as error:
        return Diagnosis(fault=str(explain(error, server.name)), versions=(_driver(),))


def _schema(loader: StatementLoader, perform: Perform) -> Schema:
    schema = migrate.examine(loader, perform)
    if schema.pending or schema.refused is not None:
        return schema
    ready: frozenset[str] = perform(Flow(lambda: ready_steps(loader), Mode.read))
    missing = (f"{loader.names.prefix}{index}" for index in sorted(LATE_INDEXES - ready))
    return replace(schema, missing_indexes=tuple(missing))


def _read(name: str, **params: object) -> Flow[Any]:
    def steps() -> Steps[Any]:
        return (yield Statement(name, params))

    return Flow(steps, Mode.read)


def _driver() -> Version:
    numbers = psycopg.__version__.split(".")
    version = tuple(int(number) for number in numbers if number.isdecimal())
    return Version("psycopg", version, OLDEST_DRIVER)


def _listen(server: Server, loader: StatementLoader, perform: Perform) -> ListenProbe:
    """Listen as a worker does, and notify from another connection as another process would.

    Workers that receive the message ignore it."""
    channel, message = loader.names.channel, ping_message(uuid4().hex, 0)
    with closing(server.connect()) as connection:
        connection.execute(f"LISTEN {channel}".encode())
        sent = monotonic()
        perform(_read("notify", channel=channel, message=message))
        while (left := PING_TIMEOUT_SECONDS - (monotonic() - sent)) > 0:
            for notice in connection.notifies(timeout=left, stop_after=1):
                if notice.payload == message:
                    return ListenProbe(True, monotonic() - sent, PING_TIMEOUT_SECONDS)
    return ListenProbe(True, None, PING_TIMEOUT_SECONDS)
