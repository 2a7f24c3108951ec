"""A release: what a deployed version of the code declares."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from random import Random
from types import NoneType

from duetime.model.payloads.codec import written_alone
from duetime.model.payloads.registry import Payloads
from duetime.registry.context import Context
from duetime.registry.handlers import Handlers
from duetime.registry.jobs import DeclaredJobs
from recurrence.timetable import RETRY, Spec, changed, definition_of, draw_spec
from simulation.loop import SimLoop

MAX_PAYLOAD = 1000


@dataclass(frozen=True)
class Chore:
    """What jobs that are put at run time do."""

    number: int


async def work(ctx: Context) -> object:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    return await loop.play(0, ctx)


async def chore(payload: Chore, ctx: Context) -> object:
    return await work(ctx)


class Release:
    """Built once, deployed on many nodes."""

    def __init__(self, number: int, specs: dict[str, Spec]) -> None:
        self.number = number
        self.specs = specs
        self.payloads = Payloads()
        self.payloads.add(Chore, kind="chore")
        self.handlers = Handlers(self.payloads)
        self.jobs = DeclaredJobs()
        entry = self.payloads.named("chore")
        self.handlers.add(entry, chore, retry=RETRY, timeout=None, providers={}, scope={})
        for spec in specs.values():
            self._declare(spec)

    def _declare(self, spec: Spec) -> None:
        entry = self.payloads.check_job(spec.name, NoneType, None)
        text = written_alone(entry, None, MAX_PAYLOAD)
        self.handlers.add(
            entry,
            work,
            retry=RETRY,
            timeout=None,
            providers={},
            scope={},
            takes_payload=False,
        )
        self.payloads.keep_job(entry)
        self.jobs.add(definition_of(spec, entry, text, RETRY))


def draw_releases(
    dice: Random, count: int, jobs: int, begin: datetime, busy: float
) -> list[Release]:
    """Each changes some rules, drops some jobs, and brings others back."""
    names = [f"shop-job-{number}" for number in range(jobs)]
    all_ = {name: draw_spec(dice, name, begin, busy) for name in names}
    here = dict(all_)
    releases = [Release(0, here)]
    for number in range(1, count):
        for name in names:
            if dice.random() < 0.15:
                all_[name] = changed(dice, all_[name], begin, busy)
        gone = {name for name in names if dice.random() < (0.08 if name in here else 0.4)}
        here = {name: spec for name, spec in all_.items() if name not in gone}
        releases.append(Release(number, here))
    return releases
