"""Counters and histograms, read through the OpenTelemetry SDK."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from api.apps import Note
from duetime import ANY, Cancel, Duetime, Fail, Retry
from duetime.store.listeners import Listeners
from duetime.testing import FakeClock
from telemetry.exporters import measured

numbers = itertools.count()


@pytest.fixture(scope="module")
def reader() -> InMemoryMetricReader:
    """The meter provider of a process can be set only once; each test reads its own kinds."""
    return measured().reader


class Reading:
    """The measurements of one kind."""

    def __init__(self, reader: InMemoryMetricReader, kind: str) -> None:
        self._reader = reader
        self.kind = kind

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            if scope.scope.name == "duetime"
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
            if (point.attributes or {}).get("duetime.kind") == self.kind
        ]

    def count(self, name: str) -> dict[object, int]:
        """How often, by tenant."""
        return {p.attributes["duetime.tenant"]: p.value for p in self.points(name)}


@pytest.fixture
def reading(reader: InMemoryMetricReader) -> Reading:
    return Reading(reader, f"kind-{next(numbers)}")


async def test_every_end_is_counted_by_kind_and_tenant(
    reading: Reading, url: str, clock: FakeClock
) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind=reading.kind, retry=Retry(delays=[1]))
        async def note(payload: Note) -> object:
            match payload.text:
                case "fails":
                    raise RuntimeError
                case "gives up":
                    return Fail("no")
                case "cancels":
                    return Cancel()
            return None

        for text in ("works", "fails", "gives up", "cancels"):
            await app.schedule(Note(text))
            await app.schedule(Note(text), tenant="acme")
        await app.testing.advance(60)
        moved = await app.schedule(Note(), delay=60)
        await app.reschedule(moved.id, delay=90)
        await app.cancel(moved.id)
        await app.schedule(Note(), key="k", delay=60)
        await app.schedule(Note(), key="k", delay=60)
    assert reading.count("duetime.action.scheduled") == {"global": 6, "acme": 4}
    assert reading.count("duetime.action.executed") == {"global": 1, "acme": 1}
    assert reading.count("duetime.action.failed") == {"global": 2, "acme": 2}
    assert reading.count("duetime.action.cancelled") == {"global": 2, "acme": 1}
    assert reading.count("duetime.action.rescheduled") == {"global": 1}


async def test_lateness_and_duration_are_measured_in_seconds(
    reading: Reading, url: str, clock: FakeClock
) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind=reading.kind)
        async def note(payload: Note) -> None:
            clock.advance(4)

        await app.schedule(Note(), at=clock.now())
        clock.advance(3)
        await app.testing.drain()
    (late,) = reading.points("duetime.action.lateness")
    (took,) = reading.points("duetime.action.duration")
    assert (late.count, late.sum) == (1, 3.0)
    assert (took.count, took.sum) == (1, 4.0)


async def test_what_a_lost_wake_delayed_is_counted_when_it_is_caught_up(
    reading: Reading, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Duetime(url, sweep=0.2, poll=0.2, poll_unheard=0.2, listen=False) as app:

        @app.handler(kind=reading.kind)
        async def note(payload: Note) -> None: ...

        async with app.worker():
            woken = await app.schedule(Note())
            await app.wait(woken.id, timeout=20)
            assert reading.count("duetime.catchup.redispatched") == {}
            monkeypatch.setattr(Listeners, "notify", lambda self, wakes: None)
            overdue = datetime.now(UTC) - timedelta(minutes=1)
            made = 0
            # An action that another look-ahead happens to find was not lost, so there are several.
            while made < 20 and not reading.count("duetime.catchup.redispatched"):
                lost = await app.schedule(Note(), at=overdue, tenant="acme")
                assert (await app.wait(lost.id, timeout=20, tenant=ANY)).attempt == 1
                made += 1
    assert reading.count("duetime.catchup.redispatched") == {"acme": 1}
    assert reading.count("duetime.action.executed") == {"acme": made, "global": 1}


async def test_a_worker_measures_like_the_testing_kit(reading: Reading, url: str) -> None:
    async with Duetime(url) as app:

        @app.handler(kind=reading.kind)
        async def note(payload: Note) -> None: ...

        async with app.worker():
            for action in [await app.schedule(Note(), tenant="acme") for _ in range(3)]:
                await app.wait(action.id, timeout=20, tenant=ANY)
    assert reading.count("duetime.action.executed") == {"acme": 3}
    (late,) = reading.points("duetime.action.lateness")
    assert late.count == 3
    assert 0 <= late.min <= late.max < 10
