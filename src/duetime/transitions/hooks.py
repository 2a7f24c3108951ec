"""Hooks: functions of the user's that are told of each row, after the commit."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duetime.events.bus import (
    is_cancelled,
)
from duetime.model.transition import Effect
from duetime.transitions.batch import Row
from duetime.transitions.target import Target

Hook = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    on_delete: Hook | None
    on_set_field: Hook | None

    async def tell(self, target: Target, rows: Sequence[Row], log: logging.Logger) -> None:
        """Row by row, in order. What one raises is logged and disturbs nothing."""
        hook, more = self._of(target)
        if hook is None:
            return
        for row in rows:
            try:
                await _call(hook, target.mapper.class_, row.id, *more)
            except (Exception, asyncio.CancelledError) as error:
                if is_cancelled(error):
                    raise
                log.exception("%s: the hook %r failed for %r", target.name, hook, row.id)

    def hear(self, target: Target) -> bool:
        return self._of(target)[0] is not None

    def _of(self, target: Target) -> tuple[Hook | None, tuple[object, ...]]:
        if target.deletes:
            return self.on_delete, ()
        if target.declared.effect is Effect.set_field:
            return self.on_set_field, (target.declared.set_field, target.to)
        return None, ()


async def _call(hook: Hook, *arguments: object) -> None:
    """A plain function may block: it runs in a thread."""
    if inspect.iscoroutinefunction(hook):
        await hook(*arguments)
        return
    told = await asyncio.to_thread(hook, *arguments)
    if inspect.isawaitable(told):
        await told
