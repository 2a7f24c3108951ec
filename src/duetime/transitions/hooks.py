"""Hooks: functions of the user that are called for each changed row, after the commit."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duetime.events.bus import own_task_cancelled
from duetime.logs import Log
from duetime.model.transition import Effect
from duetime.transitions.batch import DueRow
from duetime.transitions.target import Target

Hook = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    on_delete: Hook | None
    on_set_field: Hook | None

    async def call(self, target: Target, rows: Sequence[DueRow], log: Log) -> None:
        """Call the target's hook for each row, in order. Errors of a hook are logged only."""
        hook, more = self._hook_for(target)
        if hook is None:
            return
        for row in rows:
            try:
                await _call(hook, target.mapper.class_, row.id, *more)
            except (Exception, asyncio.CancelledError) as error:
                if own_task_cancelled(error):
                    raise
                log.exception("hook %r of transition %s failed for %r", hook, target.name, row.id)

    def has_hook(self, target: Target) -> bool:
        return self._hook_for(target)[0] is not None

    def _hook_for(self, target: Target) -> tuple[Hook | None, tuple[object, ...]]:
        if target.deletes:
            return self.on_delete, ()
        if target.declared.effect is Effect.set_field:
            return self.on_set_field, (target.declared.set_field, target.to)
        return None, ()


async def _call(hook: Hook, *arguments: object) -> None:
    """Await an async hook; run a plain function, which may block, in a thread."""
    if inspect.iscoroutinefunction(hook):
        await hook(*arguments)
        return
    returned = await asyncio.to_thread(hook, *arguments)
    if inspect.isawaitable(returned):
        await returned
