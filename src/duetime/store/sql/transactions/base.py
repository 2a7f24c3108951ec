"""What all transactions for handlers have in common."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from duetime.errors import StoreUnavailable
from duetime.store.flow import Flow
from duetime.store.sql.callers.base import Caller, Step
from duetime.store.sql.conflicts import is_conflict
from duetime.store.sql.drive import Driven
from duetime.store.sql.joined import Host, SqlJoined
from duetime.store.transaction import Hop, LastJoined, OwnCommit, Transaction

T = TypeVar("T")

# What would end a transaction, sent as text; `ROLLBACK TO` a savepoint does not.
ENDING = re.compile(
    r"\s*(commit|end|abort|prepare\s+transaction|rollback(?!\s+(work\s+|transaction\s+)?to))\b",
    re.IGNORECASE,
)


def refuse_ending(text: str) -> None:
    if ENDING.match(text):
        raise OwnCommit


class OwnJoined(SqlJoined, LastJoined):
    """A transaction of ours: we know what is the last of it, and when it is committed."""

    def __init__(self, host: Host, caller: Caller) -> None:
        super().__init__(host, caller)
        self._calls: list[Callable[[], None]] = []
        self._last: Flow[Any] | None = None

    async def perform_last(self, flow: Flow[T]) -> T:
        self._last = flow
        return await self.perform(flow)

    def perform_last_blocking(self, flow: Flow[T]) -> T:
        self._last = flow
        return self.perform_blocking(flow)

    def _steps(self, flow: Flow[T]) -> Driven[Step, T]:
        if self._last not in (None, flow):
            raise StoreUnavailable("the transaction of the handler that began this is over")
        return (yield from super()._steps(flow))

    def after_commit(self, call: Callable[[], None]) -> bool:
        self._calls.append(call)
        return True

    def committed(self) -> None:
        calls, self._calls = self._calls, []
        for call in calls:
            call()


class OwnTransaction(Transaction):
    joined: OwnJoined

    def met_another(self, error: BaseException) -> bool:
        return is_conflict(error)

    def committed(self) -> None:
        self.joined.committed()


class BlockingTransaction(OwnTransaction):
    """Its steps block, so each of them hops."""

    async def begin(self, hop: Hop) -> object:
        return await hop(self._begin)

    async def commit(self, hop: Hop) -> None:
        await hop(self._commit)

    async def rollback(self, hop: Hop) -> None:
        await hop(self._rollback)

    async def close(self, hop: Hop) -> None:
        await hop(self._close)

    @abstractmethod
    def _begin(self) -> object: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _rollback(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...
