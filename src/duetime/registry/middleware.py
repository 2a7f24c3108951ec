"""Middleware: coroutine functions of the user that run around every handler's call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from duetime.errors import ConfigError, shown
from duetime.model.actions.signals import SIGNALS
from duetime.registry.context import Context
from duetime.registry.injection import Style, label, style_of

# Calls the next middleware, or the handler; returns what that returned.
CallNext = Callable[[], Awaitable[object]]
Middleware = Callable[[Context, CallNext], Awaitable[object]]


def check_middleware(function: Any) -> None:
    """Raise ConfigError unless the value can be called as middleware."""
    if not callable(function) or style_of(function) is not Style.coroutine:
        name = label(function) if callable(function) else shown(function)
        raise ConfigError(
            f"{name} is not middleware: write `async def {_name(function)}(ctx, call_next)`"
        )
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise ConfigError(
            f"middleware {label(function)} takes exactly (ctx, call_next): nothing is injected "
            "into it"
        ) from None


def refuse_repeated(middleware: Sequence[Middleware]) -> None:
    for index, function in enumerate(middleware):
        if any(function is earlier for earlier in middleware[:index]):
            raise ConfigError(f"{label(function)} is declared as middleware twice: once is enough")


async def call_through(
    middleware: Sequence[Middleware], context: Context, call_handler: CallNext
) -> object:
    """Call the outermost middleware, whose `call_next` calls the next one, and so on inward to the
    handler."""
    if not middleware:
        return await call_handler()
    outermost, inner = middleware[0], middleware[1:]
    call_next = NextCall(outermost, lambda: call_through(inner, context, call_handler))
    return call_next.checked(await outermost(context, call_next))


class NextCall:
    """The `call_next` of one middleware in one run. It is to be awaited once."""

    __slots__ = ("_call", "_ended", "_middleware", "_result", "_started")

    def __init__(self, middleware: Middleware, call: CallNext) -> None:
        self._middleware = middleware
        self._call = call
        self._started = self._ended = False
        self._result: object = None

    async def __call__(self) -> object:
        if self._started:
            raise ConfigError(
                f"middleware {label(self._middleware)} called call_next() twice: a run calls its "
                "handler once; raise an error for another attempt"
            )
        self._started = True
        try:
            self._result = await self._call()
        finally:
            self._ended = True
        return self._result

    def checked(self, returned: object) -> object:
        """Return the result of the middleware: what it returned or, if that is None, what was
        returned to it. Raises ConfigError if it skipped the handler without saying how the run
        ends."""
        if not self._started and not isinstance(returned, SIGNALS):
            raise ConfigError(
                f"middleware {label(self._middleware)} returned without awaiting call_next(), so "
                "the handler did not run: await it, or return a signal, such as Cancel(), to "
                "end the run without the handler"
            )
        if self._started and not self._ended:
            raise ConfigError(
                f"middleware {label(self._middleware)} returned while call_next() was still "
                "running: await it before you return"
            )
        return self._result if returned is None else returned


def _name(function: object) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "middleware"
