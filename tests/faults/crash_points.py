"""Crash points: named places at which a real process kills itself, without any hook in src.

The verbs of the store are wrapped, in the process of the test only: `claim:before` dies before
the statement is sent, `claim:during` within a few milliseconds after, `claim:after` once the
reply has arrived and before it is used. Transactions lent to handlers are wrapped too: `commit`
makes their completion effective.
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
from duetime.model.jobs.selectors import DueJobs, ToSeed
from duetime.model.state import Outcome
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.store.sql.sqlite.open_file import WatchedConnection
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.store.transaction import RunBlocking, TransactionFactory

PHASES = ("before", "during", "after")
# Store verbs of a worker. Completions that rescue or release have names of their own.
VERBS = ("claim", "complete", "renew", "sweep", "prune", "unregister", "add", "edit_jobs")
NAMES = ("claim", "complete", "rescue", "release", "renew", "sweep", "prune", "unregister")
HANDLER_POINTS = ("start", "handler", "handled")
POINTS = [f"{name}:{phase}" for name in NAMES for phase in PHASES] + list(HANDLER_POINTS)
CLIENT_POINTS = [f"add:{phase}" for phase in PHASES]
# Points of a transaction lent to a handler.
TRANSACTION_POINTS = [f"commit:{phase}" for phase in PHASES]
# Points of a worker whose app has jobs.
EDIT_NAMES = {DueJobs: "tick", ToSeed: "seed"}
JOB_POINTS = [f"{name}:{phase}" for name in EDIT_NAMES.values() for phase in PHASES]
# Between the last statement and COMMIT on SQLite, by the writer or for a handler.
SQLITE_POINTS = ["COMMIT"]
# Points that a worker passes only while it stops.
STOPPING_POINTS = {"release", "unregister"}


class CrashPoint:
    """Kills the process at the `nth` pass of `point`; never if `point` is empty."""

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


class CrashPointWrapper:
    """Wraps the verbs of a store, so that each call passes its crash points."""

    def __init__(self, store: Store, crash: CrashPoint) -> None:
        self._crash = crash
        self._flows: dict[int, tuple[Flow[Any], str]] = {}
        for verb in VERBS:
            setattr(store, verb, self._named(verb, getattr(store, verb)))
        self._wrap(store, "perform", "perform_blocking")
        self._wrap_transactions(store)
        if isinstance(store, SqliteStore):
            self._trace_writer(store)

    def _named(self, verb: str, make: Callable[..., Flow[Any]]) -> Callable[..., Flow[Any]]:
        def named(*args: Any, **kwargs: Any) -> Flow[Any]:
            flow = make(*args, **kwargs)
            # Keyed by `start`, which stays the same when a flow gets a deadline. The flow is kept
            # until it is performed, so that no other object gets the same id.
            self._flows[id(flow.start)] = (flow, _name(verb, args, kwargs))
            return flow

        return named

    def _wrap(self, owner: Any, verb: str, verb_blocking: str) -> None:
        """Wrap two methods of this object, not of its class."""
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

    def _wrap_transactions(self, store: Any) -> None:
        open_factory = store.transaction_factory

        def wrapped(*args: Any) -> TransactionFactory | None:
            factory: TransactionFactory | None = open_factory(*args)
            if factory is None:
                return None
            return replace(factory, open=lambda: self._watched(factory.open()))

        store.transaction_factory = wrapped

    def _watched(self, transaction: Any) -> Any:
        begin, commit = transaction.begin, transaction.commit

        async def begun(hop: RunBlocking) -> object:
            lent = await begin(hop)
            self._wrap(transaction.joined, "perform_final", "perform_final_blocking")
            if isinstance(lent, sqlite3.Connection):
                self._trace(lent)
            return lent

        async def committed(hop: RunBlocking) -> None:
            self._crash.hit("commit:before")
            self._crash.hit_during("commit")
            await commit(hop)
            self._crash.hit("commit:after")

        transaction.begin, transaction.commit = begun, committed
        return transaction

    def _trace_writer(self, store: SqliteStore) -> None:
        connect = store._writer._connect

        def traced() -> WatchedConnection:
            file = connect()
            self._trace(file.connection)
            return file

        store._writer._connect = traced

    def _trace(self, connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(
            lambda text: self._crash.hit("COMMIT") if text == "COMMIT" else None
        )


def _name(verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if verb == "edit_jobs":
        return EDIT_NAMES.get(type(args[0]), verb)
    if verb != "complete":
        return verb
    if kwargs.get("rescuing"):
        return "rescue"
    released = any(ending.outcome is Outcome.released for ending in args[0])
    return "release" if released else "complete"
