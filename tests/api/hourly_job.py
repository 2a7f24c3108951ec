"""A job that ticks every hour, with a clock that starts at midnight."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from duetime import Context, Duetime
from duetime.testing import FakeClock

MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)
NAME = "shop-report"


def at(hours: float) -> datetime:
    return MIDNIGHT + timedelta(hours=hours)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(MIDNIGHT)


@pytest.fixture
def ticks(app: Duetime) -> list[Any]:
    """The ticks of an hourly job, or the actors that triggered it."""
    seen: list[Any] = []

    @app.job("0 * * * *", name=NAME)
    async def report(ctx: Context) -> None:
        seen.append(ctx.tick or ctx.triggered_by)

    return seen


def nothing() -> None: ...
