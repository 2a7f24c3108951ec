"""Common parts of the transactions that are lent to handlers.

Each transaction is marked, so that a commit by the handler is recognised afterwards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar, cast
from uuid import uuid4

from duetime.errors import ConfigError
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql.drivers import Command, Driven
from duetime.store.sql.joining.base import Caller, Params, Step, TransactionMode
from duetime.store.sql.joining.joined import JoinHost, SqlJoinedStore
from duetime.store.sql.postgres.conflicts import is_conflict
from duetime.store.transaction import FinalJoinedStore, RunBlocking, Transaction, UserCommitted

T = TypeVar("T")
# Creates a context manager that severs the connection if the server does not answer in time.
DeadlineFactory = Callable[[], AbstractContextManager[None]]


class HandlerJoinedStore(SqlJoinedStore, FinalJoinedStore):
    """The store, reached through a handler's transaction, whose final flow and commit are ours.

    `deadline` limits our own statements, so that a silent database is given up in time.
    """

    def __init__(
        self, host: JoinHost, caller: Caller, deadline: DeadlineFactory = nullcontext
    ) -> None:
        super().__init__(host, caller)
        self._deadline = deadline
        self._calls: list[Callable[[], None]] = []
        self._last: Flow[Any] | None = None
        self._status_query: Flow[bool] | None = None
        self._mark: str | None = None

    def mark_message(self) -> tuple[bytes, Params]:
        """Return the statement that marks the transaction, to be sent along with BEGIN."""
        text, params = self._render()(self._new_mark())
        return text.encode(), params

    def set_mark(self) -> Flow[None]:
        """Return a flow that marks the transaction, if needed; a mark ends with its transaction."""
        return Flow(self._mark_steps, Mode.read)

    def _mark_steps(self) -> Steps[None]:
        if self._caller.dialect == "postgres":
            yield self._new_mark()

    def _new_mark(self) -> Statement:
        self._mark = uuid4().hex
        return Statement("mark", {"mark": self._mark})

    def is_other_transaction(self) -> Flow[bool]:
        """Return a flow that tells whether the connection is in another transaction by now."""
        self._status_query = Flow(self._compare_mark, Mode.read)
        return self._status_query

    def _compare_mark(self) -> Steps[bool]:
        if self._mark is None:
            return False
        ((mark,),) = cast("Any", (yield Statement("marked", {})))
        return bool(mark != self._mark)

    def was_committed(self) -> Flow[bool]:
        """Return a flow that tells whether the transaction was committed, for use after an error:
        on the same connection, once its open transaction has been rolled back."""
        self._status_query = Flow(self._find_committed_mark, Mode.read)
        return self._status_query

    def _find_committed_mark(self) -> Steps[bool]:
        if self._mark is None:
            return False
        ((mark,),) = cast("Any", (yield Statement("committed", {})))
        return bool(mark == self._mark)

    async def perform_final(self, flow: Flow[T]) -> T:
        self._last = flow
        with self._deadline():
            return await self.perform(flow)

    def perform_final_blocking(self, flow: Flow[T]) -> T:
        self._last = flow
        with self._deadline():
            return self.perform_blocking(flow)

    def _steps(self, flow: Flow[T]) -> Driven[Step, T]:
        if self._last not in (None, flow) and flow is not self._status_query:
            raise ConfigError(
                "a task that a transactional=True handler started called a verb after the handler "
                "had returned: its transaction is over; await the task inside the handler, or "
                "start it outside"
            )
        if self._last is flow and self._caller.transaction_mode() is not TransactionMode.open:
            raise UserCommitted
        return (yield from super()._steps(flow))

    def _settings_for(self, flow: Flow[T]) -> Command | None:
        return self._host.final_plan_settings if self._last is flow else super()._settings_for(flow)

    def _check_mark(self, mark: object) -> None:
        if self._last is not None and mark != self._mark:
            raise UserCommitted

    def after_commit(self, call: Callable[[], None]) -> bool:
        """Register `call` with the session, which drops it if its savepoint is rolled back. For
        other connections `call` is kept here."""
        if not self._caller.after_commit(call):
            self._calls.append(call)
        return True

    def run_after_commit(self) -> None:
        calls, self._calls = self._calls, []
        for call in calls:
            call()


class HandlerTransaction(Transaction):
    joined: HandlerJoinedStore

    def is_conflict(self, error: BaseException) -> bool:
        return is_conflict(error)

    def run_after_commit(self) -> None:
        self.joined.run_after_commit()


class BlockingTransaction(HandlerTransaction):
    """A transaction whose steps block, so each of them runs through `RunBlocking`."""

    async def begin(self, run_blocking: RunBlocking) -> object:
        return await run_blocking(self._begin)

    async def commit(self, run_blocking: RunBlocking) -> None:
        await run_blocking(self._commit)

    async def rollback(self, run_blocking: RunBlocking) -> None:
        await run_blocking(self._rollback)

    async def close(self, run_blocking: RunBlocking) -> None:
        await run_blocking(self._close)

    @abstractmethod
    def _begin(self) -> object: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _rollback(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...
