"""A single attempt to perform a flow on PostgreSQL: messages to send and when to retry. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar, cast

from duetime.errors import StoreUnavailable, UnreadableRow
from duetime.store.flow import Flow, Mode, Pipeline, Rows, Statement, Wake
from duetime.store.sql.drivers import (
    COMMIT,
    ROLLBACK,
    Command,
    Driven,
    StatementWithSettings,
    messages,
    statements,
)
from duetime.store.sql.postgres.conflicts import (
    MAX_CONFLICT_TRIES,
    MAX_PATIENT_TRIES,
    conflict_backoff,
    is_conflict,
)
from duetime.store.sql.postgres.errors import (
    DRIVER_ERRORS,
    explain,
    is_connection_lost,
    is_duplicate_action,
)
from duetime.store.sql.postgres.prepared import STALE_PLAN_ERRORS

T = TypeVar("T")

# Statistics of an empty table must not mislead the planner into a sequential scan. Disabled plan
# types inflate the estimated cost, which would trigger JIT compilation: so `jit` is off too.
_OFF_FOR_WRITES = ("enable_seqscan", "jit")
_OFF_FOR_HOT = (*_OFF_FOR_WRITES, "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin")
# An index in the order of the page is read only as far as the page; what is sorted is read whole.
_OFF_FOR_SEARCH = (*_OFF_FOR_HOT, "enable_sort", "enable_incremental_sort")
_DISABLED_SETTINGS = {
    Mode.write: _OFF_FOR_WRITES,
    Mode.pinned: _OFF_FOR_HOT,
    Mode.hot: _OFF_FOR_HOT,
    Mode.claim: _OFF_FOR_HOT,
    Mode.search: _OFF_FOR_SEARCH,
}
_SEVERAL_MESSAGES = (Mode.write, Mode.pinned)
_PREPARED_MODES = (Mode.hot, Mode.claim)

# A generic plan, so that it can be kept for all values; and the backend process that answers.
PREPARED_SETTINGS = (
    "set_config('plan_cache_mode', 'force_generic_plan', true)",
    "pg_backend_pid()",
)

Notify = Callable[[Sequence[Wake]], Statement | None]


class PlanSettings(NamedTuple):
    """Plan settings for a transaction that the store joins: for any flow, and for the final one."""

    any: Command
    final: Command


Message = Statement | Pipeline | Command | StatementWithSettings


def settings_by_mode(timeout: float) -> Mapping[Mode, Command]:
    """Return the settings of each mode's transaction; modes that are missing need none.

    A call must finish within `timeout`, so it waits for locks for a quarter of that. The server
    ends a transaction that is idle for `timeout`, so that a client that vanished does not keep
    rows locked.
    """
    several = dict.fromkeys((*_SEVERAL_MESSAGES, Mode.search), (_idle_timeout(timeout),))
    # Actions claimed after the caller gave up would be blocked until their lease expires.
    statement_timeout = _set("statement_timeout", _milliseconds(timeout * 0.8))
    prepared = {Mode.hot: PREPARED_SETTINGS, Mode.claim: (statement_timeout, *PREPARED_SETTINGS)}
    return {
        mode: _select(timeout, names, *(several | prepared)[mode])
        for mode, names in _DISABLED_SETTINGS.items()
    }


def plan_settings(timeout: float) -> PlanSettings:
    """Return the settings for a caller's transaction, where no plans are kept, and for the final
    statement of a handler's.

    Before the final statement the handler may have been idle for long. Only the commit follows: if
    it never arrives, the idle timeout ends the transaction and frees the action's row.
    """
    last = (_idle_timeout(timeout), *PREPARED_SETTINGS)
    return PlanSettings(_select(timeout, _OFF_FOR_HOT), _select(timeout, _OFF_FOR_HOT, *last))


def _idle_timeout(timeout: float) -> str:
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

    def __init__(self, flow: Flow[T], settings: Command | None, notify: Notify, where: str) -> None:
        """`where` names the server in errors."""
        self.flow = flow
        self._where = where
        self._settings = settings
        self._notify = notify
        self._uncertain = False
        self.overdue = False

    def mark_overdue(self) -> None:
        """Note that the deadline has passed and the connection was severed."""
        self.overdue = True

    def steps(self) -> Driven[Message, T]:
        if self.flow.mode.reads_only:
            value, wakes = yield from self._reads()
        elif self._settings is None:
            self._uncertain = True
            value, wakes = yield from messages(self.flow.start())
        elif self.flow.mode in _PREPARED_MODES:
            self._uncertain = True
            value, wakes = yield from self._with_settings(self._settings)
        else:
            value, wakes = yield from self._transaction(self._settings)
        self._uncertain = True
        notice = self._notify(wakes)
        if notice is not None:
            # The flow is committed: a failed NOTIFY must not look like a failed flow.
            with suppress(*DRIVER_ERRORS):
                yield notice
        return value

    def _reads(self) -> Driven[Message, tuple[T, list[Wake]]]:
        """Each statement is a transaction by itself, so the flow may go on after one that met an
        unreadable row."""
        driven = messages(self.flow.start())
        try:
            step = next(driven)
            while True:
                try:
                    rows = yield from self._read(step)
                except DRIVER_ERRORS as error:
                    unreadable = explain(error, self._where)
                    if not isinstance(unreadable, UnreadableRow):
                        raise
                    unreadable.__cause__ = error
                    step = driven.throw(unreadable)
                else:
                    step = driven.send(rows)
        except StopIteration as end:
            return cast("tuple[T, list[Wake]]", end.value)

    def _read(self, step: Statement | Pipeline) -> Driven[Message, Rows]:
        if self._settings is None:
            return (yield step)
        yield Command(f"BEGIN READ ONLY; {self._settings.text}")
        try:
            rows = yield step
        except Exception:
            with suppress(*DRIVER_ERRORS):
                yield ROLLBACK
            raise
        yield COMMIT
        return rows

    def _with_settings(self, settings: Command) -> Driven[Message, tuple[T, list[Wake]]]:
        driven = statements(self.flow.start())
        try:
            step = next(driven)
            while True:
                step = driven.send((yield StatementWithSettings(settings, step)))
        except StopIteration as end:
            return cast("tuple[T, list[Wake]]", end.value)

    def _transaction(self, settings: Command) -> Driven[Message, tuple[T, list[Wake]]]:
        yield Command(f"BEGIN; {settings.text}")
        try:
            result = yield from messages(self.flow.start())
        except Exception:
            with suppress(*DRIVER_ERRORS):
                yield ROLLBACK
            raise
        self._uncertain = True
        yield COMMIT
        return result

    def retry_delay(self, error: Exception, tries: int) -> float:
        """Return the seconds to wait before the next try; raise if there is none."""
        if self.overdue:
            raise _timed_out(self._where) from error
        most = MAX_PATIENT_TRIES if self.flow.patient else MAX_CONFLICT_TRIES
        if is_conflict(error) and tries < most:
            return conflict_backoff(tries)
        if isinstance(error, STALE_PLAN_ERRORS) and tries == 1:
            return 0.0
        if self.flow.replay is not None and is_duplicate_action(error):
            return 0.0  # an earlier try took effect: the replay will recognise it
        repeatable = self.flow.resend or self.flow.mode.reads_only or not self._uncertain
        if is_connection_lost(error) and repeatable and tries == 1:
            return 0.0
        raise explain(error, self._where) from error


def _timed_out(where: str) -> StoreUnavailable:
    return StoreUnavailable(f"{where} did not answer in time; the call may have taken effect")
