"""Chooses the transaction that the annotation of a handler's parameter asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from duetime.errors import ConfigError
from duetime.model.actions.completion import Completion
from duetime.store.flow import Flow
from duetime.store.sql.joining.joined import JoinHost
from duetime.store.transaction import (
    ASYNC_SESSION,
    BLOCKING,
    SESSION,
    Transaction,
    TransactionFactory,
    connection_type,
)

MAKERS = {"sessionmaker", "async_sessionmaker", "scoped_session", "async_scoped_session"}

MakeTransaction = Callable[[], Transaction]


def factory_for(
    annotation: object,
    host: JoinHost,
    sessions: Any,
    own: Mapping[str, MakeTransaction],
    took_effect: Callable[[Completion], Flow[bool]],
    *,
    timeout: float | None = None,
    one_at_a_time: bool = False,
) -> TransactionFactory | None:
    """Return the factory for an annotation, or None if it names no connection or session.

    `own` maps the connection types that the store opens itself; any other raises ConfigError.
    `timeout` limits how long a session's database may take to answer our own statements.
    """
    type_name = connection_type(annotation)
    if type_name is None:
        return None
    if type_name in (SESSION, ASYNC_SESSION):
        make = _session_transactions(type_name, host, sessions, timeout)
    elif type_name in own:
        make = own[type_name]
    else:
        raise ConfigError(
            f"{type_name} is not a connection to this store: annotate {' or '.join(own)}, or a "
            "SQLAlchemy session"
        )
    return TransactionFactory(make, took_effect, type_name in BLOCKING, one_at_a_time)


def _session_transactions(
    type_name: str, host: JoinHost, sessions: Any, timeout: float | None
) -> MakeTransaction:
    maker = "sessionmaker" if type_name == SESSION else "async_sessionmaker"
    if sessions is None:
        raise ConfigError(
            f"{type_name} needs to know your engine: Duetime(..., sessions={maker}(engine))"
        )
    if not callable(sessions) or _is_other(sessions, maker):
        raise ConfigError(f"{type_name} needs Duetime(sessions={maker}(engine)), not {sessions!r}")
    from duetime.store.sql.transactional.sqlalchemy import (
        AsyncSessionTransaction,
        SessionTransaction,
    )

    if type_name == SESSION:
        return lambda: SessionTransaction(host, sessions, timeout)
    return lambda: AsyncSessionTransaction(host, sessions, timeout)


def _is_other(sessions: object, maker: str) -> bool:
    """Return whether `sessions` is another kind of session maker; other callables are accepted.

    A scoped session may be in use by other code of the thread, and a run needs its own session.
    """
    names = {base.__name__ for base in type(sessions).__mro__}
    return bool(names & MAKERS) and maker not in names
