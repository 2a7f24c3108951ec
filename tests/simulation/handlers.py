"""Payload types and handlers of the simulation; each handler follows a script."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from duetime.model.actions.retry import Retry
from duetime.model.payloads.registry import Payloads
from duetime.registry.context import Context
from duetime.registry.handlers import Handlers
from simulation.handler_script import TIMEOUT_SECONDS
from simulation.virtual_loop import SimLoop


@dataclass(frozen=True)
class Work:
    script: int


@dataclass(frozen=True)
class Timed:
    script: int


@dataclass(frozen=True)
class Once:
    script: int


@dataclass(frozen=True)
class Rare:
    script: int


TYPES: dict[str, type[Any]] = {"work": Work, "timed": Timed, "once": Once, "rare": Rare}
RETRIES = {
    "work": Retry(attempts=3, delay=0.5),
    "timed": Retry(delays=[0.1, 0.2]),
    "once": Retry.none(),
    "rare": Retry(attempts=2, delay=1),
}


async def play(payload: Any, ctx: Context) -> object:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    return await loop.play(payload.script, ctx)


def _handlers(*kinds: str) -> Handlers:
    handlers = Handlers(PAYLOADS)
    for kind in kinds:
        handlers.add(
            PAYLOADS.named(kind),
            play,
            retry=RETRIES[kind],
            timeout=TIMEOUT_SECONDS if kind == "timed" else None,
            providers={},
            scope={},
        )
    return handlers


PAYLOADS = Payloads()
for name, type_ in TYPES.items():
    PAYLOADS.add(type_, kind=name)
ALL = _handlers("work", "timed", "once", "rare")
SOME_HANDLERS = _handlers("work", "timed", "once")
