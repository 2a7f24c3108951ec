"""The contract of taking part in a transaction: a caller's, or one in which a handler works and
whose commit is also the completion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from duetime.errors import ConfigError
from duetime.model.actions.completion import Ending
from duetime.store.flow import Flow

T = TypeVar("T")
Hop = Callable[[Callable[[], Any]], Awaitable[Any]]


class Joined(ABC):
    """The store, reached over a connection that is not its own: what it performs exists if and
    only if the transaction there is committed."""

    @abstractmethod
    async def perform(self, flow: Flow[T]) -> T:
        """Run a flow whole within the transaction, and leave the commit to its owner; errors
        of the connection pass through as its owner knows them. Where no transaction is open
        and the connection commits each statement, it is committed like any other flow."""

    @abstractmethod
    def perform_blocking(self, flow: Flow[T]) -> T:
        """The same without an event loop."""

    @abstractmethod
    def after_commit(self, call: Callable[[], None]) -> bool:
        """Call it once what was performed is committed, never if it is rolled back. False if
        this connection tells nobody of its commits: then it is never called. Of the savepoints
        of a raw connection nobody knows: what one took back is called with the commit."""


class LastJoined(Joined):
    """The store, reached through a transaction of ours, whose last statement we know."""

    @abstractmethod
    async def perform_last(self, flow: Flow[T]) -> T:
        """Perform it, and refuse whatever comes later: it was begun by a task that the handler
        left behind, and must not slip in before the commit."""

    @abstractmethod
    def perform_last_blocking(self, flow: Flow[T]) -> T: ...


class Transaction(ABC):
    """One transaction, from `begin` to `commit` or `rollback`, and always `close`.

    What blocks goes through `hop`: to a thread, or nowhere if this is one already.
    """

    joined: LastJoined
    """The store, reached through this transaction; there from `begin` on."""

    @abstractmethod
    async def begin(self, hop: Hop) -> object:
        """Open it, and return what the handler is given: it cannot end it by itself."""

    async def work(self, call: Coroutine[Any, Any, T]) -> T:
        """Let the handler work. Interrupted, it comes to its end in time, whatever its database
        does."""
        return await call

    @abstractmethod
    async def check(self, hop: Hop) -> None:
        """OwnCommit if the handler, which has returned, ended it all the same; LeftAtWork if
        something of it is still at work."""

    @abstractmethod
    async def ended_early(self, hop: Hop, error: BaseException) -> bool:
        """Whether a handler that raised this had ended it before, so that part of its work may be
        committed; False if that cannot be told, because its connection broke. LeftAtWork if it
        cannot for a reason of the handler's. It is rolled back next, if it was not by this."""

    def refusal(self, error: BaseException) -> ConfigError | None:
        """What to say of it, if this error tells that the handler tried to end it, or left it
        in a state of which nobody can tell whether it did."""
        return error if isinstance(error, OwnCommit | LeftAtWork) else None

    @abstractmethod
    def met_another(self, error: BaseException) -> bool:
        """Whether this error tells that another transaction was in the way."""

    @abstractmethod
    def broken(self, error: BaseException) -> bool:
        """Whether its connection is gone, and this error only tells of that."""

    @abstractmethod
    async def commit(self, hop: Hop) -> None:
        """After an error, whether it happened is for the store to say."""

    @abstractmethod
    def committed(self) -> None:
        """It did: call what waits for that."""

    @abstractmethod
    async def rollback(self, hop: Hop) -> None: ...

    @abstractmethod
    async def close(self, hop: Hop) -> None: ...


@dataclass(frozen=True, slots=True)
class Opener:
    """Makes the transactions of one handler, none of which has begun."""

    open: Callable[[], Transaction]
    # Whether an ending was applied, once no transaction is left that still may: for whoever sent
    # a commit and lost the reply.
    took_effect: Callable[[Ending], Flow[bool]]
    # Whether its handler is a plain function.
    blocking: bool
    # Whether a second one would only wait for the first.
    one_at_a_time: bool = False


class LeftAtWork(ConfigError):
    """A handler left something at work on the connection that it was lent."""

    def __init__(self) -> None:
        super().__init__(
            "the handler of transactional=True ended while a stream, a pipeline or a task of it "
            "was at work on its connection, so that nobody can tell what is committed: close the "
            "stream, leave the pipeline, await the task"
        )


class OwnCommit(ConfigError):
    """A handler tried to end the transaction that it was lent."""

    def __init__(self) -> None:
        super().__init__(
            "the handler tried to end its transactional=True transaction: duetime commits it "
            "together with the completion; return to commit, raise to roll back, and use a "
            "savepoint (begin_nested, transaction()) for a part of it"
        )
