"""What `app.on` accepts as an event, and its filters: a subscriber gets only what it wants."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import duetime.worker.reporter
from api.apps import Note, Other, case_id
from duetime import (
    ANY,
    ActionCancelled,
    ActionFailed,
    ActionSucceeded,
    Duetime,
    JobFailing,
    JobPaused,
    JobRecovered,
    Retry,
    State,
    TransitionApplied,
    errors,
)
from duetime.errors import ConfigError, InvalidArgument
from duetime.events import outbox as outbox_module
from duetime.events import types
from duetime.events.types import EVENT_TYPES, ActionEvent, Event, JobEvent


class OwnEvent(Event):
    """An event that duetime never emits."""


def note_event(event: Any) -> None: ...


def as_job_event(payload: object) -> JobEvent:
    assert isinstance(payload, JobEvent)
    return payload


NOT_EVENTS: list[tuple[object, str]] = [
    ("ActionFailed", "write the class, without quotes: app.on(ActionFailed, ...)"),
    ("ActionFaild", "did you mean 'ActionFailed'?"),
    (errors.SweepFailed, "SweepFailed"),
    (JobRecovered(tenant=None, by="ann", job="bills-close"), "give its class, JobRecovered"),
    (None, "None is not an event"),
    ((ActionFailed, ActionSucceeded), "call app.on once for each"),
    (Event, "call app.on once for each"),
    (ActionEvent, "ActionSucceeded, ActionFailed, ActionCancelled, ActionRescheduled"),
    (JobEvent, "JobPaused, JobResumed, JobFailing, JobRecovered"),
    (OwnEvent, "is not an event"),
]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize(("event", "said"), NOT_EVENTS, ids=case_id)
def test_what_is_no_event_is_refused_with_its_name(
    memory_app: Any, event: Any, said: str, durable: bool
) -> None:
    with pytest.raises(ConfigError) as raised:
        memory_app.on(event, note_event, durable=durable)
    assert said in str(raised.value)
    assert memory_app.runtime.handlers.kinds() == []


@pytest.mark.parametrize("subscriber", [None, "note", 5])
@pytest.mark.parametrize("durable", [False, True])
def test_what_cannot_be_called_is_refused(memory_app: Any, subscriber: Any, durable: bool) -> None:
    with pytest.raises(ConfigError, match="is not a function"):
        memory_app.on(ActionFailed, subscriber, durable=durable, name="x" if durable else None)


def test_every_event_of_the_package_is_accepted(memory_app: Duetime) -> None:
    found = [value for value in vars(types).values() if isinstance(value, type)]
    events = {type_ for type_ in found if issubclass(type_, Event)}
    assert {*EVENT_TYPES} == events - {Event, ActionEvent, JobEvent}
    for event in EVENT_TYPES:
        memory_app.on(event, note_event)
        memory_app.on(event, note_event, durable=True)


EVERY_PAIR = {(kind, tenant) for kind in ("note", "other") for tenant in ("acme", "umbrella", None)}
# What subscribers of these names are to get.
WANTED: dict[str, set[tuple[str, str | None]]] = {
    "all": EVERY_PAIR,
    "any": EVERY_PAIR,
    "note": {pair for pair in EVERY_PAIR if pair[0] == "note"},
    "both": EVERY_PAIR,
    "acme": {pair for pair in EVERY_PAIR if pair[1] == "acme"},
    "untenanted": {pair for pair in EVERY_PAIR if pair[1] is None},
    "two-tenants": {pair for pair in EVERY_PAIR if pair[1] != "umbrella"},
    "acme-note": {("note", "acme")},
}


async def test_subscribers_get_the_kinds_and_tenants_that_they_name(app: Duetime) -> None:
    received: dict[str, list[tuple[str, str | None]]] = {}

    def subscribe(name: str, **filters: Any) -> None:
        log = received.setdefault(name, [])
        kept = received.setdefault(f"durable {name}", [])
        app.on(ActionSucceeded, lambda e: log.append((e.kind, e.tenant)), **filters)
        app.on(
            ActionSucceeded,
            lambda e: kept.append((e.kind, e.tenant)),
            durable=True,
            name=name,
            **filters,
        )

    subscribe("all")
    subscribe("any", tenant=ANY)
    subscribe("note", kind="note")
    subscribe("both", kind=["note", "other"])
    subscribe("acme", tenant="acme")
    subscribe("untenanted", tenant=None)
    subscribe("two-tenants", tenant={"acme", None})
    subscribe("acme-note", kind="note", tenant="acme")

    app.handler()(_run_note)
    app.handler()(_run_other)
    for tenant in ("acme", "umbrella", None):
        await app.schedule(Note(), tenant=tenant)
        await app.schedule(Other(), tenant=tenant)
    await app.testing.advance(60)
    for name, pairs in WANTED.items():
        # In the process, the ends of durable subscribers are events, too.
        emitted = [pair for pair in received[name] if pair in EVERY_PAIR]
        for log in (emitted, received[f"durable {name}"]):
            assert ({*log}, len(log)) == (pairs, len(pairs)), name
    # Nothing is stored for subscribers who do not want it.
    for name, pairs in WANTED.items():
        stored = await app.find(kind=f"on-action-succeeded-{name}", tenant=ANY)
        assert len([*stored]) == len(pairs), name


def _run_note(payload: Note) -> None: ...


def _run_other(payload: Other) -> None: ...


async def test_a_kind_also_means_its_older_names(app: Duetime) -> None:
    received: list[str] = []
    app.on(ActionSucceeded, lambda event: received.append(event.kind), kind="newer")
    before = await app.schedule(Note())
    later = Duetime(store=app.store, clock=app.clock)
    later.on(ActionSucceeded, lambda event: received.append(event.kind), kind="newer")
    later.on(ActionSucceeded, note_event, kind="newer", durable=True)
    later.handler(kind="newer", aliases=["note"])(_run_note)
    await later.testing.drain()
    assert received == ["note"]
    [kept] = await later.find(kind="on-action-succeeded-note-event")
    assert isinstance(kept.payload, ActionSucceeded)
    assert kept.payload.action_id == before.id


async def test_events_of_jobs_are_filtered_by_name(app: Duetime) -> None:
    received: list[str] = []
    app.on(JobPaused, lambda event: received.append(event.job), job="bills-close")
    app.on(JobPaused, note_event, job=("bills-close", "bills-send"), durable=True)
    for name in ("bills-close", "bills-send", "bills-print"):
        await app.jobs.put(name, "0 2 * * *", payload=Note())
        await app.jobs.pause(name)
    assert received == ["bills-close"]
    stored = await app.find(kind="on-job-paused-note-event")
    assert {as_job_event(action.payload).job for action in stored} == {"bills-close", "bills-send"}


async def test_a_failing_job_reaches_only_its_subscribers(app: Duetime) -> None:
    received: list[str] = []
    app.on(JobFailing, lambda event: received.append(event.job), job="bills-close")
    app.on(JobFailing, note_event, job="bills-close", durable=True)

    for name in ("bills-close", "bills-send"):

        @app.job("0 * * * *", name=name, retry=Retry.none(), alert_after=1)
        def fail() -> None:
            raise RuntimeError("no")

    await app.testing.advance(hours=2)
    assert received == ["bills-close"]
    [stored] = await app.find(kind="on-job-failing-note-event")
    assert as_job_event(stored.payload).job == "bills-close"


@pytest.mark.parametrize(
    ("event", "filters", "said"),
    [
        (ActionFailed, {"job": "bills-close"}, "ActionFailed has no job: filter it by kind="),
        (JobPaused, {"kind": "note"}, "JobPaused has no kind: filter it by job="),
        (TransitionApplied, {"kind": "note"}, "TransitionApplied has no kind: filter it by tenant"),
        (TransitionApplied, {"job": "a-b"}, "TransitionApplied has no job"),
    ],
)
@pytest.mark.parametrize("durable", [False, True])
def test_a_filter_by_what_the_event_has_not_is_refused(
    memory_app: Any, event: Any, filters: dict[str, Any], said: str, durable: bool
) -> None:
    with pytest.raises(ConfigError) as raised:
        memory_app.on(event, note_event, durable=durable, **filters)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"kind": ""}, "must not be empty"),
        ({"kind": 5}, "give a string"),
        ({"kind": []}, "name at least one"),
        ({"kind": ["note", None]}, "give a string"),
        ({"kind": "x" * 201}, "200 are allowed"),
        ({"kind": Note}, "give a string"),
        ({"tenant": ""}, "must not be empty"),
        ({"tenant": ["acme", 5]}, "give a string"),
        ({"tenant": [ANY]}, "give a string"),
        ({"tenant": frozenset()}, "name at least one"),
    ],
    ids=case_id,
)
@pytest.mark.parametrize("durable", [False, True])
async def test_a_wrong_filter_is_refused_and_nothing_is_subscribed(
    app: Any, filters: dict[str, Any], said: str, durable: bool
) -> None:
    received: list[Any] = []
    with pytest.raises(InvalidArgument, match=said):
        app.on(
            ActionCancelled,
            received.append,
            durable=durable,
            name="n" if durable else None,
            **filters,
        )
    await app.cancel((await app.schedule(Note(), delay=60)).id)
    await app.testing.drain()
    assert received == []
    assert not (await app.find(kind="on-action-cancelled-n")).items


def test_a_job_name_that_cannot_be_one_is_refused(memory_app: Any) -> None:
    with pytest.raises(InvalidArgument, match="job="):
        memory_app.on(JobPaused, note_event, job=5)


async def test_no_event_is_built_that_nobody_wants(
    app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both for subscribers of this process and for the outbox."""
    built: list[str] = []
    build = types.finish_event

    def counted(subject: Any, completion: Any) -> Event:
        built.append(subject["kind"])
        return build(subject, completion)

    monkeypatch.setattr(outbox_module, "finish_event", counted)
    monkeypatch.setattr(duetime.worker.reporter, "finish_event", counted)
    app.on(ActionSucceeded, note_event, kind="other")
    app.on(ActionSucceeded, note_event, kind="other", durable=True)
    app.handler()(_run_note)
    app.handler()(_run_other)
    await app.schedule(Note())
    await app.testing.drain()
    assert built == []
    await app.schedule(Other())
    await app.testing.drain()
    assert {*built} == {"other"}


async def test_a_durable_subscriber_may_be_transactional(tmp_path: Path) -> None:
    """Its effect and its end are one: the failed attempt leaves nothing."""
    tries = [0]

    def keep(event: ActionSucceeded, db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE IF NOT EXISTS kept (id TEXT)")
        db.execute("INSERT INTO kept VALUES (?)", (str(event.action_id),))
        tries[0] += 1
        if tries[0] == 1:
            raise RuntimeError("the first try fails")

    path = tmp_path / "shop.db"
    async with Duetime(f"sqlite:///{path}") as app:
        app.handler(kind="note")(_run_note)
        app.on(ActionSucceeded, keep, durable=True, transactional=True, retry=Retry(delays=[0]))
        done = await app.schedule(Note())
        async with app.worker():
            await app.wait(done.id, timeout=20)
            [kept] = await app.find(kind="on-action-succeeded-keep")
            assert (await app.wait(kept.id, timeout=20)).state is State.succeeded
    with sqlite3.connect(path) as db:
        assert (tries, db.execute("SELECT id FROM kept").fetchall()) == ([2], [(str(done.id),)])


def test_transactional_is_for_durable_subscribers(memory_app: Any) -> None:
    with pytest.raises(ConfigError, match="transactional=True is for durable subscribers only"):
        memory_app.on(ActionSucceeded, note_event, transactional=True)


def test_a_transactional_subscriber_asks_for_a_transaction(tmp_path: Path) -> None:
    app = Duetime(f"sqlite:///{tmp_path / 'shop.db'}")
    with pytest.raises(ConfigError, match="asks for no transaction"):
        app.on(ActionSucceeded, note_event, durable=True, transactional=True)
