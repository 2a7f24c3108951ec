"""The contract of joining a transaction: a caller's own, or the transaction lent to a handler,
whose commit is also the completion."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, get_origin

from duetime.errors import ConfigError
from duetime.model.actions.completion import Completion
from duetime.store.flow import Flow

T = TypeVar("T")
RunBlocking = Callable[[Callable[[], Any]], Awaitable[Any]]


# The classes of connections and sessions, recognised by module and name, so that no library is
# imported for them.
SESSION = "sqlalchemy.orm.session.Session"
ASYNC_SESSION = "sqlalchemy.ext.asyncio.session.AsyncSession"
PSYCOPG = "psycopg.Connection"
ASYNC_PSYCOPG = "psycopg.AsyncConnection"
SQLITE3 = "sqlite3.Connection"
BLOCKING = (SESSION, PSYCOPG, SQLITE3)
KNOWN = (*BLOCKING, ASYNC_SESSION, ASYNC_PSYCOPG)


def connection_type(annotation: object) -> str | None:
    """Return the known class that an annotation is or inherits from; None if it names no
    connection."""
    plain = get_origin(annotation) or annotation
    classes = inspect.getmro(plain) if inspect.isclass(plain) else ()
    names = (f"{base.__module__}.{base.__name__}" for base in classes)
    return next((name for name in names if name in KNOWN), None)


class JoinedStore(ABC):
    """The store on a connection that is not its own: what it performs takes effect if and only if
    the transaction of that connection is committed."""

    @abstractmethod
    async def perform(self, flow: Flow[T]) -> T:
        """Run a whole flow inside the transaction, and leave the commit to its owner.

        Errors of the connection pass through unchanged. If the connection is in autocommit mode
        and no transaction is open, the flow is committed like any other.
        """

    @abstractmethod
    def perform_blocking(self, flow: Flow[T]) -> T:
        """Perform a flow like `perform`, without an event loop."""

    @abstractmethod
    def after_commit(self, call: Callable[[], None]) -> bool:
        """Call `call` after the commit, and never after a rollback.

        Return False if this connection does not report its commits: `call` is then never called.
        Raw connections do not report savepoints: after a rollback to a savepoint, `call` is still
        called with the commit.
        """


class FinalJoinedStore(JoinedStore):
    """The store joined to a transaction that duetime opened, so that its last flow is known."""

    @abstractmethod
    async def perform_final(self, flow: Flow[T]) -> T:
        """Perform a flow and refuse all later ones: they come from tasks that the handler left
        behind, and must not run before the commit."""

    @abstractmethod
    def perform_final_blocking(self, flow: Flow[T]) -> T: ...


class Transaction(ABC):
    """A transaction lent to a handler: `begin`, then `commit` or `rollback`, and always `close`.

    Blocking calls go through `run_blocking`: in a thread, or directly if this is one already.
    """

    joined: FinalJoinedStore
    """The store joined to this transaction; set by `begin`."""

    @abstractmethod
    async def begin(self, run_blocking: RunBlocking) -> object:
        """Open the transaction, and return the object for the handler: one that cannot end it."""

    async def run_handler(self, call: Coroutine[Any, Any, T]) -> T:
        """Run the handler. When cancelled, it stops in time, even if its database hangs."""
        return await call

    @abstractmethod
    async def check(self, run_blocking: RunBlocking) -> None:
        """Check the transaction after the handler has returned. Raises UserCommitted if the handler
        ended it, ConnectionStillInUse if the handler left something running on it."""

    @abstractmethod
    async def closed_by_handler(self, run_blocking: RunBlocking, error: BaseException) -> bool:
        """Return whether a handler that raised `error` had ended the transaction, so that part of
        its work may be committed; False if its connection broke and this cannot be known.

        Raises ConnectionStillInUse if the handler's own use of the connection prevents the check.
        The caller rolls back next, unless this has already done so.
        """

    def refusal(self, error: BaseException) -> ConfigError | None:
        """Return the error to report if `error` means that the handler tried to end the
        transaction, or left it in a state in which this cannot be determined."""
        return error if isinstance(error, UserCommitted | ConnectionStillInUse) else None

    @abstractmethod
    def is_conflict(self, error: BaseException) -> bool:
        """Return whether this error was caused by a conflict with another transaction."""

    @abstractmethod
    def is_disconnect(self, error: BaseException) -> bool:
        """Return whether this error only reports that the connection is gone."""

    @abstractmethod
    async def commit(self, run_blocking: RunBlocking) -> None:
        """Commit. After an error, ask the store whether the commit took effect."""

    @abstractmethod
    def run_after_commit(self) -> None:
        """Call the functions that wait for the commit, which took effect."""

    @abstractmethod
    async def rollback(self, run_blocking: RunBlocking) -> None: ...

    @abstractmethod
    async def close(self, run_blocking: RunBlocking) -> None: ...


@dataclass(frozen=True, slots=True)
class TransactionFactory:
    """Creates the transactions of one handler; `open` returns one that has not begun."""

    open: Callable[[], Transaction]
    # Whether a completion was applied; answers after every transaction that could still apply it
    # has ended. For callers that sent a commit and lost the reply.
    took_effect: Callable[[Completion], Flow[bool]]
    # Whether the handler is a sync function.
    blocking: bool
    # Whether a second transaction would only wait for the first.
    one_at_a_time: bool = False


class ConnectionStillInUse(ConfigError):
    """A handler left something running on the connection that it was lent."""

    def __init__(self) -> None:
        super().__init__(
            "the transactional=True handler ended while its stream, pipeline or task was still "
            "using the connection, so duetime cannot know what would be committed: close the "
            "stream, leave the pipeline, await the task"
        )


class UserCommitted(ConfigError):
    """A handler tried to end the transaction that it was lent."""

    def __init__(self) -> None:
        super().__init__(
            "the handler tried to end its transactional=True transaction: duetime commits it "
            "together with the completion; return to commit, raise to roll back, and use a "
            "savepoint (begin_nested, transaction()) for a part of it"
        )
