"""What all transactions for handlers have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar, cast
from uuid import uuid4

from duetime.errors import ConfigError
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql.drivers import Command, Driven
from duetime.store.sql.joining.base import Caller, Params, Standing, Step
from duetime.store.sql.joining.joined import Host, SqlJoined
from duetime.store.sql.postgres.conflicts import is_conflict
from duetime.store.transaction import Hop, LastJoined, OwnCommit, Transaction

T = TypeVar("T")
# What cuts a connection whose server does not answer.
InTime = Callable[[], AbstractContextManager[None]]


class OwnJoined(SqlJoined, LastJoined):
    """A transaction of ours: we know what is the last of it, and when it is committed. `deadline`
    bounds what we ask of it ourselves: a database that fell silent is given up in time."""

    def __init__(self, host: Host, caller: Caller, deadline: InTime = nullcontext) -> None:
        super().__init__(host, caller)
        self._deadline = deadline
        self._calls: list[Callable[[], None]] = []
        self._last: Flow[Any] | None = None
        self._question: Flow[bool] | None = None
        self._mark: str | None = None

    def marker(self) -> tuple[bytes, Params]:
        """What marks it, where that can be sent along with what begins it."""
        text, params = self._render()(self._new_mark())
        return text.encode(), params

    def marking(self) -> Flow[None]:
        """Mark the transaction, where a mark is needed: it ends with it, by whatever means."""
        return Flow(self._set_mark, Mode.read)

    def _set_mark(self) -> Steps[None]:
        if self._caller.dialect == "postgres":
            yield self._new_mark()

    def _new_mark(self) -> Statement:
        self._mark = uuid4().hex
        return Statement("mark", {"mark": self._mark})

    def unmarked(self) -> Flow[bool]:
        """Whether it is another transaction by now."""
        self._question = Flow(self._lacks_mark, Mode.read)
        return self._question

    def _lacks_mark(self) -> Steps[bool]:
        if self._mark is None:
            return False
        ((found,),) = cast("Any", (yield Statement("marked", {})))
        return bool(found != self._mark)

    def was_committed(self) -> Flow[bool]:
        """Whether it was committed, where an error keeps it from telling more: to be asked over
        the same connection once whatever was open there has been rolled back."""
        self._question = Flow(self._kept_mark, Mode.read)
        return self._question

    def _kept_mark(self) -> Steps[bool]:
        if self._mark is None:
            return False
        ((found,),) = cast("Any", (yield Statement("committed", {})))
        return bool(found == self._mark)

    async def perform_last(self, flow: Flow[T]) -> T:
        self._last = flow
        with self._deadline():
            return await self.perform(flow)

    def perform_last_blocking(self, flow: Flow[T]) -> T:
        self._last = flow
        with self._deadline():
            return self.perform_blocking(flow)

    def _steps(self, flow: Flow[T]) -> Driven[Step, T]:
        if self._last not in (None, flow) and flow is not self._question:
            raise ConfigError(
                "a task that a transactional=True handler started called a verb after the handler "
                "had returned: its transaction is over; await the task inside the handler, or "
                "start it outside"
            )
        if self._last is flow and self._caller.standing() is not Standing.open:
            raise OwnCommit
        return (yield from super()._steps(flow))

    def _pins(self, flow: Flow[T]) -> Command | None:
        return self._host.last_pins if self._last is flow else super()._pins(flow)

    def _pinned(self, mark: object) -> None:
        if self._last is not None and mark != self._mark:
            raise OwnCommit

    def after_commit(self, call: Callable[[], None]) -> bool:
        """Sessions tell of their savepoints, other connections only of the whole."""
        if not self._caller.after_commit(call):
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
