"""Which transaction the annotation of a handler's parameter asks for.

Told by where its class comes from: none of these libraries is imported to ask.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_origin

from duetime.errors import ConfigError
from duetime.model.actions.completion import Ending
from duetime.store.flow import Flow
from duetime.store.sql.joining.joined import Host
from duetime.store.transaction import Opener, Transaction

SESSION = "sqlalchemy.orm.session.Session"
ASYNC_SESSION = "sqlalchemy.ext.asyncio.session.AsyncSession"
PSYCOPG = "psycopg.Connection"
ASYNC_PSYCOPG = "psycopg.AsyncConnection"
SQLITE3 = "sqlite3.Connection"
BLOCKING = (SESSION, PSYCOPG, SQLITE3)
KNOWN = (*BLOCKING, ASYNC_SESSION, ASYNC_PSYCOPG)
MAKERS = {"sessionmaker", "async_sessionmaker", "scoped_session", "async_scoped_session"}

Make = Callable[[], Transaction]


def opener_for(
    annotation: object,
    host: Host,
    sessions: Any,
    own: Mapping[str, Make],
    took_effect: Callable[[Ending], Flow[bool]],
    *,
    timeout: float | None = None,
    one_at_a_time: bool = False,
) -> Opener | None:
    """None if the annotation asks for no transaction. `own` are those that the store makes
    itself; ConfigError if it is asked for another. `timeout` is how long a session's database
    may take to answer what we ask ourselves."""
    asked = _asked_for(annotation)
    if asked is None:
        return None
    if asked in (SESSION, ASYNC_SESSION):
        make = _of_sessions(asked, host, sessions, timeout)
    elif asked in own:
        make = own[asked]
    else:
        raise ConfigError(
            f"{asked} is no connection to this store: annotate {' or '.join(own)}, or a session "
            "of SQLAlchemy"
        )
    return Opener(make, took_effect, asked in BLOCKING, one_at_a_time)


def _asked_for(annotation: object) -> str | None:
    """Which of the known classes it is, or inherits."""
    plain = get_origin(annotation) or annotation
    classes = inspect.getmro(plain) if inspect.isclass(plain) else ()
    named = (f"{base.__module__}.{base.__name__}" for base in classes)
    return next((name for name in named if name in KNOWN), None)


def _of_sessions(asked: str, host: Host, sessions: Any, timeout: float | None) -> Make:
    maker = "sessionmaker" if asked == SESSION else "async_sessionmaker"
    if sessions is None:
        raise ConfigError(
            f"{asked} needs to know your engine: Duetime(..., sessions={maker}(engine))"
        )
    if not callable(sessions) or _is_other(sessions, maker):
        raise ConfigError(f"{asked} needs Duetime(sessions={maker}(engine)), not {sessions!r}")
    from duetime.store.sql.transactional.sqlalchemy import (
        AsyncSessionTransaction,
        SessionTransaction,
    )

    if asked == SESSION:
        return lambda: SessionTransaction(host, sessions, timeout)
    return lambda: AsyncSessionTransaction(host, sessions, timeout)


def _is_other(sessions: object, maker: str) -> bool:
    """The async maker is no subclass of the other, so each is known by its name. A scoped one
    lends what the thread's other code may be using; a run needs a session of its own."""
    names = {base.__name__ for base in type(sessions).__mro__}
    return bool(names & MAKERS) and maker not in names
