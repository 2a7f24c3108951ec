"""The order that a campaign process is given, and the recorder that its handlers write with."""

from __future__ import annotations

import asyncio
import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from duetime import Context, Duetime
from duetime.worker.leases.in_flight import InFlightRun
from duetime.worker.running.runner import Runner
from faults.crash_points import CrashPoint, CrashPointWrapper
from faults.ledger import Ledger, new_line


@dataclass(frozen=True)
class Work:
    """Payload: a unique number, and how many seconds the handler takes."""

    number: int
    seconds: float = 0.0


@dataclass(frozen=True)
class WorkOrder:
    """Parameters of a process, passed as JSON on its command line."""

    url: str
    ledger: str
    module: str = "faults.plain_app"
    # Name of a mutation of `faults.mutant_app`.
    planted: str = ""
    point: str = ""
    nth: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    # First number of a client process.
    first: int = 0


# Each run has a context of its own.
TOKEN: ContextVar[UUID] = ContextVar("TOKEN")


def _expose_tokens() -> None:
    """Make the token of the current run available to handlers.

    The token stored with the action may already belong to a later run.
    """
    original = Runner.run

    async def run_with_token(self: Runner, run: InFlightRun) -> None:
        TOKEN.set(run.claim.token)
        await original(self, run)

    Runner.run = run_with_token  # type: ignore[method-assign]


class HandlerRecorder:
    """Writes lines of handlers to the ledger, with the token of the current run."""

    def __init__(self, order: WorkOrder, app: Duetime) -> None:
        self.crash = CrashPoint(order.point, order.nth)
        self.ledger = Ledger(order.ledger)
        CrashPointWrapper(app.store, self.crash)
        _expose_tokens()

    def token(self) -> str:
        """Return the token of the current run."""
        return str(TOKEN.get())

    async def write(self, ctx: Context, token: str, event: str) -> None:
        await asyncio.to_thread(self.write_blocking, ctx, token, event)

    def write_blocking(self, ctx: Context, token: str, event: str) -> None:
        line = new_line(str(ctx.action_id), token, os.getpid(), ctx.attempt, event)
        self.ledger.write(line)
