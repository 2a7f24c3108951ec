"""A caller's connection, whatever library it comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from duetime.errors import ConfigError
from duetime.store.flow import Rows, Statement
from duetime.store.sql.drivers import Command, Driven, StatementWithSettings, adrive, drive
from duetime.store.sql.joining.locks import loop_lock, thread_lock
from duetime.store.sql.statements.loader import Dialect, ParamStyle

T = TypeVar("T")

Single = Statement | Command
Step = Single | StatementWithSettings
Params = Mapping[str, object] | tuple[object, ...] | None
Render = Callable[[Single], tuple[str, Params]]


class TransactionMode(Enum):
    """Whether the caller's connection has a transaction that the caller will commit."""

    open = "the caller has a transaction open"
    not_begun = "the caller will commit, but BEGIN has not been sent yet"
    autocommit = "each statement commits by itself"


class Caller(ABC):
    """The properties of a connection that joining needs, and how to run statements on it.

    Where `pipelines_settings` is true, settings and a statement are sent as one step; the rows of
    both answers follow each other.
    """

    pipelines_settings = False

    @property
    @abstractmethod
    def dialect(self) -> Dialect: ...

    @property
    @abstractmethod
    def style(self) -> ParamStyle: ...

    @abstractmethod
    def owner(self) -> object:
        """Return the object that holds the transaction: it runs one flow at a time."""

    def source(self) -> object:
        """Return the engine of the connection, or the connection if there is no engine. Each source
        is checked once for leading to our database."""
        return self.owner()

    @abstractmethod
    def transaction_mode(self) -> TransactionMode: ...

    def after_commit(self, call: Callable[[], None]) -> bool:
        """Register `call` for the commit of the caller's transaction; a rollback drops it.

        Return False if the connection does not report its commits."""
        return False

    @abstractmethod
    async def run(self, driven: Driven[Step, T], render: Render) -> T: ...

    @abstractmethod
    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T: ...


class BlockingCaller(Caller):
    """A blocking connection. It blocks in async code too, as the caller's own statements do."""

    @abstractmethod
    def fetch(self, text: str, params: Params) -> Rows: ...

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        return self.run_blocking(driven, render)

    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T:
        with thread_lock(self.owner()):
            return drive(driven, lambda step: self.answer(step, render))

    def answer(self, step: Step, render: Render) -> Rows:
        assert not isinstance(step, StatementWithSettings)
        return self.fetch(*render(step))


class AsyncCaller(Caller):
    """An async connection, usable on its event loop only."""

    @abstractmethod
    async def afetch(self, text: str, params: Params) -> Rows: ...

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        async with loop_lock(self.owner()):
            return await adrive(driven, lambda step: self.answer(step, render))

    async def answer(self, step: Step, render: Render) -> Rows:
        assert not isinstance(step, StatementWithSettings)
        return await self.afetch(*render(step))

    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T:
        raise async_connection_error(self.source())


def async_connection_error(connection: Any) -> ConfigError:
    return ConfigError(
        f"connection={type(connection).__name__} is async, and app.sync is blocking: "
        "use `await app.…(connection=…)`, or a blocking connection"
    )


def wrong_database_error(found: str, ours: str) -> ConfigError:
    return ConfigError(
        f"connection= leads to {found}, and duetime's actions are in {ours}: one transaction "
        "cannot span both; pass a connection to the same database, or omit connection="
    )
