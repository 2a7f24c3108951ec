"""A release: a deployed version of the code with its declared jobs."""

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
from job_simulation.job_specs import RETRY, JobSpec, definition_of, draw_spec, redrawn
from simulation.virtual_loop import SimLoop

MAX_PAYLOAD = 1000


@dataclass(frozen=True)
class Chore:
    """Payload of jobs that are put at run time."""

    number: int


async def work(ctx: Context) -> object:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    return await loop.play(0, ctx)


async def chore(payload: Chore, ctx: Context) -> object:
    return await work(ctx)


class Release:
    """Payloads, handlers and jobs of a release; built once, deployed on many nodes."""

    def __init__(self, number: int, specs: dict[str, JobSpec]) -> None:
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

    def _declare(self, spec: JobSpec) -> None:
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
    rng: Random, count: int, jobs: int, begin: datetime, busy: float
) -> list[Release]:
    """Draw releases; each changes some rules, drops some jobs, and restores others."""
    names = [f"shop-job-{number}" for number in range(jobs)]
    specs = {name: draw_spec(rng, name, begin, busy) for name in names}
    declared = dict(specs)
    releases = [Release(0, declared)]
    for number in range(1, count):
        for name in names:
            if rng.random() < 0.15:
                specs[name] = redrawn(rng, specs[name], begin, busy)
        gone = {name for name in names if rng.random() < (0.08 if name in declared else 0.4)}
        declared = {name: spec for name, spec in specs.items() if name not in gone}
        releases.append(Release(number, declared))
    return releases
