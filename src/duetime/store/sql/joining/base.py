"""A connection of the caller's, whatever library it comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from duetime.errors import ConfigError
from duetime.store.flow import Rows, Statement
from duetime.store.sql.drivers import Command, Driven, Pinned, adrive, drive
from duetime.store.sql.joining.locks import loop_turn, thread_turn
from duetime.store.sql.statements.loader import Dialect, Style

T = TypeVar("T")

Single = Statement | Command
Step = Single | Pinned
Params = Mapping[str, object] | tuple[object, ...] | None
Render = Callable[[Single], tuple[str, Params]]


class Standing(Enum):
    """Who ends the transaction that our next statement is part of."""

    open = "the caller, and it is open"
    unopened = "the caller, but the database has not been told to begin"
    alone = "nobody: each statement commits by itself"


class Caller(ABC):
    """What joining needs to know of a connection, and how to run statements on it. Where
    `takes_pinned`, settings and a statement are one step, and their answers too, one after the
    other."""

    takes_pinned = False

    @property
    @abstractmethod
    def dialect(self) -> Dialect: ...

    @property
    @abstractmethod
    def style(self) -> Style: ...

    @abstractmethod
    def owner(self) -> object:
        """What holds the transaction: one flow at a time may run on it."""

    def source(self) -> object:
        """What all connections to the same database come from, if anything: it is checked
        once. Otherwise the connection."""
        return self.owner()

    @abstractmethod
    def standing(self) -> Standing: ...

    def after_commit(self, call: Callable[[], None]) -> bool:
        """Call it once the caller's transaction is committed, never if it is rolled back;
        False if this connection tells nobody."""
        return False

    @abstractmethod
    async def run(self, driven: Driven[Step, T], render: Render) -> T: ...

    @abstractmethod
    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T: ...


class BlockingCaller(Caller):
    """It blocks in async code too, as its owner's own statements do there."""

    @abstractmethod
    def fetch(self, text: str, params: Params) -> Rows: ...

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        return self.run_blocking(driven, render)

    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T:
        with thread_turn(self.owner()):
            return drive(driven, lambda step: self.answer(step, render))

    def answer(self, step: Step, render: Render) -> Rows:
        assert not isinstance(step, Pinned)
        return self.fetch(*render(step))


class AsyncCaller(Caller):
    """Of no use without its event loop."""

    @abstractmethod
    async def afetch(self, text: str, params: Params) -> Rows: ...

    async def run(self, driven: Driven[Step, T], render: Render) -> T:
        async with loop_turn(self.owner()):
            return await adrive(driven, lambda step: self.answer(step, render))

    async def answer(self, step: Step, render: Render) -> Rows:
        assert not isinstance(step, Pinned)
        return await self.afetch(*render(step))

    def run_blocking(self, driven: Driven[Step, T], render: Render) -> T:
        raise needs_await(self.source())


def needs_await(connection: Any) -> ConfigError:
    return ConfigError(
        f"connection={type(connection).__name__} is async, and app.sync is blocking: "
        "use `await app.…(connection=…)`, or a blocking connection"
    )


def another_database(found: str, ours: str) -> ConfigError:
    return ConfigError(
        f"connection= leads to {found}, and duetime's actions are in {ours}: one transaction "
        "cannot hold both; give a connection to the same database, or leave connection= out"
    )
