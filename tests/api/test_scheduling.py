"""schedule and schedule_many: when, what comes back, what is stored."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel

from api.apps import Note, Other
from duetime import ANY, Duetime, Priority, State
from duetime.errors import DuetimeError, InvalidArgument, InvalidPayload, NaiveDatetime
from duetime.testing import FakeClock

FAR = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


async def test_an_action_scheduled_for_an_instant_comes_back_as_it_is_stored(
    app: Duetime, clock: FakeClock
) -> None:
    at = clock.now() + timedelta(hours=1, microseconds=7)
    action = await app.schedule(Note("hi"), at=at, by="ann")
    assert action.created
    assert isinstance(action.id, UUID)
    assert (action.kind, action.payload, action.state) == ("note", Note("hi"), State.scheduled)
    assert (action.due_at, action.attempt, action.losses) == (at, 0, 0)
    assert (action.created_at, action.created_by) == (clock.now(), "ann")
    assert (action.queue, action.priority) == ("default", Priority.normal)
    nothing = (
        *(action.correlation_id, action.key, action.tenant, action.after, action.on),
        *(action.job, action.tick, action.result, action.error, action.worker),
        *(action.lease_expires_at, action.modified_at, action.modified_by),
        *(action.cancelled_by, action.finished_at, action.progress),
    )
    assert set(nothing) == {None}
    assert await app.get(action.id) == replace(action, created=False)


async def test_an_instant_in_another_zone_is_the_same_instant(
    app: Duetime, clock: FakeClock
) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    at = clock.now() + timedelta(hours=1)
    action = await app.schedule(Note(), at=at.astimezone(zone))
    assert action.due_at == at


@pytest.mark.parametrize("delay", [90, 90.0, timedelta(seconds=90)])
async def test_a_delay_counts_from_now(
    app: Duetime, clock: FakeClock, delay: float | timedelta
) -> None:
    action = await app.schedule(Note(), delay=delay)
    assert action.due_at == clock.now() + timedelta(seconds=90)


async def test_without_a_time_it_is_due_now(app: Duetime, clock: FakeClock) -> None:
    action = await app.schedule(Note())
    assert action.due_at == clock.now()


@pytest.mark.parametrize("year", [1, 1969, 2029])
async def test_an_instant_in_the_past_runs_at_once(app: Duetime, year: int) -> None:
    ran: list[Note] = []

    @app.handler()
    async def note(payload: Note) -> None:
        ran.append(payload)

    at = datetime(year, 1, 1, tzinfo=UTC)
    action = await app.schedule(Note(), at=at)
    assert await app.testing.drain() == 1
    assert ran == [Note()]
    assert (await app.get(action.id)).due_at == at


async def test_the_end_of_the_year_9999_is_kept_to_the_microsecond(app: Duetime) -> None:
    @app.handler()
    async def note(payload: Note) -> None:
        raise AssertionError("due in the year 9999 only")

    action = await app.schedule(Note(), at=FAR)
    assert await app.testing.advance(days=365 * 100) == 0
    stored = await app.get(action.id)
    assert (stored.due_at, stored.state) == (FAR, State.scheduled)


async def test_nothing_runs_before_its_time(app: Duetime) -> None:
    ran: list[Note] = []

    @app.handler()
    async def note(payload: Note) -> None:
        ran.append(payload)

    await app.schedule(Note(), delay=10)
    assert await app.testing.advance(timedelta(seconds=10, microseconds=-1)) == 0
    assert ran == []
    assert await app.testing.advance(timedelta(microseconds=1)) == 1
    assert ran == [Note()]


async def test_every_label_is_kept(app: Duetime) -> None:
    action = await app.schedule(
        Note(),
        delay=5,
        correlation_id="order:7",
        key="k",
        priority=Priority.critical,
        queue="mail",
        tenant="acme",
        by="ann",
    )
    stored = await app.get(action.id, tenant="acme")
    assert (stored.correlation_id, stored.key, stored.queue) == ("order:7", "k", "mail")
    assert (stored.priority, stored.tenant, stored.created_by) == ("critical", "acme", "ann")


async def test_the_longest_names_allowed_are_kept_whole(app: Duetime) -> None:
    long = "é" * 450
    action = await app.schedule(
        Note(), tenant=long, by=long, key="ø" * 500, correlation_id="😀" * 500, queue="q" * 200
    )
    stored = await app.get(action.id, tenant=long)
    assert (stored.tenant, stored.created_by) == (long, long)
    assert (stored.key, stored.correlation_id) == ("ø" * 500, "😀" * 500)
    assert stored.queue == "q" * 200


async def test_the_queue_of_a_kind_is_the_default_of_its_actions(app: Duetime) -> None:
    app.payload(Other, kind="other", queue="numbers")
    assert (await app.schedule(Other())).queue == "numbers"
    assert (await app.schedule(Other(), queue="mail")).queue == "mail"


async def test_a_priority_may_be_given_by_its_word(app: Duetime) -> None:
    assert (await app.schedule(Note(), priority="high")).priority is Priority.high


# -- many ----------------------------------------------------------------------------


async def test_many_come_back_in_the_order_given(app: Duetime, clock: FakeClock) -> None:
    at = clock.now() + timedelta(hours=1)
    actions = await app.schedule_many(
        [
            (Note("0"), at),
            app.request(Other(1), delay=60, key="k", correlation_id="c", queue="q"),
            (Note("2"), at - timedelta(hours=2)),
            app.request(Note("3"), tenant="acme", by="ann", priority="low"),
        ]
    )
    assert [a.payload for a in actions] == [Note("0"), Other(1), Note("2"), Note("3")]
    assert [a.due_at for a in actions] == [
        at,
        clock.now() + timedelta(seconds=60),
        at - timedelta(hours=2),
        clock.now(),
    ]
    assert (actions[1].key, actions[1].correlation_id, actions[1].queue) == ("k", "c", "q")
    assert (actions[3].tenant, actions[3].created_by, actions[3].priority) == ("acme", "ann", "low")
    assert all(a.created for a in actions)


async def test_a_thousand_at_once_are_all_there(app: Duetime, clock: FakeClock) -> None:
    ran: list[str] = []

    @app.handler()
    async def note(payload: Note) -> None:
        ran.append(payload.text)

    actions = await app.schedule_many((Note(str(n)), clock.now()) for n in range(1000))
    assert [a.payload for a in actions] == [Note(str(n)) for n in range(1000)]
    assert await app.testing.drain() == 1000
    assert sorted(ran, key=int) == [str(n) for n in range(1000)]


@pytest.mark.parametrize("odd", [0, 50, 150, 249])
async def test_a_request_may_stand_among_pairs(app: Duetime, clock: FakeClock, odd: int) -> None:
    requests: list[Any] = [(Note(str(n)), clock.now()) for n in range(250)]
    requests[odd] = app.request(Note(str(odd)), queue="q", tenant="acme", by="ann")
    with app.acting(tenant="ours", by="bob"):
        made = await app.schedule_many(requests)
    assert [action.payload for action in made] == [Note(str(n)) for n in range(250)]
    events = [(action.queue, action.tenant, action.created_by) for action in made]
    assert events.pop(odd) == ("q", "acme", "ann")
    assert set(events) == {("default", "ours", "bob")}


async def test_each_of_many_keeps_its_own_of_two_equal_hours(app: Duetime) -> None:
    """Python takes them for equal, when clocks go back."""
    first = datetime(2030, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))
    second = first.replace(fold=1)
    assert first == second
    actions = await app.schedule_many([(Note(), first), (Note(), second)])
    assert [action.due_at.hour for action in actions if action.due_at] == [0, 1]


async def test_each_of_many_is_checked_though_it_is_equal_to_another(app: Duetime) -> None:
    requests = [app.request(Note(), delay=delay) for delay in (1, True)]
    with pytest.raises(InvalidArgument, match="delay=True"):
        await app.schedule_many(requests)


async def test_each_of_many_keeps_its_own_labels(app: Duetime) -> None:
    given: list[dict[str, Any]] = [
        {},
        {"queue": "q"},
        {"queue": "q", "tenant": "acme"},
        {"priority": "high", "tenant": "acme", "correlation_id": 'say "hi"'},
        {"priority": Priority.high, "tenant": None, "key": "a\\b"},
        {"by": "ann"},
        {},
    ]
    with app.acting(tenant="ours", by="bob"):
        made = await app.schedule_many(app.request(Note(), **item) for item in given)
    labels = [
        *[("default", "normal", "ours", "bob"), ("q", "normal", "ours", "bob")],
        *[("q", "normal", "acme", "bob"), ("default", "high", "acme", "bob")],
        *[("default", "high", None, "bob"), ("default", "normal", "ours", "ann")],
        ("default", "normal", "ours", "bob"),
    ]
    assert [
        (action.queue, action.priority, action.tenant, action.created_by) for action in made
    ] == labels
    assert [(action.correlation_id, action.key) for action in made[2:5]] == [
        *[(None, None), ('say "hi"', None), (None, "a\\b")]
    ]
    for action in made:
        assert await app.get(action.id, tenant=ANY) == replace(action, created=False)


class Lines(BaseModel):
    """What is read only once."""

    texts: Iterable[str]


@pytest.mark.parametrize("count", [1, 2, 600])
async def test_an_iterator_is_stored_with_all_that_it_holds(app: Duetime, count: int) -> None:
    app.payload(Lines, kind="lines")
    requests = [app.request(Lines(texts=(text for text in "abc"))) for _ in range(count)]
    for action in (await app.schedule_many(requests))[:3]:
        stored = await app.get(action.id)
        assert [*cast("Lines", stored.payload).texts] == ["a", "b", "c"]


async def test_many_of_nothing_is_nothing(app: Duetime) -> None:
    assert await app.schedule_many([]) == []


async def test_many_are_all_or_none_when_one_is_bad(app: Duetime, clock: FakeClock) -> None:
    naive = datetime(2030, 1, 1)  # noqa: DTZ001 - what is tested
    with pytest.raises(NaiveDatetime):
        await app.schedule_many([(Note(), clock.now()), (Note(), naive)])
    with pytest.raises(InvalidPayload):
        await app.schedule_many([(Note(), clock.now()), (Note(7), clock.now())])  # type: ignore[arg-type]
    with pytest.raises(DuetimeError, match="pairs"):
        await app.schedule_many([(Note(), clock.now()), Note()])  # type: ignore[list-item]
    with pytest.raises(DuetimeError, match="pairs"):
        await app.schedule_many([(Note(), clock.now()), (Note(), clock.now(), "high")])  # type: ignore[list-item]
    assert len(await app.find()) == 0


async def test_many_are_all_or_none_when_a_key_is_taken(app: Duetime) -> None:
    await app.schedule(Note("first"), key="k", delay=60)
    with pytest.raises(DuetimeError, match="'k'"):
        await app.schedule_many(
            [app.request(Note("new")), app.request(Note("second"), key="k")], if_exists="raise"
        )
    assert [a.payload for a in await app.find()] == [Note("first")]


class NoneLike:
    """Says that it equals None."""

    def __eq__(self, other: object) -> bool:
        return other is None

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("name", ["at", "after", "tenant", "key", "queue"])
async def test_each_of_many_is_checked_though_it_says_that_it_is_nothing(
    app: Duetime, name: str
) -> None:
    bad: dict[str, Any] = {name: NoneLike()}
    with pytest.raises(InvalidArgument, match=name):
        await app.schedule_many([app.request(Note()), app.request(Note(), **bad)])
    assert not await app.find()


class Shop(str, Enum):  # noqa: UP042 - older code has many of them
    paris = "PARIS"


async def test_a_member_of_an_enum_is_its_text(app: Duetime) -> None:
    made = await app.schedule(Note(), queue=Shop.paris, tenant=Shop.paris, key=Shop.paris)
    found = await app.get(made.id, tenant="PARIS")
    assert {type(item) for item in (made.queue, made.tenant, made.key)} == {str}
    assert (found.queue, found.tenant, found.key) == ("PARIS",) * 3
    assert [action.id for action in await app.find(queue="PARIS", tenant="PARIS")] == [made.id]
