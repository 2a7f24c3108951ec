"""The PostgreSQL store's side of joining a caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast
from weakref import WeakSet

from duetime.model.clock import Clock, to_micros
from duetime.store.flow import Flow, Mode, Statement, Steps, Wake
from duetime.store.sql.drivers import Command, Driven, statements
from duetime.store.sql.joining.base import Caller, Step, wrong_database_error
from duetime.store.sql.joining.joined import JoinHost
from duetime.store.sql.postgres.attempt import PlanSettings
from duetime.store.sql.statements.loader import ParamStyle, StatementLoader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """The random id of a store, and the schema that holds its tables."""

    id: str
    schema: str


class FlowPerformer(Protocol):
    """The store, which runs flows on its own connections."""

    async def perform(self, flow: Flow[T]) -> T: ...

    def perform_blocking(self, flow: Flow[T]) -> T: ...


class PostgresJoinHost(JoinHost):
    """`due_soon` picks the wakes that are due before the next poll of other processes."""

    def __init__(
        self,
        name: str,
        store: FlowPerformer,
        loader: StatementLoader,
        clock: Clock | None,
        *,
        settings: PlanSettings,
        due_soon: Callable[[Sequence[Wake]], Sequence[Wake]],
        wake: Callable[[Sequence[Wake]], None],
    ) -> None:
        self._name = name
        self._store = store
        self._loader = loader
        self._clock = clock
        self.plan_settings, self.final_plan_settings = map(_with_mark, settings)
        self._due_soon = due_soon
        self.wake = wake
        self._identity: StoreIdentity | None = None
        self._admitted: WeakSet[Any] = WeakSet()

    async def ready_to_join(self) -> None:
        if self._identity is None:
            self._identity = await self._store.perform(Flow(_identify, Mode.read))

    def ready_to_join_blocking(self) -> None:
        if self._identity is None:
            self._identity = self._store.perform_blocking(Flow(_identify, Mode.read))

    def admit(self, caller: Caller) -> Driven[Step, None]:
        """Compare the store's id, once per engine or connection.

        The table is looked up first: a failing statement would abort the caller's transaction."""
        if caller.dialect != "postgres":
            raise wrong_database_error("SQLite", self._name)
        source = caller.source()
        if source in self._admitted:
            return
        ((found, _),) = yield self._store_table_query()
        identity, _ = (yield from statements(_identify())) if found else (None, [])
        if identity != self._identity:
            raise wrong_database_error("another database", self._name)
        self._admitted.add(source)

    def _store_table_query(self) -> Statement:
        names = self._loader.names
        schema = names.schema or self._schema()
        return Statement("migrations_table", {"table": f"{names.prefix}store", "schema": schema})

    def _schema(self) -> str:
        return cast("StoreIdentity", self._identity).schema

    def loader_for(self, style: ParamStyle) -> StatementLoader:
        return self._loader.for_caller(style, self._schema())

    def now_for_callers(self) -> int | None:
        return None if self._clock is None else to_micros(self._clock.now())

    def notice(self, wakes: Sequence[Wake]) -> Statement | None:
        """Return a NOTIFY with a constant message, if a wake is due soon.

        PostgreSQL sends equal messages of a transaction once, on commit."""
        if not self._due_soon(wakes):
            return None
        message = json.dumps({"from": "a caller's transaction", "due": None})
        return Statement("notify", {"channel": self._loader.names.channel, "message": message})


def _with_mark(settings: Command) -> Command:
    return Command(f"{settings.text}, current_setting('duetime.transaction', true)")


def _identify() -> Steps[StoreIdentity]:
    ((found, schema),) = cast("Any", (yield Statement("identity", {})))
    return StoreIdentity(found, schema)
