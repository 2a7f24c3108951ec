"""Calls of every verb that HTTP carries, to be made where the store is and over HTTP."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID, uuid4

from duetime import ANY, Duetime, Every, Misfire, Retry
from duetime.errors import DuetimeError
from duetime.model.audit import AUDITED_VERBS
from duetime.notifications import Email, Message, Notifications, Webhook
from duetime.testing import FakeClock


@dataclass(frozen=True)
class Parcel:
    """The payload of the scenario; a negative order fails."""

    order: int = 1
    text: str = ""


@dataclass(frozen=True)
class Call:
    """A call of a verb; `drain` in the place of a verb lets the server's app run what is due."""

    verb: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None


@dataclass(frozen=True)
class Raised:
    """What a call raised, as far as it must be the same everywhere."""

    error: type[DuetimeError]
    text: str
    attributes: dict[str, Any]


Scenario = Generator[Call, Any, None]


def call(verb: str, /, *args: Any, **kwargs: Any) -> Call:
    return Call(verb, args, kwargs)


class Pager:
    """A transport of an operator's."""

    async def send(self, message: Message) -> None: ...


def make_app(clock: FakeClock) -> Duetime:
    """The app in memory whose verbs are called."""
    notifications = Notifications(
        email=Email("smtp://127.0.0.1:1", sender="ops@example.org"),
        webhook=Webhook(),
        transports={"pager": Pager()},
    )
    app = Duetime("memory://", clock=clock, notifications=notifications)
    declare(app)
    return app


def declare(app: Duetime) -> None:
    @app.handler(kind="parcel", retry=Retry.none())
    async def deliver(parcel: Parcel) -> dict[str, int]:
        if parcel.order < 0:
            raise ValueError(f"no order {parcel.order}")
        return {"order": parcel.order}


def scenario(now: datetime) -> Scenario:
    yield from of_actions(now)
    yield from of_changes(now)
    yield from of_many(now)
    yield from of_jobs(now)
    yield from of_notifications(now)
    yield from of_operators(now)


def of_actions(now: datetime) -> Scenario:
    first = yield call("schedule", Parcel(1), at=now + timedelta(hours=1), correlation_id="c")
    yield call("get", first.id)
    yield call("get", str(first.id))
    yield call("get", uuid4())
    yield call("get", "no id")
    yield call("get")
    held = yield call("schedule", Parcel(2), delay=timedelta(minutes=5), key="k", priority="high")
    yield call("schedule", Parcel(3), key="k")
    yield call("schedule", Parcel(3), key="k", if_exists="raise")
    yield call("schedule", Parcel(3), key="k", if_exists="replace", delay=60)
    yield call("get", kind="parcel", key="k")
    yield call("get", kind="parcel", key="other")
    yield call("why", kind="parcel", key="k")
    yield call("why", first)
    yield call("why", first.id)
    yield call("schedule", Parcel(4), after=held, on="finished", note="after the other")
    yield call("schedule", Parcel(4), after=uuid4())
    yield call("schedule", Parcel(4), after=held, on="sometimes")
    yield call("schedule", Parcel(4), at=datetime(2030, 1, 1))  # noqa: DTZ001
    yield call("schedule", Parcel(4), delay=-1)
    yield call("schedule", Parcel(4), delay=1, at=now)
    yield call("schedule", Parcel("many"))  # type: ignore[arg-type]
    yield call("schedule", object())
    yield call("schedule", Parcel(5), delay=60, expires=now + timedelta(seconds=90), queue="q")
    yield call("schedule", Parcel(5), queue="")
    yield call("schedule_many", [(Parcel(number), now + timedelta(days=1)) for number in (6, 7)])
    yield call("schedule_many", [])
    yield call("schedule_many", [Parcel(6)])


def of_changes(now: datetime) -> Scenario:
    action = yield call("schedule", Parcel(10), delay=60, key="moved")
    yield call("reschedule", action.id, delay=120, note="later")
    yield call("reschedule", kind="parcel", key="moved", at=now + timedelta(hours=2))
    yield call("reschedule", action.id)
    yield call("retry", action.id)
    yield call("repeat", action.id)
    yield call("cancel", kind="parcel", key="moved", note="by its key")
    yield call("cancel", kind="parcel", key="moved")
    yield call("cancel", action.id)
    yield call("reschedule", action.id, delay=1)
    yield call("get", kind="parcel", key="moved")
    yield call("repeat", action.id, delay=3600, note="again")
    yield call("repeat", action.id, payload=Parcel(11), at=now + timedelta(days=2))
    failing = yield call("schedule", Parcel(-1), key="failing")
    running = yield call("schedule", Parcel(12))
    yield Call("drain")
    yield call("wait", running, timeout=20)
    yield call("wait", str(failing.id))
    yield call("wait", action, timeout=0)
    pending = yield call("schedule", Parcel(13), delay=60)
    yield call("wait", pending.id, timeout="soon")
    yield call("get", failing.id)
    yield call("runs", failing.id)
    yield call("runs", running.id, limit=1)
    yield call("runs", uuid4())
    yield call("runs", failing.id, limit=0)
    yield call("runs", failing.id, before=uuid4())
    yield call("groups")
    yield call("retry", kind="parcel", key="failing", note="once more")
    yield Call("drain")
    yield call("retry", failing.id)
    yield Call("drain")
    yield call("runs", failing.id)


def of_many(now: datetime) -> Scenario:
    yield call("find")
    page = yield call("find", limit=2, sort="created_at")
    yield call("find", limit=2, sort="created_at", cursor=page.next_cursor)
    yield call("find", limit=2, sort="-created_at", cursor=page.next_cursor)
    yield call("find", cursor="no cursor")
    yield call("find", state=["scheduled", "failed"], kind="parcel", due_before=now)
    yield call("find", state="finished")
    yield call("find", priority="high", waiting=False, correlation_id=None)
    yield call("find", colour="red")
    yield call("find", limit=0)
    yield call("groups", "state")
    yield call("groups", "kind", state=["scheduled"])
    yield call("groups", "colour")
    yield call("stats")
    yield call("bulk", "cancel", filter={"queue": "q"}, dry_run=True)
    yield call("bulk", "cancel", filter={"queue": "q", "state": "scheduled"}, note="no more")
    yield call("bulk", "shift", filter={"kind": "parcel"}, seconds=60)
    yield call("bulk", "reschedule", filter={"key": "k"}, at=now + timedelta(days=3))
    yield call("bulk", "retry", ids=[uuid4()])
    yield call("bulk", "cancel")
    yield call("bulk", "cancel", filter={})
    yield call("bulk", "cancel", filter={"colour": "red"})
    yield call("bulk", "explode", filter={"kind": "parcel"})
    yield call("bulk", "shift", filter={"kind": "parcel"})
    yield call("bulk", "cancel", cursor="no cursor")


def of_jobs(now: datetime) -> Scenario:
    name, daily = "shop-daily", "30 2 * * *"
    made = yield call("jobs.put", name, daily, payload=Parcel(20), tz="Europe/Paris", note="new")
    yield call("jobs.get", name)
    yield call("jobs.get", "shop-none")
    yield call("jobs.get", "")
    yield call("jobs.put", name, Every(hours=1), payload=Parcel(21), version=made.version)
    yield call("jobs.put", name, Every(hours=2), payload=Parcel(21), version=made.version)
    yield call("jobs.put", name, Every(hours=2), payload=Parcel(21), version=0)
    yield call("jobs.put", "shop-none", daily, payload=Parcel(22), version=3)
    yield call("jobs.put", name, [now + timedelta(days=1), "0 3 * * *"], payload=Parcel(22))
    yield call("jobs.put", name, "61 * * * *", payload=Parcel(22))
    yield call("jobs.put", "Not A Name", daily, payload=Parcel(22))
    limits = {"retry": Retry(delays=[1, 2]), "timeout": timedelta(minutes=1), "jitter": 5}
    late = {"misfire": Misfire.all(limit=3), "misfire_after": 30, "overlap": "queue"}
    yield call("jobs.put", name, "0 * * * *", payload=Parcel(23), **limits, **late)
    yield call("jobs.list", q="shop", sort="-name")
    yield call("jobs.list", limit=1)
    yield call("jobs.list", sort="size")
    yield call("jobs.preview", name, 3)
    yield call("jobs.preview", name, 0)
    yield call("jobs.trigger", name, note="now")
    yield Call("drain")
    yield call("jobs.runs", name)
    yield call("jobs.runs", name, outcome="succeeded", limit=1)
    yield call("jobs.runs", name, before=now - timedelta(days=1))
    yield call("jobs.runs", name, outcome="exploded")
    hours = (now - timedelta(hours=3), now)
    yield call("jobs.backfill", name, *hours)
    yield call("jobs.backfill", name, *hours, dry_run=False, note="made up for")
    yield call("jobs.backfill", name, *reversed(hours))
    yield call("jobs.pause", name, note="flood", until=now + timedelta(days=9))
    yield call("jobs.pause", name, until=now - timedelta(days=9))
    yield call("jobs.resume", name)
    yield call("jobs.bulk", "pause", [name, "shop-none"], note="all")
    yield call("jobs.bulk", "stop", [name])
    yield call("jobs.remove", name, note="over")
    yield call("jobs.remove", name)
    yield call("jobs.list", removed=True)
    yield call("jobs.restore", name)
    yield call("jobs.trigger", "shop-none")


def of_operators(now: datetime) -> Scenario:
    yield call("queues.list")
    yield call("queues.pause", "a/b..", note="flood", until=now + timedelta(days=1))
    yield call("queues.pause", "..")
    yield call("queues.list")
    yield call("queues.resume", "a/b..")
    yield call("queues.resume", "a/b..")
    yield call("queues.resume", "..")
    yield call("queues.pause", "mail", until=now - timedelta(days=1))
    yield call("workers.list")
    grant = yield call("grants.set", "till", "jobs.read", note="asked for")
    yield call("grants.set", "till", "jobs.read", "acme", False)
    yield call("grants.set", "till", "jobs.reed")
    yield call("grants.list")
    yield call("grants.list", role="till", tenant="acme")
    yield call("grants.remove", grant.id, note="over")
    yield call("grants.remove", grant.id)
    yield call("grants.remove", "no id")
    key = yield call("api_keys.create", "till", ["till"], "acme", now + timedelta(days=9))
    yield call("api_keys.create", "till", [])
    yield call("api_keys.create", "", ["till"])
    yield call("api_keys.list", tenant="acme")
    yield call("api_keys.revoke", key.id, note="lost")
    yield call("api_keys.revoke", key.id)
    for verb in AUDITED_VERBS:
        # What Python schedules, its own record tells.
        if verb != "schedule":
            yield call("audit.find", tenant=ANY, limit=200, verb=verb)
    page = yield call("audit.find", tenant=ANY, limit=3)
    yield call("audit.find", tenant=ANY, limit=3, cursor=page.next_cursor)
    yield call("audit.find", tenant=ANY, verb="cancel", since=now - timedelta(days=1))
    yield call("audit.find", tenant=ANY, verb="exploded")
    yield call("audit.find", tenant=ANY, subject="shop-daily", limit=2)


def of_notifications(now: datetime) -> Scenario:
    made = yield call("notifications.add", "job-failing", in_app=True, note="asked for")
    yield call(
        *("notifications.add", {"job-failing", "action-lost"}),
        webhook="https://example.org/hook?token=x",
        tenant=ANY,
        language="fr",
        jobs=["shop-*"],
        kinds="parcel",
        queues=("q", "r"),
        zone="Europe/Paris",
        quiet="22:00-07:00",
        minimum="critical",
        show_errors=True,
    )
    mail = yield call("notifications.add", "*", email="ann@example.org", tenant="acme")
    yield call("notifications.add", "overdue", email="ann@example.org", tenant="acme")
    yield call("notifications.add", "*", via="pager", to="team 7", tenant=None)
    yield call("notifications.add", "*")
    yield call("notifications.add", "*", in_app=True, email="ann@example.org")
    yield call("notifications.add", "*", email="ann")
    yield call("notifications.add", "*", to="team 7", in_app=True)
    yield call("notifications.add", "*", via="pigeon")
    yield call("notifications.add", "*", webhook="http://example.org/")
    yield call("notifications.add", "job-fialing", in_app=True)
    yield call("notifications.add", [], in_app=True)
    yield call("notifications.add", "*", in_app=True, zone="Mars/Olympus")
    yield call("notifications.add", "*", in_app=True, language="xx")
    yield call("notifications.add", "*", in_app=True, minimum="loud")
    yield call("notifications.add", "*", in_app=True, quiet="late")
    yield call("notifications.add", "*", in_app=True, jobs=["x"] * 21)
    yield call("notifications.subscriptions", tenant=ANY)
    yield call("notifications.subscriptions", tenant=None)
    yield call("notifications.subscriptions", tenant="acme")
    yield call("notifications.get", made.id)
    yield call("notifications.get", str(made.id), tenant="acme")
    yield call("notifications.get", "no id")
    yield call("notifications.change", made.id, quiet="21:00-06:00", topics=["*"], note="more")
    yield call("notifications.change", made.id, quiet=None, kinds=["parcel"], show_errors=True)
    yield call("notifications.change", made.id, topics="job-fialing")
    yield call("notifications.change", made.id, minimum="critical")
    yield call("notifications.change", made.id)
    yield call("notifications.change", uuid4(), minimum="critical")
    yield call("notifications.mute", made.id, until=now + timedelta(days=1), note="flood")
    yield call("notifications.mute", made.id, until=None)
    yield call("notifications.mute", made.id, until=now - timedelta(days=1))
    sent = yield call("notifications.test", made.id, note="does it work?")
    yield call("notifications.test", mail.id, tenant="acme")
    yield call("notifications.test", uuid4())
    yield call("notifications.unread")
    yield call("notifications.unread", most=0)
    page = yield call("notifications.list", limit=1)
    yield call("notifications.list", limit=1, cursor=page.next_cursor or "none")
    yield call("notifications.list", tenant="acme")
    yield call("notifications.read", [sent.id, str(uuid4())])
    yield call("notifications.read", ["no id"])
    yield call("notifications.read")
    yield call("notifications.list", unread=True)
    yield call("notifications.list", limit=0)
    yield call("notifications.remove", made.id, note="over")
    yield call("notifications.remove", made.id)
    yield call("notifications.remove", mail.id, tenant="acme")


# -- comparing ------------------------------------------------------------------------------------

# What is not the same where the store is and over HTTP, or in two runs.
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DIFFERENT = {"source": "a surface", "worker": "a worker"}
# From where an act came: from nowhere, or from this machine.
ADDRESSES = (None, "127.0.0.1")


class Plain:
    """Makes results comparable: ids are numbered as they come, that of the actor first."""

    def __init__(self, actor: UUID) -> None:
        self._ids = {str(actor): "the actor"}

    def of(self, value: Any) -> Any:
        match value:
            case UUID():
                return self._ids.setdefault(str(value), f"id {len(self._ids)}")
            case Enum():
                return (type(value), value.value)
            case dict():
                # Of snapshots; some stores keep the state itself there.
                texts = {n: str(v) if isinstance(v, Enum) else v for n, v in value.items()}
                return {name: self._named(name, item) for name, item in texts.items()}
            case list() | tuple():
                return [self.of(item) for item in value]
            case str():
                return self._text(value)
        if is_dataclass(value) and not isinstance(value, type):
            found = {field.name: getattr(value, field.name) for field in fields(value)}
            return type(value), {name: self._named(name, item) for name, item in found.items()}
        return value

    def _named(self, name: str, value: Any) -> Any:
        if name in DIFFERENT:
            return DIFFERENT[name]
        if name == "address" and value in ADDRESSES:
            return "an address"
        if name in ("next_cursor", "secret") or (name == "key" and str(value).startswith("dt_")):
            return value is not None
        return self.of(value)

    def _text(self, text: str) -> str:
        """Number the ids in a text, too, each where it first came."""
        for found in ID.findall(text):
            text = text.replace(found, str(self.of(UUID(found))))
        return text


def raised(error: DuetimeError) -> Raised:
    """Cursors have hashes of ids, so what is wrong with one is not compared."""
    text, attributes = str(error), dict(vars(error))
    if attributes.get("argument") == "cursor":
        text, attributes = "a cursor", {"argument": "cursor"}
    return Raised(type(error), text, attributes)
