"""The workload: payloads, and handlers that do as little as possible."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duetime.app import Duetime
from duetime.bench.figures import lateness_figures
from duetime.model.actions.retry import Retry
from duetime.registry.context import Context


@dataclass(frozen=True)
class Noop:
    n: int


@dataclass(frozen=True)
class Large:
    text: str


@dataclass(frozen=True)
class Blocking:
    """Payload of a plain function, which runs in a thread."""

    seconds: float = 0.0


@dataclass(frozen=True)
class Transactional:
    n: int


@dataclass(frozen=True)
class Timed:
    """Its result is the number of seconds by which its handler started after `due`."""

    due: datetime


@dataclass(frozen=True)
class Slow:
    seconds: float
    due: datetime


@dataclass(frozen=True)
class CountedRun:
    """Its lateness is part of the next LatenessReport. If `flaky`, its first attempt fails."""

    due: datetime
    flaky: bool = False


@dataclass(frozen=True)
class LatenessReport:
    """Its result is the lateness of all CountedRuns since the last report."""


class FlakyFailure(Exception):
    """The error of a flaky CountedRun."""


def make_app(**settings: Any) -> Duetime:
    """Return an app with handlers for all payloads, for a worker or for scheduling."""
    app = Duetime(**settings)
    _do_nothing(app)
    _do_nothing_in_a_transaction(app)
    _measure_lateness(app)
    _count_lateness(app)
    return app


def _do_nothing(app: Duetime) -> None:
    @app.handler(kind="noop")
    async def noop(payload: Noop) -> None: ...

    @app.handler(kind="large")
    async def large(payload: Large) -> None: ...

    @app.handler(kind="blocking")
    def blocking(payload: Blocking) -> None:
        if payload.seconds:
            time.sleep(payload.seconds)


def _do_nothing_in_a_transaction(app: Duetime) -> None:
    if app.settings.url.startswith("sqlite:"):

        @app.handler(kind="transactional", transactional=True)
        def in_file(payload: Transactional, connection: sqlite3.Connection) -> None: ...

        return

    from psycopg import AsyncConnection

    @app.handler(kind="transactional", transactional=True)
    async def in_server(payload: Transactional, connection: AsyncConnection) -> None: ...


def _measure_lateness(app: Duetime) -> None:
    def late(due: datetime) -> float:
        return (app.clock.now() - due).total_seconds()

    @app.handler(kind="timed")
    async def timed(payload: Timed) -> float:
        return late(payload.due)

    @app.handler(kind="slow")
    async def slow(payload: Slow) -> float:
        began = late(payload.due)
        await asyncio.sleep(payload.seconds)
        return began


def _count_lateness(app: Duetime) -> None:
    lates: list[float] = []

    @app.handler(kind="counted", retry=Retry(delays=[1.0]))
    async def counted(payload: CountedRun, ctx: Context) -> None:
        if ctx.attempt == 1:
            lates.append((app.clock.now() - payload.due).total_seconds())
            if payload.flaky:
                raise FlakyFailure

    @app.handler(kind="report")
    async def report(payload: LatenessReport) -> dict[str, float]:
        figures = {"count": float(len(lates))} | (lateness_figures(lates) if lates else {})
        lates.clear()
        return figures
