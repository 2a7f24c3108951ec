"""Names, units, boundaries and attributes of metrics, and the gauges, on every store."""

import itertools
from datetime import timedelta

import pytest

from api.apps import Note
from duetime import Duetime, Every, Retry
from duetime.telemetry import instruments
from duetime.telemetry.gauges import StoreGauges, WorkerGauges
from duetime.telemetry.labels import MAX_VALUES, OTHER, ActionAttributes
from duetime.telemetry.meters import Meters
from duetime.testing import FakeClock
from polling import until
from telemetry.exporters import Metrics

numbers = itertools.count()

# By hand, from the specification.
WANTED = {
    "duetime.action.scheduled": ("counter", "{action}"),
    "duetime.action.executed": ("counter", "{action}"),
    "duetime.action.cancelled": ("counter", "{action}"),
    "duetime.action.failed": ("counter", "{action}"),
    "duetime.action.rescheduled": ("counter", "{action}"),
    "duetime.action.retried": ("counter", "{action}"),
    "duetime.action.lost": ("counter", "{run}"),
    "duetime.catchup.redispatched": ("counter", "{action}"),
    "duetime.transition.applied": ("counter", "{row}"),
    "duetime.transition.failed": ("counter", "{row}"),
    "duetime.notification.sent": ("counter", "{notification}"),
    "duetime.notification.failed": ("counter", "{notification}"),
    "duetime.action.lateness": ("histogram", "s"),
    "duetime.action.duration": ("histogram", "s"),
    "duetime.sweep.duration": ("histogram", "s"),
    "duetime.backlog": ("gauge", "{action}"),
    "duetime.oldest_overdue": ("gauge", "s"),
    "duetime.workers": ("gauge", "{worker}"),
    "duetime.slots.used": ("gauge", "{slot}"),
}


@pytest.fixture
def kind() -> str:
    return f"metered-{next(numbers)}"


def test_names_forms_and_units() -> None:
    assert {spec.name: (spec.form, spec.unit) for spec in instruments.ALL} == WANTED
    assert instruments.BOUNDS_SECONDS[0] == 0.0005
    assert instruments.BOUNDS_SECONDS[-1] == 3600


async def test_every_metric_has_its_unit_and_boundaries(
    url: str, clock: FakeClock, meters: Metrics, kind: str
) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind=kind, queue="mail", retry=Retry(delays=[1]))
        async def note(payload: Note) -> None:
            if payload.text == "bad":
                raise LookupError

        await app.schedule(Note(), tenant="acme")
        bad = await app.schedule(Note("bad"))
        await app.testing.advance(60)
        await app.retry(bad.id)
        moved = await app.schedule(Note(), delay=600)
        await app.reschedule(moved.id, delay=900)
        await app.cancel(moved.id)
    read = meters.metrics()
    for name, metric in read.items():
        assert metric.unit == WANTED[name][1]
        if WANTED[name][0] == "histogram":
            for point in metric.data.data_points:
                assert point.explicit_bounds == instruments.BOUNDS_SECONDS
    of = {"kind": kind, "queue": "mail"}
    assert meters.count("duetime.action.scheduled", **of) == 3
    assert meters.count("duetime.action.executed", **of, tenant="acme") == 1
    assert meters.count("duetime.action.failed", **of, tenant="global") == 1
    assert meters.count("duetime.action.retried", **of) == 2
    assert meters.count("duetime.action.rescheduled", **of) == 1
    assert meters.count("duetime.action.cancelled", **of) == 1
    runs = {
        point.attributes["duetime.outcome"]: point.count
        for point in meters.points("duetime.action.duration", **of)
    }
    assert runs == {"succeeded": 1, "retried": 1, "failed": 1}


async def test_occurrences_name_their_job(
    url: str, clock: FakeClock, meters: Metrics, kind: str
) -> None:
    async with Duetime(url, clock=clock) as app:
        app.job(Every(hours=1), name=f"{kind}-job")(lambda: None)
        await app.testing.advance(2 * 3600)
        await app.jobs.trigger(f"{kind}-job")
        await app.testing.drain()
    assert meters.count("duetime.action.scheduled", job=f"{kind}-job") == 3
    assert meters.count("duetime.action.executed", job=f"{kind}-job") == 3


def test_of_201_kinds_200_have_names() -> None:
    attributes = ActionAttributes()
    named = [attributes.of_queue(f"kind-{n}", None, "q")["duetime.kind"] for n in range(201)]
    assert named == [*(f"kind-{n}" for n in range(MAX_VALUES)), OTHER]
    assert attributes.of_queue("kind-7", None, "q")["duetime.kind"] == "kind-7"


def test_tenants_can_be_left_out() -> None:
    assert ActionAttributes(tenants=False).of_queue("k", "acme", "q") == {
        "duetime.kind": "k",
        "duetime.queue": "q",
    }


def test_quotes_and_newlines_in_values_survive() -> None:
    strange = 'a"b\\c\nd'
    assert ActionAttributes().of_queue(strange, strange, strange)["duetime.kind"] == strange


async def test_the_oldest_worker_shows_the_store(url: str, meters: Metrics, kind: str) -> None:
    queue = f"queue-{kind}"
    async with Duetime(url, sweep=0.2, poll=0.2, poll_unheard=0.2) as app:

        @app.handler(kind=kind, queue=queue)
        async def note(payload: Note) -> None: ...

        late = app.clock.now() - timedelta(minutes=5)
        await app.schedule(Note(), delay=3600)
        await app.queues.pause("nobody")
        await app.schedule(Note(), at=late, queue="unserved")
        async with app.worker(queues=[queue]):
            await until(lambda: bool(meters.points("duetime.backlog", queue=queue)))
            assert meters.count("duetime.backlog", queue=queue, state="scheduled") == 1
            assert meters.count("duetime.backlog", queue=queue, state="running") == 0
            assert meters.count("duetime.workers") == 1
            [oldest] = meters.points("duetime.oldest_overdue")
            assert 299 < oldest.value < 400
            [slots] = meters.points("duetime.slots.used")
            assert slots.value == 0
    assert meters.points("duetime.backlog", queue=queue) == []


def test_gauges_of_several_stores_add_up(meters: Metrics, kind: str) -> None:
    Meters()
    first, second = WorkerGauges(), WorkerGauges()
    first.store = StoreGauges([(kind, "scheduled", 2)], 5.0, 1)
    second.store = StoreGauges([(kind, "scheduled", 3)], 7.0, 2)
    first.slots_used, second.slots_used = 4, 5
    assert meters.count("duetime.backlog", queue=kind) == 5
    assert [point.value for point in meters.points("duetime.oldest_overdue")] == [7.0]
    assert meters.count("duetime.workers") == 3
    assert meters.count("duetime.slots.used") == 9
    first.close()
    second.close()
    assert meters.points("duetime.backlog", queue=kind) == []
