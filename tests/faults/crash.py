"""Named places in a real process at which it can be told to die, without a trace of it in src.

The store's verbs are wrapped, in the process of the test only: `claim:before` dies before the
statement is sent, `claim:during` within a few milliseconds after, `claim:after` once the answer
is here and before anybody has looked at it. So are the transactions that handlers work in: their
completion is one that says so itself, and their `commit` what makes it count.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from duetime.model.actions.claim import Claimed
from duetime.model.jobs.selectors import Due, Seeding
from duetime.model.state import Outcome
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.store.transaction import Hop, Opener

PHASES = ("before", "during", "after")
# What a worker asks its store. A completion that rescues or releases has a name of its own.
VERBS = ("claim", "complete", "renew", "sweep", "prune", "leave", "add", "edit_jobs")
NAMES = ("claim", "complete", "rescue", "release", "renew", "sweep", "prune", "leave")
HANDLER = ("start", "handler", "handled")
POINTS = [f"{name}:{phase}" for name in NAMES for phase in PHASES] + list(HANDLER)
CLIENT_POINTS = [f"add:{phase}" for phase in PHASES]
# Of a transaction that a handler works in.
TRANSACTION_POINTS = [f"commit:{phase}" for phase in PHASES]
# Of a worker whose app has jobs.
EDITS = {Due: "tick", Seeding: "seed"}
JOB_POINTS = [f"{name}:{phase}" for name in EDITS.values() for phase in PHASES]
# Between the last statement and the COMMIT that SQLite is told: by the writer, or for a handler.
SQLITE_POINTS = ["COMMIT"]
# Those that a worker comes by only while it stops.
STOPPING = {"release", "leave"}


class Crash:
    """Dies at the `nth` time that `point` is passed; never, if it has no name."""

    def __init__(self, point: str = "", nth: int = 1) -> None:
        self._point = point
        self._left = nth

    def hit(self, point: str) -> None:
        if self._strikes(point):
            die()

    def hit_during(self, name: str) -> None:
        if self._strikes(f"{name}:during"):
            threading.Thread(target=_die_soon, daemon=True).start()

    def _strikes(self, point: str) -> bool:
        if point != self._point:
            return False
        self._left -= 1
        return self._left == 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_soon() -> None:
    time.sleep(random.uniform(0, 0.004))
    die()


class Watch:
    """Around a store: knows each flow by name, passes the crash points."""

    def __init__(self, store: Store, crash: Crash) -> None:
        self._crash = crash
        self._flows: dict[int, tuple[Flow[Any], str]] = {}
        for verb in VERBS:
            setattr(store, verb, self._named(verb, getattr(store, verb)))
        self._wrap(store, "perform", "perform_blocking")
        self._wrap_opener(store)
        if isinstance(store, SqliteStore):
            self._trace_writer(store)

    def _named(self, verb: str, make: Callable[..., Flow[Any]]) -> Callable[..., Flow[Any]]:
        def named(*args: Any, **kwargs: Any) -> Flow[Any]:
            made = make(*args, **kwargs)
            # By its start, which is left as it is where a flow gets a deadline; kept until it is
            # performed, so that no other gets its number.
            self._flows[id(made.start)] = (made, _name(verb, args, kwargs))
            return made

        return named

    def _wrap(self, owner: Any, verb: str, verb_blocking: str) -> None:
        """Of this object, not of its class."""
        perform, perform_blocking = getattr(owner, verb), getattr(owner, verb_blocking)

        async def wrapped(flow: Flow[Any]) -> Any:
            name = self._before(flow)
            return self._after(name, await perform(flow))

        def wrapped_blocking(flow: Flow[Any]) -> Any:
            name = self._before(flow)
            return self._after(name, perform_blocking(flow))

        setattr(owner, verb, wrapped)
        setattr(owner, verb_blocking, wrapped_blocking)

    def _before(self, flow: Flow[Any]) -> str:
        _, name = self._flows.pop(id(flow.start), (None, ""))
        self._crash.hit(f"{name}:before")
        self._crash.hit_during(name)
        return name

    def _after(self, name: str, value: Any) -> Any:
        if not isinstance(value, Claimed) or value.claims:
            self._crash.hit(f"{name}:after")
        return value

    def _wrap_opener(self, store: Any) -> None:
        opener = store.opener

        def wrapped(*args: Any) -> Opener | None:
            made: Opener | None = opener(*args)
            if made is None:
                return None
            return replace(made, open=lambda: self._watched(made.open()))

        store.opener = wrapped

    def _watched(self, transaction: Any) -> Any:
        begin, commit = transaction.begin, transaction.commit

        async def begun(hop: Hop) -> object:
            lent = await begin(hop)
            self._wrap(transaction.joined, "perform_last", "perform_last_blocking")
            if isinstance(lent, sqlite3.Connection):
                self._trace(lent)
            return lent

        async def committed(hop: Hop) -> None:
            self._crash.hit("commit:before")
            self._crash.hit_during("commit")
            await commit(hop)
            self._crash.hit("commit:after")

        transaction.begin, transaction.commit = begun, committed
        return transaction

    def _trace_writer(self, store: SqliteStore) -> None:
        connect = store._writer._connect

        def traced() -> sqlite3.Connection:
            connection = connect()
            self._trace(connection)
            return connection

        store._writer._connect = traced

    def _trace(self, connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(
            lambda text: self._crash.hit("COMMIT") if text == "COMMIT" else None
        )


def _name(verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if verb == "edit_jobs":
        return EDITS.get(type(args[0]), verb)
    if verb != "complete":
        return verb
    if kwargs.get("rescuing"):
        return "rescue"
    released = any(ending.outcome is Outcome.released for ending in args[0])
    return "release" if released else "complete"
