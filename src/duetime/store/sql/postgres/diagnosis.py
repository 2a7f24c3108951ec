"""Looks at a PostgreSQL database without changing anything in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any
from uuid import uuid4

import psycopg

from duetime.errors import DuetimeError
from duetime.model.clock import monotonic
from duetime.model.health.diagnosis import Diagnosis, Ear, Holder, Version
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql import migrate
from duetime.store.sql.postgres.errors import FAULTS, explain
from duetime.store.sql.postgres.notify import ping_message
from duetime.store.sql.postgres.server import Server
from duetime.store.sql.statements.loader import Loader

# gen_random_uuid() is built in since then.
OLDEST_SERVER = (13,)
OLDEST_DRIVER = (3, 2, 9)
PATIENCE = 2.0

Perform = Callable[[Flow[Any]], Any]


def examine(server: Server, loader: Loader, perform: Perform, *, listening: bool) -> Diagnosis:
    """`perform` does a flow without migrating first."""
    asked = monotonic()
    try:
        number = perform(_read("server_version"))[0][0]
        answered_in = monotonic() - asked
        holders = perform(_read("snapshots"))
        return Diagnosis(
            answered_in=answered_in,
            versions=(Version("PostgreSQL", divmod(number, 10_000), OLDEST_SERVER), _driver()),
            schema=migrate.examine(loader, perform),
            ear=_listen(server, loader, perform) if listening else Ear(wanted=False),
            holders=tuple(Holder(*row) for row in holders),
        )
    except DuetimeError as error:
        return Diagnosis(fault=str(error), versions=(_driver(),))
    except FAULTS as error:
        return Diagnosis(fault=str(explain(error, server.name)), versions=(_driver(),))


def _read(name: str, **params: object) -> Flow[Any]:
    def steps() -> Steps[Any]:
        return (yield Statement(name, params))

    return Flow(steps, Mode.read)


def _driver() -> Version:
    numbers = psycopg.__version__.split(".")
    found = tuple(int(one) for one in numbers if one.isdecimal())
    return Version("psycopg", found, OLDEST_DRIVER)


def _listen(server: Server, loader: Loader, perform: Perform) -> Ear:
    """Listen as a worker does, and tell from another connection, as another process does.
    Others who hear the notice find nothing in it."""
    channel, message = loader.names.channel, ping_message(uuid4().hex, 0)
    with closing(server.connect()) as connection:
        connection.execute(f"LISTEN {channel}".encode())
        sent = monotonic()
        perform(_read("notify", channel=channel, message=message))
        while (left := PATIENCE - (monotonic() - sent)) > 0:
            for notice in connection.notifies(timeout=left, stop_after=1):
                if notice.payload == message:
                    return Ear(True, monotonic() - sent, PATIENCE)
    return Ear(True, None, PATIENCE)
