"""For how long a handler, and what it started, may use the connection that it was lent: the next
handler has the same one."""

from __future__ import annotations

from contextvars import ContextVar
from weakref import WeakKeyDictionary

from duetime.errors import ConfigError
from duetime.store.sql.pools import AsyncConnection, Connection

# Tasks, and threads of `asyncio.to_thread`, inherit it from the handler that started them.
_ours: ContextVar[object] = ContextVar("duetime_loan")
_lent: WeakKeyDictionary[Connection | AsyncConnection, object] = WeakKeyDictionary()


def lend(connection: Connection | AsyncConnection) -> None:
    """To whatever runs in this context, and what that starts."""
    loan = object()
    _lent[connection] = loan
    _ours.set(loan)


def end_loan(connection: Connection | AsyncConnection) -> None:
    _lent.pop(connection, None)


def refuse_late(connection: Connection | AsyncConnection) -> None:
    loan = _ours.get(None)
    if loan is not None and _lent.get(connection) is not loan:
        raise ConfigError(
            "a task that a transactional=True handler started used its connection after the "
            "handler had ended: await the task inside the handler, or give it a connection of "
            "its own"
        )
