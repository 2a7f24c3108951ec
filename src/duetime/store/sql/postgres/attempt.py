"""One try to perform a flow on PostgreSQL, told without I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar, cast

from duetime.errors import StoreUnavailable
from duetime.store.flow import Flow, Mode, Series, Statement, Wake
from duetime.store.sql.drivers import (
    COMMIT,
    ROLLBACK,
    Command,
    Driven,
    Pinned,
    messages,
    statements,
)
from duetime.store.sql.postgres.conflicts import is_conflict
from duetime.store.sql.postgres.errors import FAULTS, explain, is_known, is_lost
from duetime.store.sql.postgres.prepared import STALE

T = TypeVar("T")

# How often two transactions may meet before we give up, and the pause after the first time.
MOST_CONFLICTS = 4
PAUSE = 0.005

# A planner that was misled by statistics of an empty table must not choose otherwise; and
# switching ways off inflates the costs at which it would begin to compile the query.
_WRITE = ("enable_seqscan", "jit")
_HOT = (*_WRITE, "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin")
_OFF = {
    Mode.write: _WRITE,
    Mode.pinned: _HOT,
    Mode.hot: _HOT,
    # A claim that a crash of the server forgets is made again: nothing ran yet that counts.
    Mode.claim: (*_HOT, "synchronous_commit"),
}
_SEVERAL_MESSAGES = (Mode.write, Mode.pinned)
_KEPT = (Mode.hot, Mode.claim)

# One plan whatever the values, so that it can be kept; and the process that answers.
ASKED_BY_KEEPERS = ("set_config('plan_cache_mode', 'force_generic_plan', true)", "pg_backend_pid()")

Notify = Callable[[Sequence[Wake]], Statement | None]


class Pins(NamedTuple):
    """Settings in a transaction that is not the store's own."""

    any: Command
    last: Command


Sent = Statement | Series | Command | Pinned


def settings(timeout: float) -> Mapping[Mode, Command]:
    """What each mode sets for its transaction; the others need nothing. A call must end within
    `timeout`, so it waits for locks for a quarter of that; and a transaction that hears nothing
    from us for so long is ended, lest a client that vanished keeps its rows locked."""
    several = dict.fromkeys(_SEVERAL_MESSAGES, (_vanished(timeout),))
    # What is claimed when nobody waits for it any more would be lost to all until its lease ends.
    in_time = _set("statement_timeout", _milliseconds(timeout * 0.8))
    one = {Mode.hot: ASKED_BY_KEEPERS, Mode.claim: (in_time, *ASKED_BY_KEEPERS)}
    return {mode: _select(timeout, names, *(several | one)[mode]) for mode, names in _OFF.items()}


def pins(timeout: float) -> Pins:
    """The same in a transaction of a caller's, whose session is not ours to keep plans in; and
    before the last statement of a handler's. The handler may have been silent for long, but what
    follows now is a commit: if the server does not hear of it, nobody may hear of the action."""
    last = (_vanished(timeout), *ASKED_BY_KEEPERS)
    return Pins(_select(timeout, _HOT), _select(timeout, _HOT, *last))


def _vanished(timeout: float) -> str:
    return _set("idle_in_transaction_session_timeout", _milliseconds(timeout))


def _select(timeout: float, off: Sequence[str], *more: str) -> Command:
    wait = _set("lock_timeout", _milliseconds(timeout / 4))
    return Command(f"SELECT {', '.join((wait, *(_set(name, 'off') for name in off), *more))}")


def _set(name: str, value: str) -> str:
    return f"set_config('{name}', '{value}', true)"


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))


class Attempt(Generic[T]):
    """The messages to send for a flow, and what to do if one of them fails."""

    def __init__(self, flow: Flow[T], settings: Command | None, notify: Notify) -> None:
        self.flow = flow
        self._settings = settings
        self._notify = notify
        self._uncertain = False
        self.overdue = False

    def is_overdue(self) -> None:
        """Its deadline has passed, and its connection was cut."""
        self.overdue = True

    def steps(self) -> Driven[Sent, T]:
        if self._settings is None:
            self._uncertain = self.flow.mode is not Mode.read
            value, wakes = yield from messages(self.flow.start())
        elif self.flow.mode in _KEPT:
            self._uncertain = True
            value, wakes = yield from self._pinned(self._settings)
        else:
            value, wakes = yield from self._transaction(self._settings)
        self._uncertain = True
        notice = self._notify(wakes)
        if notice is not None:
            # It is committed: that others could not be told of it must not look like failure.
            with suppress(*FAULTS):
                yield notice
        return value

    def _pinned(self, settings: Command) -> Driven[Sent, tuple[T, list[Wake]]]:
        driven = statements(self.flow.start())
        try:
            step = next(driven)
            while True:
                step = driven.send((yield Pinned(settings, step)))
        except StopIteration as end:
            return cast("tuple[T, list[Wake]]", end.value)

    def _transaction(self, settings: Command) -> Driven[Sent, tuple[T, list[Wake]]]:
        yield Command(f"BEGIN; {settings.text}")
        try:
            result = yield from messages(self.flow.start())
        except Exception:
            with suppress(*FAULTS):
                yield ROLLBACK
            raise
        self._uncertain = True
        yield COMMIT
        return result

    def pause(self, error: Exception, tries: int, where: str) -> float:
        """Seconds until it is worth trying again, or what to raise instead."""
        if self.overdue:
            raise _overdue(where) from error
        if is_conflict(error) and tries < MOST_CONFLICTS:
            return random.uniform(0, PAUSE * 2**tries)  # noqa: S311 - it keeps nothing secret
        if isinstance(error, STALE) and tries == 1:
            return 0.0
        if self.flow.resent is not None and is_known(error):
            return 0.0  # the same was sent before, after all
        settled = self.flow.resend or self.flow.mode is Mode.read or not self._uncertain
        if is_lost(error) and settled and tries == 1:
            return 0.0
        raise explain(error, where) from error


def _overdue(where: str) -> StoreUnavailable:
    return StoreUnavailable(f"{where} did not answer in time; what was asked may have happened")
