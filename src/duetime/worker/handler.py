"""Handlers: which function runs a kind, and how."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from duetime.errors import ConfigError, shown
from duetime.model.payload import Payloads, PayloadType
from duetime.model.retry import Retry
from duetime.worker.context import Context
from duetime.worker.injection import Node, Providers, Style, hints, label, plan


@dataclass(frozen=True, slots=True)
class Handler:
    """A user's function for one kind."""

    payload: PayloadType
    function: Callable[..., Any]
    node: Node
    retry: Retry
    timeout: float | None

    @property
    def in_thread(self) -> bool:
        """Whether the function itself runs in a thread, where nothing can interrupt it."""
        return self.node.style is Style.plain


class Handlers:
    """The handlers of one app, by kind."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._by_kind: dict[str, Handler] = {}

    def add(
        self,
        payload: PayloadType,
        function: Callable[..., Any],
        *,
        retry: Retry,
        timeout: float | None,
        providers: Providers,
        scope: Mapping[str, Any],
    ) -> Handler:
        node = plan(function, providers, scope)
        if node.style in (Style.generator, Style.async_generator):
            raise ConfigError(f"{label(function)} yields; a handler returns, a dependency yields")
        other = self._by_kind.get(payload.kind)
        if other is not None:
            raise ConfigError(
                f"kind {payload.kind!r} is already handled by {label(other.function)}; "
                f"{label(function)} needs a kind of its own"
            )
        if not isinstance(retry, Retry):
            raise ConfigError(
                f"retry={shown(retry)} of {label(function)} is no policy: write "
                "Retry(attempts=3), Retry(delays=[10, 60]) or Retry.none()"
            )
        handler = Handler(payload, function, node, retry, timeout)
        self._by_kind[payload.kind] = handler
        return handler

    def get(self, kind: str) -> Handler | None:
        """The handler of a kind, by whichever of its names."""
        return self._by_kind.get(self._payloads.wire_name(kind))

    def runs(self, kind: str, version: int) -> bool:
        """Whether a worker of this app can run that version of the kind."""
        return self.get(kind) is not None and self._payloads.knows(kind, version)

    def kinds(self) -> list[str]:
        """Every wire name that a worker of this app runs, aliases included."""
        return [kind for kind in self._payloads.kinds() if self.get(kind) is not None]


def payload_type(function: Callable[..., Any], scope: Mapping[str, Any]) -> type[Any]:
    """The annotation of a handler's first parameter."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise ConfigError(f"{label(function)} takes no payload; a handler's first parameter is it")
    annotation = hints(function, scope).get(parameters[0].name)
    if annotation is None:
        raise ConfigError(
            f"{label(function)} has no payload annotation: write "
            f"`{parameters[0].name}: YourPayload`, a dataclass or a pydantic model"
        )
    if annotation is Context:
        raise ConfigError(f"{label(function)}: the payload comes first, Context after it")
    if not inspect.isclass(annotation):
        raise ConfigError(
            f"the payload of {label(function)} is annotated {annotation!r}; "
            "use one dataclass or pydantic model"
        )
    return annotation
