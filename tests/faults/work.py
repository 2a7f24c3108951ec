"""What the processes of the campaigns are asked to do, and how they write it down."""

from __future__ import annotations

import asyncio
import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from duetime import Context, Duetime
from duetime.worker.leases.in_flight import Held
from duetime.worker.running.runner import Runner
from faults.crash import Crash, Watch
from faults.ledger import Ledger, new_line


@dataclass(frozen=True)
class Work:
    """Takes so many seconds; `number` is told apart from all others."""

    number: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Order:
    """All that a process needs to know, as JSON on its command line."""

    url: str
    ledger: str
    module: str = "faults.plain"
    # A mistake of `faults.mutants`, by name.
    planted: str = ""
    point: str = ""
    nth: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    # Of a customer: the first of its numbers.
    first: int = 0


# Each run has a context of its own.
TOKEN: ContextVar[UUID] = ContextVar("TOKEN")


def _tell_tokens() -> None:
    """Handlers do not know their token: the action's own may be that of a later run by now."""
    run = Runner.run

    async def told(self: Runner, held: Held) -> None:
        TOKEN.set(held.claim.token)
        await run(self, held)

    Runner.run = told  # type: ignore[method-assign]


class Book:
    """What a handler needs to write its lines, with the token of its run."""

    def __init__(self, order: Order, app: Duetime) -> None:
        self.crash = Crash(order.point, order.nth)
        self.ledger = Ledger(order.ledger)
        Watch(app.store, self.crash)
        _tell_tokens()

    def token(self) -> str:
        """That of the run that asks."""
        return str(TOKEN.get())

    async def write(self, ctx: Context, token: str, event: str) -> None:
        await asyncio.to_thread(self.write_blocking, ctx, token, event)

    def write_blocking(self, ctx: Context, token: str, event: str) -> None:
        line = new_line(str(ctx.action_id), token, os.getpid(), ctx.attempt, event)
        self.ledger.write(line)
