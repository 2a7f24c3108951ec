"""Dependencies of handlers: resolved by type or by Depends, closed when the run finishes."""

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
from duetime.store.transaction import RunBlocking, connection_type


@dataclass(frozen=True, slots=True)
class Depends:
    """`db: Annotated[Db, Depends(get_db)]`: get_db may be sync, async or a generator.

    What a generator yields is closed after the handler has finished. Each dependency is created
    once per run, unless `use_cache` is False.
    """

    dependency: Callable[..., Any]
    use_cache: bool = True


class Style(Enum):
    """How a function is called."""

    plain = "plain"
    coroutine = "coroutine"
    generator = "generator"
    async_generator = "async generator"


class BuiltinSource(Enum):
    """Values that are injected by their type alone."""

    context = "context"
    clock = "clock"
    transaction = "transaction"


@dataclass(frozen=True, slots=True)
class Node:
    """A function and the source of each of its parameters."""

    function: Callable[..., Any]
    style: Style
    sources: Mapping[str, Node | BuiltinSource]
    use_cache: bool
    # Whether the function and all its dependencies can run in a thread.
    blocking: bool


Providers = Mapping[type[Any], Callable[..., Any]]
# Whether an annotation is the type of the handler's transaction.
IsTransaction = Callable[[Any], bool]


def plan(
    function: Callable[..., Any],
    providers: Providers,
    scope: Mapping[str, Any],
    is_transaction: IsTransaction = lambda annotation: False,
    *,
    takes_payload: bool = True,
) -> Node:
    """Find the source of each parameter after the payload; raise ConfigError for a parameter
    without one."""
    planner = _Planner(providers, scope, is_transaction)
    return planner.node(function, skip_first=takes_payload, use_cache=False, trail=())


NOT_DEFINED = (
    "; the annotations of a function are read when it is declared: define the type above it, and "
    "import it at run time, not below `if TYPE_CHECKING:`"
)


def hints(function: Callable[..., Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's annotations as types; `scope` resolves names that are local to its
    declaration."""
    try:
        return typing.get_type_hints(function, localns=dict(scope), include_extras=True)
    except (NameError, TypeError) as error:
        remedy = NOT_DEFINED if isinstance(error, NameError) else ""
        raise ConfigError(
            f"cannot read the annotations of {label(function)}: {error}{remedy}"
        ) from None


def label(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"


@dataclass(frozen=True, slots=True)
class _Planner:
    providers: Providers
    scope: Mapping[str, Any]
    is_transaction: IsTransaction

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
    ) -> Node | BuiltinSource | None:
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
            return BuiltinSource.context
        if wanted is Clock:
            return BuiltinSource.clock
        if self.is_transaction(wanted):
            return BuiltinSource.transaction
        if wanted in self.providers:
            provider = self.providers[wanted]
            return self.node(provider, skip_first=False, use_cache=True, trail=(*trail, function))
        _require_default(function, parameter, wanted)
        return None


def _bare(annotation: Any) -> Any:
    """Return the type inside Annotated, or the annotation itself."""
    return annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation


def _require_default(
    function: Callable[..., Any], parameter: inspect.Parameter, wanted: Any
) -> None:
    """Raise ConfigError unless the parameter has a default or is variadic."""
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if not variadic and parameter.default is parameter.empty:
        if connection_type(wanted) is not None:
            raise ConfigError(
                f"parameter {parameter.name!r} of {label(function)} asks for {wanted.__name__}: "
                "declare the handler with transactional=True, whose transaction commits the "
                "handler's work together with its end; or, for one of your own, make it with "
                f"Annotated[{wanted.__name__}, Depends(make_it)]"
            )
        raise ConfigError(
            f"parameter {parameter.name!r} of {label(function)} cannot be filled: annotate it "
            "as Context, Clock or Annotated[Type, Depends(make_it)], register its type with "
            "app.provide(Type, make_it), or give it a default"
        )


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that carries the annotations of a class or callable object."""
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
    """Return the parameter's Depends, ours or FastAPI's, from Annotated[...] or the default
    value."""
    for candidate in (*getattr(annotation, "__metadata__", ()), parameter.default):
        if isinstance(candidate, Depends):
            return candidate
        if type(candidate).__module__.partition(".")[0] == "fastapi":
            return _from_fastapi(function, parameter, candidate)
    return None


def _from_fastapi(
    function: Callable[..., Any], parameter: inspect.Parameter, candidate: Any
) -> Depends:
    """Convert FastAPI's Depends; its other markers need a request and are refused."""
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
    """The dependencies of one run. Blocking ones are called through `run_blocking`, so that the
    loop stays free."""

    def __init__(
        self,
        context: Context,
        clock: Clock,
        run_blocking: RunBlocking,
        stack: AsyncExitStack,
        transaction: object = None,
    ) -> None:
        self._builtins = {
            BuiltinSource.context: context,
            BuiltinSource.clock: clock,
            BuiltinSource.transaction: transaction,
        }
        self._run_blocking = run_blocking
        self._stack = stack
        self._cache: dict[Callable[..., Any], Any] = {}

    async def call(self, node: Node, *payload: object) -> Any:
        """Create the dependencies of the node, then call it."""
        needed = {name: await self._value(source) for name, source in node.sources.items()}
        match node.style:
            case Style.plain:
                return await self._run_blocking(lambda: node.function(*payload, **needed))
            case Style.coroutine:
                return await node.function(*payload, **needed)
            case Style.async_generator:
                return await self._enter(asynccontextmanager(node.function)(**needed))
            case Style.generator:
                return await self._enter_blocking(contextmanager(node.function)(**needed))

    async def _value(self, source: Node | BuiltinSource) -> Any:
        if isinstance(source, BuiltinSource):
            return self._builtins[source]
        if not source.use_cache:
            return await self.call(source)
        if source.function not in self._cache:
            self._cache[source.function] = await self.call(source)
        return self._cache[source.function]

    async def _enter(self, opened: Any) -> Any:
        value = await opened.__aenter__()

        async def leave(*raised: Any) -> None:
            """Close the dependency. It cannot suppress the handler's exception."""
            await opened.__aexit__(*raised)

        self._stack.push_async_exit(leave)
        return value

    async def _enter_blocking(self, opened: Any) -> Any:
        value = await self._run_blocking(opened.__enter__)

        async def leave(*raised: Any) -> None:
            await self._run_blocking(lambda: opened.__exit__(*raised))

        self._stack.push_async_exit(leave)
        return value


async def run_inline(call: Callable[[], Any]) -> Any:
    """The `run_blocking` of a run that is already in its own thread."""
    return call()


def drive(run: Any) -> Any:
    """Run, in this thread, a coroutine that never suspends."""
    try:
        run.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("a blocking run waited for the event loop")
