"""A job that runs every hour, from a midnight on."""

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
    """The ticks, or who triggered them, of a job that runs every hour."""
    seen: list[Any] = []

    @app.job("0 * * * *", name=NAME)
    async def report(ctx: Context) -> None:
        seen.append(ctx.tick or ctx.triggered_by)

    return seen


def nothing() -> None: ...
