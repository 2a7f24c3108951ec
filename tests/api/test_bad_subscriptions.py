"""Bad input to the verbs of notifications: a typed error that names the argument, and nothing is
written."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from duetime import ANY, Duetime
from duetime.errors import InvalidArgument, SubscriptionNotFound
from duetime.notifications import Email, Notifications, Webhook

NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001 - what is tested
BAD_TEXTS: list[Any] = ["", " ", "a\x00b", "\ud800", 7, b"bytes"]


@pytest.fixture
def app() -> Duetime:
    email = Email("smtp://127.0.0.1:1", sender="ops@example.org")
    return Duetime("memory://", notifications=Notifications(email=email, webhook=Webhook()))


TERMS: list[tuple[str, Any]] = [
    *(("topics", bad) for bad in ("", "all", [], ["*", "overdue"], ["overdue", 7], 7, None, b"*")),
    *((name, ["ok", bad]) for name in ("jobs", "kinds", "queues") for bad in BAD_TEXTS),
    *((name, bad) for name in ("jobs", "kinds", "queues") for bad in (7, ["x"] * 21, "x" * 2000)),
    *(("language", bad) for bad in ("", "xx", "EN", 7, None, ["en"])),
    *(("zone", bad) for bad in ("", "Mars", "../UTC", "a\x00b", "UTC+1", 7, None)),
    *(("minimum", bad) for bad in ("", "loud", 7, None, ["info"])),
    *(("quiet", bad) for bad in ("", "22-7", "22:00-22:00", "24:00-07:00", "22:00-07:00\n", 7)),
    *(("tenant", bad) for bad in ("a\x00b", 7)),
    *(("by", bad) for bad in BAD_TEXTS),
    *(("note", bad) for bad in ("a\x00b", 7)),
]


@pytest.mark.parametrize(("argument", "value"), TERMS, ids=repr)
async def test_what_a_subscription_cannot_ask_for(app: Duetime, argument: str, value: Any) -> None:
    given: dict[str, Any] = {"topics": "*", "in_app": True} | {argument: value}
    with pytest.raises(InvalidArgument, match=f"^{argument}="):
        await app.notifications.add(**given)
    assert await app.notifications.subscriptions(tenant=ANY) == []


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("channel", {}),
        ("channel", {"in_app": True, "email": "ann@example.org"}),
        ("channel", {"email": "ann@example.org", "webhook": "https://example.org"}),
        ("to", {"in_app": True, "to": "#ops"}),
        *(
            ("email", {"email": bad})
            for bad in (*BAD_TEXTS, "ann", "ann@a\nBcc: eve@b", "a@b, c@d")
        ),
        ("email", {"email": "Ann <ann@example.org>"}),
        *(
            ("webhook", {"webhook": bad})
            for bad in (*BAD_TEXTS, "example.org", "ftp://a/", "https://")
        ),
        ("webhook", {"webhook": "http://example.org/"}),
        ("webhook", {"webhook": "https://ann:secret@example.org/"}),
        ("webhook", {"webhook": "https://example.org/\r\nX: y"}),
        *(("via", {"via": bad}) for bad in (*BAD_TEXTS, "pigeon")),
    ],
    ids=repr,
)
async def test_where_a_subscription_cannot_be_sent(
    app: Duetime, argument: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument, match=f"^{argument}="):
        await app.notifications.add("*", **given)
    assert await app.notifications.subscriptions(tenant=ANY) == []


CHANGES = [
    (argument, value)
    for argument, value in TERMS
    if argument != "tenant" and (value is not None or argument == "quiet")
]


@pytest.mark.parametrize(("argument", "value"), CHANGES, ids=repr)
async def test_what_a_subscription_cannot_become(app: Duetime, argument: str, value: Any) -> None:
    made = await app.notifications.add("*", in_app=True)
    with pytest.raises(InvalidArgument, match=f"^{argument}="):
        await app.notifications.change(made.id, **{argument: value})
    [stored] = await app.notifications.subscriptions()
    assert stored.modified_at == made.modified_at


async def test_a_tenant_hears_of_its_jobs_and_actions_only(app: Duetime) -> None:
    refused: list[Any] = ["overdue", ["job-failing", "no-worker"]]
    for topics in refused:
        with pytest.raises(InvalidArgument, match=r"job-\* and action-\* topics only"):
            await app.notifications.add(topics, in_app=True, tenant="acme")
    made = await app.notifications.add("*", in_app=True, tenant="acme")
    assert {topic.partition("-")[0] for topic in made.topics} == {"job", "action"}
    with pytest.raises(InvalidArgument, match=r"job-\* and action-\* topics only"):
        await app.notifications.change(made.id, topics=["overdue"], tenant="acme")
    changed = await app.notifications.change(made.id, topics="*", tenant="acme")
    assert changed.topics == made.topics


@pytest.mark.parametrize("bad", ["no id", 7, None, b"x"])
async def test_ids_that_are_none(app: Duetime, bad: Any) -> None:
    notifications = app.notifications
    for call in (notifications.get, notifications.remove, notifications.test, notifications.change):
        with pytest.raises(InvalidArgument, match=r"^id="):
            await call(bad)
    with pytest.raises(InvalidArgument, match=r"^ids="):
        await notifications.read([bad])


async def test_ids_of_nothing(app: Duetime) -> None:
    notifications, never = app.notifications, uuid4()
    until = app.clock.now() + timedelta(hours=1)
    for awaitable in (
        notifications.get(never),
        notifications.change(never, minimum="critical"),
        notifications.mute(never, until=until),
        notifications.remove(never),
        notifications.test(never),
    ):
        with pytest.raises(SubscriptionNotFound, match=str(never)):
            await awaitable
    assert await notifications.read([never]) == 0


@pytest.mark.parametrize("until", [NAIVE, "soon", 7, datetime(2001, 1, 1, tzinfo=UTC)])
async def test_instants_that_mute_nothing(app: Duetime, until: Any) -> None:
    made = await app.notifications.add("*", in_app=True)
    with pytest.raises(InvalidArgument, match=r"^until="):
        await app.notifications.mute(made.id, until=until)
    assert (await app.notifications.get(made.id)).state == "active"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("reader", bad) for bad in BAD_TEXTS),
        *(("limit", bad) for bad in (0, 201, "5")),
        *(("cursor", bad) for bad in ("x", "", "\ud800")),
    ],
    ids=repr,
)
async def test_what_cannot_be_listed(app: Duetime, argument: str, value: Any) -> None:
    with pytest.raises(InvalidArgument, match=f"^{argument}="):
        await app.notifications.list(**{argument: value})


@pytest.mark.parametrize("most", [0, -1, 1001, "5", None])
async def test_how_many_cannot_be_counted(app: Duetime, most: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^most="):
        await app.notifications.unread(most=most)


@pytest.mark.parametrize("ids", [7, [uuid4()] * 201])
async def test_what_cannot_be_marked(app: Duetime, ids: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^ids="):
        await app.notifications.read(ids)
