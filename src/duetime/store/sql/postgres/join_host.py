"""How a PostgreSQL store takes part in a caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast
from weakref import WeakSet

from duetime.model.clock import Clock, to_micros
from duetime.store.flow import Flow, Mode, Statement, Steps, Wake
from duetime.store.sql.drivers import Command, Driven, statements
from duetime.store.sql.joining.base import Caller, Step, another_database
from duetime.store.sql.joining.joined import Host
from duetime.store.sql.postgres.attempt import Pins
from duetime.store.sql.statements.loader import Loader, Style

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Identity:
    """By what a store is known, and the schema in which it was found."""

    id: str
    schema: str


class Performing(Protocol):
    """The store itself, on connections of its own."""

    async def perform(self, flow: Flow[T]) -> T: ...

    def perform_blocking(self, flow: Flow[T]) -> T: ...


class PostgresHost(Host):
    """`soon` picks those of some wakes that others must hear of before their next poll."""

    def __init__(
        self,
        name: str,
        store: Performing,
        loader: Loader,
        clock: Clock | None,
        *,
        pins: Pins,
        soon: Callable[[Sequence[Wake]], Sequence[Wake]],
        wake: Callable[[Sequence[Wake]], None],
    ) -> None:
        self._name = name
        self._store = store
        self._loader = loader
        self._clock = clock
        self.pins, self.last_pins = map(_with_mark, pins)
        self._soon = soon
        self.wake = wake
        self._identity: Identity | None = None
        self._admitted: WeakSet[Any] = WeakSet()

    async def ready_to_join(self) -> None:
        if self._identity is None:
            self._identity = await self._store.perform(Flow(_identify, Mode.read))

    def ready_to_join_blocking(self) -> None:
        if self._identity is None:
            self._identity = self._store.perform_blocking(Flow(_identify, Mode.read))

    def admit(self, caller: Caller) -> Driven[Step, None]:
        """The store's id is looked up once for each engine, and only where there is one: a
        statement that fails would end the caller's transaction."""
        if caller.dialect != "postgres":
            raise another_database("SQLite", self._name)
        source = caller.source()
        if source in self._admitted:
            return
        ((found, _),) = yield self._look()
        told, _ = (yield from statements(_identify())) if found else (None, [])
        if told != self._identity:
            raise another_database("another database", self._name)
        self._admitted.add(source)

    def _look(self) -> Statement:
        names = self._loader.names
        schema = names.schema or self._located()
        return Statement("migrations_table", {"table": f"{names.prefix}store", "schema": schema})

    def _located(self) -> str:
        return cast("Identity", self._identity).schema

    def loader_for(self, style: Style) -> Loader:
        return self._loader.for_caller(style, self._located())

    def now_for_callers(self) -> int | None:
        return None if self._clock is None else to_micros(self._clock.now())

    def notice(self, wakes: Sequence[Wake]) -> Statement | None:
        """Always the same words: PostgreSQL sends them once for each transaction, when it is
        committed."""
        if not self._soon(wakes):
            return None
        message = json.dumps({"from": "a caller's transaction", "due": None})
        return Statement("notify", {"channel": self._loader.names.channel, "message": message})


def _with_mark(pins: Command) -> Command:
    return Command(f"{pins.text}, current_setting('duetime.transaction', true)")


def _identify() -> Steps[Identity]:
    ((found, schema),) = cast("Any", (yield Statement("identity", {})))
    return Identity(found, schema)
