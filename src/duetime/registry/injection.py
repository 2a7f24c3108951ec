"""Dependencies of handlers: resolved by type or by Depends, closed when the run ends."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from duetime.errors import ConfigError
from duetime.model.clock import Clock
from duetime.registry.context import Context
from duetime.store.transaction import Hop


@dataclass(frozen=True, slots=True)
class Depends:
    """`db: Annotated[Db, Depends(get_db)]`: get_db may be sync, async or a generator.

    What it yields is closed after the handler ended. Within one run each dependency is
    made once, unless `use_cache` is False.
    """

    dependency: Callable[..., Any]
    use_cache: bool = True


class Style(Enum):
    """How a function is called."""

    plain = "plain"
    coroutine = "coroutine"
    generator = "generator"
    async_generator = "async generator"


class Ambient(Enum):
    """What is there by its type alone."""

    context = "context"
    clock = "clock"
    transaction = "transaction"


@dataclass(frozen=True, slots=True)
class Node:
    """A function and where each of its parameters comes from."""

    function: Callable[..., Any]
    style: Style
    sources: Mapping[str, Node | Ambient]
    use_cache: bool
    # Whether it can run in a thread whole, dependencies included.
    blocking: bool


Providers = Mapping[type[Any], Callable[..., Any]]
# Whether an annotation asks for the handler's transaction.
AsksTransaction = Callable[[Any], bool]


def plan(
    function: Callable[..., Any],
    providers: Providers,
    scope: Mapping[str, Any],
    asks_transaction: AsksTransaction = lambda annotation: False,
    *,
    takes_payload: bool = True,
) -> Node:
    """Where a handler's parameters after the payload come from; refuses what it cannot fill."""
    planner = _Planner(providers, scope, asks_transaction)
    return planner.node(function, skip_first=takes_payload, use_cache=False, trail=())


def hints(function: Callable[..., Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """Annotations as types; `scope` resolves names local to where the function is declared."""
    try:
        return typing.get_type_hints(function, localns=dict(scope), include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(f"cannot read the annotations of {label(function)}: {error}") from None


def label(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"


@dataclass(frozen=True, slots=True)
class _Planner:
    providers: Providers
    scope: Mapping[str, Any]
    asks_transaction: AsksTransaction

    def node(
        self,
        function: Callable[..., Any],
        *,
        skip_first: bool,
        use_cache: bool,
        trail: tuple[Callable[..., Any], ...],
    ) -> Node:
        if function in trail:
            raise ConfigError(f"{label(function)} depends on itself")
        types = hints(_annotated(function), self.scope)
        parameters = list(inspect.signature(function).parameters.values())[int(skip_first) :]
        sources = {
            p.name: source
            for p in parameters
            if (source := self._source(function, p, types.get(p.name), trail)) is not None
        }
        style = style_of(function)
        blocking = style in (Style.plain, Style.generator) and all(
            source.blocking for source in sources.values() if isinstance(source, Node)
        )
        return Node(function, style, sources, use_cache, blocking)

    def _source(
        self,
        function: Callable[..., Any],
        parameter: inspect.Parameter,
        annotation: Any,
        trail: tuple[Callable[..., Any], ...],
    ) -> Node | Ambient | None:
        marker = _marker(function, parameter, annotation)
        if marker is not None:
            return self.node(
                marker.dependency,
                skip_first=False,
                use_cache=marker.use_cache,
                trail=(*trail, function),
            )
        wanted = _bare(annotation)
        if wanted is Context:
            return Ambient.context
        if wanted is Clock:
            return Ambient.clock
        if self.asks_transaction(wanted):
            return Ambient.transaction
        if wanted in self.providers:
            provider = self.providers[wanted]
            return self.node(provider, skip_first=False, use_cache=True, trail=(*trail, function))
        _require_default(function, parameter)
        return None


def _bare(annotation: Any) -> Any:
    """The type itself, where Annotated only says more about it."""
    return annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation


def _require_default(function: Callable[..., Any], parameter: inspect.Parameter) -> None:
    """A default or *args is left alone; anything else could never be filled."""
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if not variadic and parameter.default is parameter.empty:
        raise ConfigError(
            f"parameter {parameter.name!r} of {label(function)} cannot be filled: annotate it "
            "as Context, Clock or Annotated[Type, Depends(make_it)], register its type with "
            "app.provide(Type, make_it), or give it a default"
        )


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the annotations of a class or a callable object are written."""
    if isinstance(function, functools.partial):
        return _annotated(function.func)
    if inspect.isclass(function):
        return function.__init__
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def _marker(
    function: Callable[..., Any], parameter: inspect.Parameter, annotation: Any
) -> Depends | None:
    """Our Depends, or FastAPI's, in Annotated[...] or as the default value."""
    for candidate in (*getattr(annotation, "__metadata__", ()), parameter.default):
        if isinstance(candidate, Depends):
            return candidate
        if type(candidate).__module__.partition(".")[0] == "fastapi":
            return _from_fastapi(function, parameter, candidate)
    return None


def _from_fastapi(
    function: Callable[..., Any], parameter: inspect.Parameter, candidate: Any
) -> Depends:
    """FastAPI's Depends(make_it) means the same here; its other markers need a request."""
    name = type(candidate).__name__
    if name == "Depends" and candidate.dependency is not None:
        return Depends(candidate.dependency, candidate.use_cache)
    raise ConfigError(
        f"parameter {parameter.name!r} of {label(function)} uses fastapi.{name}, which needs a "
        "request; use duetime.Depends with a function that needs none"
    )


def style_of(function: Callable[..., Any]) -> Style:
    if isinstance(function, functools.partial):
        return style_of(function.func)
    called = function if inspect.isroutine(function) else _annotated(function)
    if inspect.isasyncgenfunction(called):
        return Style.async_generator
    if inspect.isgeneratorfunction(called):
        return Style.generator
    return Style.coroutine if inspect.iscoroutinefunction(called) else Style.plain


class Injection:
    """One run's dependencies. Blocking ones go through `hop`, so that the loop stays free."""

    def __init__(
        self,
        context: Context,
        clock: Clock,
        hop: Hop,
        stack: AsyncExitStack,
        transaction: object = None,
    ) -> None:
        self._ambient = {
            Ambient.context: context,
            Ambient.clock: clock,
            Ambient.transaction: transaction,
        }
        self._hop = hop
        self._stack = stack
        self._made: dict[Callable[..., Any], Any] = {}

    async def call(self, node: Node, *payload: object) -> Any:
        """Make what the node needs, then call it."""
        needed = {name: await self._value(source) for name, source in node.sources.items()}
        match node.style:
            case Style.plain:
                return await self._hop(lambda: node.function(*payload, **needed))
            case Style.coroutine:
                return await node.function(*payload, **needed)
            case Style.async_generator:
                return await self._enter(asynccontextmanager(node.function)(**needed))
            case Style.generator:
                return await self._enter_blocking(contextmanager(node.function)(**needed))

    async def _value(self, source: Node | Ambient) -> Any:
        if isinstance(source, Ambient):
            return self._ambient[source]
        if not source.use_cache:
            return await self.call(source)
        if source.function not in self._made:
            self._made[source.function] = await self.call(source)
        return self._made[source.function]

    async def _enter(self, opened: Any) -> Any:
        value = await opened.__aenter__()

        async def leave(*raised: Any) -> None:
            """Whatever it says, it does not swallow the failure of its handler."""
            await opened.__aexit__(*raised)

        self._stack.push_async_exit(leave)
        return value

    async def _enter_blocking(self, opened: Any) -> Any:
        value = await self._hop(opened.__enter__)

        async def leave(*raised: Any) -> None:
            await self._hop(lambda: opened.__exit__(*raised))

        self._stack.push_async_exit(leave)
        return value


async def here(call: Callable[[], Any]) -> Any:
    """The hop of a run that is in a thread of its own already."""
    return call()


def drive(run: Any) -> Any:
    """Finish, in this thread, a coroutine that never waits for anything."""
    try:
        run.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("a blocking run waited for the event loop")
