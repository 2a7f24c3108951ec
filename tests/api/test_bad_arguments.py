"""Bad input to the verbs: a typed error that names the value, and nothing is written."""

import math
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note
from duetime import ANY, Duetime
from duetime.errors import DuetimeError, InvalidArgument, NaiveDatetime

NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001 - what is tested
EARLY_ZONE = timezone(timedelta(hours=-5))
LATE_ZONE = timezone(timedelta(hours=5))
AWARE = datetime(2031, 1, 1, tzinfo=UTC)

TIMES: list[tuple[dict[str, Any], str]] = [
    ({"at": NAIVE}, "at=.*time zone"),
    ({"at": "tomorrow"}, "at='tomorrow'"),
    ({"at": date(2030, 1, 1)}, "at="),
    ({"at": 1_900_000_000}, "at=1900000000"),
    ({"at": datetime(9999, 12, 31, 23, tzinfo=EARLY_ZONE)}, "years 1 to 9999"),
    ({"at": datetime(1, 1, 1, tzinfo=LATE_ZONE)}, "years 1 to 9999"),
    ({"delay": math.nan}, "delay=nan.*finite"),
    ({"delay": math.inf}, "delay=inf.*finite"),
    ({"delay": -math.inf}, "finite"),
    ({"delay": -0.001}, "negative"),
    ({"delay": timedelta(seconds=-1)}, "negative"),
    ({"delay": "5"}, "delay='5'"),
    ({"delay": True}, "delay=True"),
    ({"delay": 1e18}, "at most"),
    ({"delay": timedelta.max}, "at most"),
    ({"delay": 10**400}, "at most"),
    ({"at": AWARE, "delay": 5}, "either at= or delay="),
    ({"at": AWARE, "delay": 0}, "either at= or delay="),
]

BAD_NAMES = ["", "  ", "a\x00b", "\ud800", "\udc00x", 7, b"bytes"]
NAMES: list[tuple[dict[str, Any], str]] = [
    *(
        ({name: bad}, name)
        for name in ("key", "correlation_id", "tenant", "by", "queue")
        for bad in BAD_NAMES
        if not (name == "queue" and bad == "")
    ),
    ({"key": "k" * 501}, "501 characters, 500"),
    ({"correlation_id": "c" * 501}, "501 characters, 500"),
    ({"tenant": "t" * 451}, "451 characters, 450"),
    ({"by": "b" * 451}, "451 characters, 450"),
    ({"queue": "q" * 201}, "201 characters, 200"),
    ({"queue": ""}, "queue"),
]

CHOICES: list[tuple[dict[str, Any], str]] = [
    ({"priority": "urgent"}, "low, normal, high or critical"),
    ({"priority": "hihg"}, "did you mean 'high'"),
    ({"priority": 3}, "priority=3"),
    ({"priority": None}, "priority=None"),
    ({"if_exists": "ignore"}, '"return", "replace" or "raise"'),
    ({"if_exists": None}, "if_exists=None"),
    ({"if_exists": ["raise"]}, "if_exists"),
]


async def nothing_written(app: Duetime) -> bool:
    return len(await app.find(tenant=ANY)) == 0


@pytest.mark.parametrize(("given", "message"), [*TIMES, *NAMES, *CHOICES], ids=repr)
async def test_schedule_refuses_what_it_cannot_keep(
    app: Duetime, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message) as caught:
        await app.schedule(Note(), **given)
    assert isinstance(caught.value, DuetimeError)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 400
    assert await nothing_written(app)


@pytest.mark.parametrize(("given", "message"), [*TIMES, *NAMES, *CHOICES[:4]], ids=repr)
async def test_schedule_many_refuses_the_same_and_writes_none_of_them(
    memory_app: Duetime, given: dict[str, Any], message: str
) -> None:
    requests = [memory_app.request(Note()), memory_app.request(Note(), **given)]
    with pytest.raises(InvalidArgument, match=message):
        await memory_app.schedule_many(requests)
    assert await nothing_written(memory_app)


@pytest.mark.parametrize(("given", "message"), [*TIMES, ({}, "give the new time")], ids=repr)
async def test_reschedule_refuses_the_same_times_and_changes_nothing(
    app: Duetime, given: dict[str, Any], message: str
) -> None:
    action = await app.schedule(Note(), delay=60)
    with pytest.raises(InvalidArgument, match=message):
        await app.reschedule(action.id, **given)
    assert (await app.get(action.id)).due_at == action.due_at
    assert (await app.audit.find(subject=action.id, limit=5, tenant=ANY)).items == []


def test_a_naive_datetime_has_an_error_of_its_own(memory_app: Duetime) -> None:
    with pytest.raises(NaiveDatetime, match=r"datetime\.now\(UTC\)") as caught:
        memory_app.sync.schedule(Note(), at=NAIVE)
    assert (caught.value.argument, caught.value.value) == ("at", NAIVE)


FIND: list[tuple[dict[str, Any], str]] = [
    *(({"limit": bad}, "limit") for bad in (0, -1, 201, 1.5, "5", None, True)),
    *(({"cursor": bad}, "cursor") for bad in ("", "nonsense", "é", 7, "A" * 100, b"AAAA")),
    ({"state": "done"}, "state='done'"),
    ({"state": "runing"}, "did you mean 'running'"),
    ({"state": 1}, "state=1"),
    ({"kind": ""}, "kind"),
    ({"kind": "k" * 201}, "201 characters"),
    ({"queue": "a\x00"}, "queue"),
    ({"correlation_id": "\ud800"}, "correlation_id"),
    ({"key": 7}, "key"),
    ({"tenant": "\x00"}, "tenant"),
    ({"due_from": NAIVE}, "due_from"),
    ({"due_before": "now"}, "due_before"),
]


@pytest.mark.parametrize(("given", "message"), FIND, ids=repr)
async def test_find_refuses_a_filter_that_makes_no_sense(
    app: Duetime, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        await app.find(**given)


ID_VERBS: list[Callable[..., Awaitable[object]]] = [
    Duetime.get,
    Duetime.runs,
    Duetime.cancel,
    Duetime.retry,
    Duetime.wait,
    lambda app, id_: app.reschedule(id_, delay=1),
]


@pytest.mark.parametrize("bad", ["nonsense", 7, None, b"0" * 16, ["x"], "\x00", Note()], ids=repr)
async def test_what_is_no_id_is_refused_by_every_verb(memory_app: Duetime, bad: object) -> None:
    for verb in ID_VERBS:
        with pytest.raises(InvalidArgument, match="UUID"):
            await verb(memory_app, bad)


@pytest.mark.parametrize("bad", BAD_NAMES, ids=repr)
async def test_every_changing_verb_checks_who_acts(app: Duetime, bad: Any) -> None:
    action = await app.schedule(Note(), delay=60)
    for call in (
        lambda: app.cancel(action.id, by=bad),
        lambda: app.reschedule(action.id, delay=1, by=bad),
        lambda: app.retry(action.id, by=bad),
        lambda: app.cancel_many(kind="note", by=bad),
        lambda: app.retry_many(kind="note", by=bad),
    ):
        with pytest.raises(InvalidArgument, match="by="):
            await call()
    assert list(await app.find()) == [await app.get(action.id)]
    assert (await app.get(action.id)).modified_at is None


async def test_a_known_id_of_another_form_is_understood(app: Duetime) -> None:
    action = await app.schedule(Note())
    for form in (str(action.id), action.id.hex, f"{{{action.id}}}", action.id.urn):
        assert (await app.get(UUID(form))).id == action.id
        assert (await app.get(form)).id == action.id  # type: ignore[arg-type]
