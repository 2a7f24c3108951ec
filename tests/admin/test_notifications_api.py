"""The routes of notifications and of subscriptions to them."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from admin.cases import Broken, declare_broken
from admin.client import ADMINISTRATOR, OF_OTHER, OF_TENANT, client_of, make_app, problem
from admin.test_openapi import check, current
from duetime import ANY, Duetime, Identity
from duetime.notifications import Email, Message, Notifications, Webhook
from duetime.testing import FakeClock
from polling import until

USER = "x-user"
# Without a tenant, and no administrators.
CLERK, READER = Identity("clerk", {"clerks"}), Identity("reader", {"clerks", "readers"})
OF_ACME = Identity("ann", {"clerks"}, tenant="acme")
SENDERS = {
    identity.user: identity
    for identity in (ADMINISTRATOR, CLERK, READER, OF_ACME, OF_TENANT, OF_OTHER)
}
PATH = "/api/subscriptions"
IN_APP = {"topics": ["*"], "in_app": True}
HOOK = {"topics": ["action-failed"], "webhook": "https://hooks.example.org/x?token=t"}


class Pager:
    """A transport of the operator's."""

    async def send(self, message: Message) -> None: ...


@pytest.fixture
def app(url: str, clock: FakeClock) -> Iterator[Duetime]:
    """An app on every store, with every channel."""
    notifications = Notifications(
        email=Email("smtp://127.0.0.1:1", sender="ops@example.org"),
        webhook=Webhook(),
        transports={"pager": Pager()},
    )
    app = make_app(url, clock=clock, notifications=notifications)
    declare_broken(app)
    for permission in ("subscriptions.manage", "notifications.read"):
        app.sync.grants.set("clerks", permission)
    app.sync.grants.set("readers", "payload.read")
    yield app
    app.sync.close()


@pytest.fixture
async def client(app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    asgi = app.admin(
        identify=lambda request: SENDERS.get(request.headers.get(USER, "")),
        admin_roles={"administrators"},
    )
    async with client_of(asgi) as client:
        yield client


def by(identity: Identity) -> dict[str, str]:
    return {USER: identity.user}


async def subscribe(
    client: httpx.AsyncClient, sender: Identity = ADMINISTRATOR, query: str = "", **body: Any
) -> httpx.Response:
    return await client.post(f"{PATH}{query}", json=IN_APP | body, headers=by(sender))


async def made(
    client: httpx.AsyncClient, sender: Identity = ADMINISTRATOR, query: str = "", **body: Any
) -> dict[str, Any]:
    response = await subscribe(client, sender, query, **body)
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


async def listed(client: httpx.AsyncClient, sender: Identity, path: str) -> list[Any]:
    response = await client.get(path, headers=by(sender))
    assert response.status_code == 200, response.text
    items: list[Any] = response.json()["items"]
    return items


# -- one subscription, from its beginning to its end ----------------------------------------------


async def test_a_subscription_is_made_read_changed_and_removed(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    response = await subscribe(client, quiet="22:00-07:00", jobs=["shop-*"], note="asked for")
    document = response.json()
    path = response.headers["location"]
    assert path == f"{PATH}/{document['id']}"
    read = (await client.get(path)).json()
    assert read == {name: value for name, value in document.items() if name != "secret"}
    assert (read["channel"], read["state"], read["created_by"]) == ("in-app", "active", "root")
    assert await listed(client, ADMINISTRATOR, PATH) == [read]

    changed = await client.patch(path, json={"minimum": "critical", "topics": ["overdue"]})
    assert (changed.status_code, changed.json()["quiet"]) == (200, "22:00-07:00")
    assert (changed.json()["minimum"], changed.json()["topics"]) == ("critical", ["overdue"])
    loud = await client.patch(path, json={"quiet": None})
    assert (loud.json()["quiet"], loud.json()["jobs"]) == (None, ["shop-*"])

    assert (await client.delete(f"{path}?note=over")).status_code == 204
    gone = await client.get(path)
    assert (gone.status_code, problem(gone)) == (404, "subscription-not-found")
    entries = await app.audit.find(subject=document["id"], tenant=ANY)
    assert [(entry.verb, entry.by, entry.source, entry.note) for entry in entries] == [
        ("remove", "root", "api", "over"),
        ("change", "root", "api", None),
        ("change", "root", "api", None),
        ("subscribe", "root", "api", "asked for"),
    ]


async def test_the_secret_of_a_webhook_is_shown_once(client: httpx.AsyncClient) -> None:
    response = await client.post(PATH, json=HOOK)
    secret = response.json()["secret"]
    assert secret.startswith("whsec_")
    assert response.headers["cache-control"] == "no-store"
    for path in (PATH, response.headers["location"], "/api/audit"):
        shown = (await client.get(path)).text
        assert secret not in shown
        assert "token=t" not in shown


async def test_a_repeated_request_makes_one_subscription(client: httpx.AsyncClient) -> None:
    headers = {"idempotency-key": "k"}
    first = await client.post(PATH, json=HOOK, headers=headers)
    again = await client.post(PATH, json=HOOK, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["cache-control"] == "no-store"
    assert len(await listed(client, ADMINISTRATOR, PATH)) == 1
    other = await client.post(PATH, json=HOOK | {"zone": "Asia/Tokyo"}, headers=headers)
    assert (other.status_code, problem(other)) == (422, "idempotency-key-reused")


async def test_a_subscription_is_muted_and_heard_again(
    client: httpx.AsyncClient, clock: FakeClock
) -> None:
    path = f"{PATH}/{(await made(client))['id']}"
    body = {"until": "2130-01-31T09:00:00+01:00"}
    assert (await client.post(f"{path}/mute", json=body)).status_code == 204
    assert (await client.get(path)).json()["state"] == "muted"
    prefer = {"prefer": "return=representation"}
    heard = await client.post(f"{path}/mute", json={"until": None}, headers=prefer)
    assert (heard.status_code, heard.json()["state"]) == (200, "active")
    for wrong in ({}, {"until": "2001-01-01T00:00:00Z"}, {"until": "2130-01-01T00:00:00"}):
        refused = await client.post(f"{path}/mute", json=wrong)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "#/until")


async def test_an_address_is_not_confirmed_by_who_gives_it(client: httpx.AsyncClient) -> None:
    mail = await made(client, OF_ACME, in_app=False, email="stranger@example.org")
    assert (mail["state"], mail["secret"]) == ("unconfirmed", None)
    sent = await client.post(f"{PATH}/{mail['id']}/test", headers=by(OF_ACME))
    assert (sent.status_code, sent.json()["topic"]) == (202, "confirm")
    assert (await listed(client, OF_ACME, PATH))[0]["state"] == "unconfirmed"


async def test_what_code_declares_is_changed_in_code(app: Duetime) -> None:
    app.notifications.subscribe("job-failing", in_app=True)
    async with app.worker():
        asgi = app.admin(identify=lambda _: ADMINISTRATOR, admin_roles=["administrators"])
        async with client_of(asgi) as client:
            [document] = (await client.get(PATH)).json()["items"]
            path = f"{PATH}/{document['id']}"
            assert document["app"] == app.settings.name
            for method, body in (("PATCH", {"minimum": "critical"}), ("DELETE", None)):
                refused = await client.request(method, path, json=body)
                assert (refused.status_code, problem(refused)) == (422, "invalid-argument")
                assert "the code of the app" in refused.json()["detail"]
            body = {"until": "2130-01-31T09:00:00+01:00"}
            assert (await client.post(f"{path}/mute", json=body)).status_code == 204


# -- notifications --------------------------------------------------------------------------------


async def test_marks_are_those_of_the_sender(client: httpx.AsyncClient) -> None:
    path = f"{PATH}/{(await made(client, CLERK))['id']}/test"
    ids = [(await client.post(path, headers=by(CLERK))).json()["id"] for _ in range(3)]
    assert [item["id"] for item in await listed(client, CLERK, "/api/notifications")] == ids[::-1]
    marked = await client.post("/api/notifications/read", json={"ids": ids[:1]}, headers=by(CLERK))
    assert (marked.status_code, marked.content) == (204, b"")
    for sender, unread in ((CLERK, ids[:0:-1]), (READER, ids[::-1])):
        found = await listed(client, sender, "/api/notifications?unread=true")
        assert [item["id"] for item in found] == unread
        count = await client.get("/api/notifications/unread", headers=by(sender))
        assert count.json() == {"unread": len(unread)}
    prefer = by(CLERK) | {"prefer": "return=representation"}
    rest = await client.post("/api/notifications/read", headers=prefer)
    assert rest.json() == {"read": 2}
    assert {item["read"] for item in await listed(client, CLERK, "/api/notifications")} == {True}


async def test_pages_follow_each_other(client: httpx.AsyncClient) -> None:
    path = f"{PATH}/{(await made(client))['id']}/test"
    ids = [(await client.post(path)).json()["id"] for _ in range(3)]
    first = (await client.get("/api/notifications?limit=2")).json()
    rest = await client.get(f"/api/notifications?limit=2&cursor={first['next_cursor']}")
    found = [*first["items"], *rest.json()["items"]]
    assert [item["id"] for item in found] == ids[::-1]
    assert rest.json()["next_cursor"] is None
    unread = await client.get(
        f"/api/notifications?limit=2&unread=true&cursor={first['next_cursor']}"
    )
    assert (unread.status_code, problem(unread)) == (422, "invalid-argument")


async def test_errors_are_named_by_class_without_payload_read(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    await app.notifications.add("action-failed", in_app=True, show_errors=True)
    async with app.worker():
        await app.wait((await app.schedule(Broken())).id)
        await until(lambda: app.notifications.unread(reader="a test", tenant=ANY))
    document = await current()
    texts = {}
    for sender in (CLERK, READER):
        response = await client.get("/api/notifications", headers=by(sender))
        check(document, document["paths"]["/api/notifications"]["get"], response)
        [notification] = response.json()["items"]
        assert (notification["topic"], notification["severity"]) == ("action-failed", "warning")
        texts[sender.user] = notification["events"][0]["data"]["error"]
    assert "no bridge" in texts["reader"]
    assert "no bridge" not in texts["clerk"]
    assert texts["clerk"]


# -- whose ----------------------------------------------------------------------------------------


async def test_a_subscription_is_of_the_rows_of_its_sender(client: httpx.AsyncClient) -> None:
    for sender, query, tenant in (
        (OF_ACME, "", "acme"),
        (OF_TENANT, "", "acme"),
        (CLERK, "", None),
        (ADMINISTRATOR, "", None),
        (ADMINISTRATOR, "?tenant=", None),
        (ADMINISTRATOR, "?tenant=other", "other"),
    ):
        document = await made(client, sender, query)
        assert (document["tenant"], document["all_tenants"]) == (tenant, False)
        allowed = {"job", "action"} if tenant else {"job", "action", "no", "overdue"}
        assert {topic.partition("-")[0] for topic in document["topics"]} >= allowed
        assert tenant is None or {t.partition("-")[0] for t in document["topics"]} == allowed
    everything = await made(client, all_tenants=True)
    assert (everything["tenant"], everything["all_tenants"]) == (None, True)
    seen = {
        sender.user: len(await listed(client, sender, PATH))
        for sender in (OF_ACME, OF_OTHER, CLERK, ADMINISTRATOR)
    }
    assert seen == {"ann": 2, "otto": 1, "clerk": 3, "root": 7}


@pytest.mark.parametrize("sender", [CLERK, OF_ACME, OF_TENANT], ids=lambda each: each.user)
async def test_all_tenants_are_for_administrators(
    client: httpx.AsyncClient, app: Duetime, sender: Identity
) -> None:
    for query, body in (
        ("", {"all_tenants": True}),
        ("?tenant=other", {}),
        ("?tenant=acme", {}),
        ("?tenant=", {}),
        ("?tenant=acme", {"all_tenants": True}),
    ):
        refused = await subscribe(client, sender, query, **body)
        assert (refused.status_code, problem(refused)) == (403, "permission-denied")
    assert await app.notifications.subscriptions(tenant=ANY) == []


async def test_an_administrator_who_names_a_tenant_asks_for_no_other(
    client: httpx.AsyncClient,
) -> None:
    refused = await subscribe(client, query="?tenant=acme", all_tenants=True)
    assert (refused.status_code, problem(refused)) == (403, "permission-denied")


@pytest.mark.parametrize("sender", [OF_ACME, OF_TENANT], ids=lambda each: each.user)
async def test_a_tenant_does_not_hear_of_the_store(
    client: httpx.AsyncClient, sender: Identity
) -> None:
    for topics in (["no-worker"], ["job-failing", "overdue"]):
        refused = await subscribe(client, sender, topics=topics)
        assert (refused.status_code, problem(refused)) == (422, "invalid-argument")
    path = f"{PATH}/{(await made(client, sender))['id']}"
    changed = await client.patch(path, json={"topics": ["worker-lost"]}, headers=by(sender))
    assert (changed.status_code, changed.json()["errors"][0]["pointer"]) == (422, "#/topics")


async def test_a_tenant_uses_no_transport_of_the_operators(client: httpx.AsyncClient) -> None:
    """Nobody confirms where that sends to."""
    to: dict[str, Any] = {"in_app": False, "via": "pager", "to": "team 7"}
    for sender in (OF_ACME, OF_TENANT):
        refused = await subscribe(client, sender, **to)
        assert (refused.status_code, problem(refused)) == (403, "permission-denied")
    assert (await made(client, CLERK, **to))["address"] == "team 7"
    assert (await made(client, query="?tenant=acme", **to))["tenant"] == "acme"


async def test_texts_of_errors_are_sent_for_who_may_read_them(client: httpx.AsyncClient) -> None:
    refused = await subscribe(client, CLERK, show_errors=True)
    assert (refused.status_code, refused.json()["permission"]) == (403, "payload.read")
    path = f"{PATH}/{(await made(client, CLERK))['id']}"
    wished = await client.patch(path, json={"show_errors": True}, headers=by(CLERK))
    assert (wished.status_code, wished.json()["permission"]) == (403, "payload.read")
    allowed = await client.patch(path, json={"show_errors": True}, headers=by(READER))
    assert (allowed.status_code, allowed.json()["show_errors"]) == (200, True)
    hidden = await client.patch(path, json={"show_errors": False}, headers=by(CLERK))
    assert (hidden.status_code, hidden.json()["show_errors"]) == (200, False)


async def test_nobody_marks_what_others_have_to_read(
    client: httpx.AsyncClient, app: Duetime
) -> None:
    path = f"{PATH}/{(await made(client, OF_ACME))['id']}/test"
    theirs = (await client.post(path, headers=by(OF_ACME))).json()["id"]
    prefer = {"prefer": "return=representation"}
    for sender in (OF_OTHER, CLERK):
        for body in ({"ids": [theirs]}, {}):
            response = await client.post(
                "/api/notifications/read", json=body, headers=by(sender) | prefer
            )
            assert response.json() == {"read": 0}
        assert await listed(client, sender, "/api/notifications") == []
    assert await app.notifications.unread(reader=OF_OTHER.user, tenant="acme") == 1


# -- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"topics": []}, "#/topics"),
        ({"topics": ["job-fialing"]}, "#/topics"),
        ({"topics": "*"}, "#/topics"),
        ({"in_app": False}, "#/channel"),
        ({"email": "ann@example.org"}, "#/channel"),
        ({"to": "team 7"}, "#/to"),
        ({"in_app": False, "email": "ann"}, "#/email"),
        ({"in_app": False, "email": "a@example.org\r\nBcc: b@example.org"}, "#/email"),
        ({"in_app": False, "webhook": "http://169.254.169.254/"}, "#/webhook"),
        ({"in_app": False, "webhook": "https://u:p@example.org/"}, "#/webhook"),
        ({"in_app": False, "via": "pigeon"}, "#/via"),
        ({"jobs": "x"}, "#/jobs"),
        ({"kinds": [""]}, "#/kinds"),
        ({"queues": ["x"] * 21}, "#/queues"),
        ({"language": "xx"}, "#/language"),
        ({"zone": "Mars/Olympus"}, "#/zone"),
        ({"minimum": "loud"}, "#/minimum"),
        ({"quiet": "late"}, "#/quiet"),
        ({"show_errors": "yes"}, "#/show_errors"),
        ({"all_tenants": 1}, "#/all_tenants"),
    ],
    ids=str,
)
@pytest.mark.parametrize("url", ["memory://"])
async def test_bodies_that_ask_for_nothing_that_could_be(
    client: httpx.AsyncClient, app: Duetime, body: dict[str, Any], pointer: str
) -> None:
    refused = await subscribe(client, **body)
    assert (refused.status_code, problem(refused)) == (422, "invalid-argument")
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)
    assert await app.notifications.subscriptions(tenant=ANY) == []


@pytest.mark.parametrize("body", [{"ids": ["x"]}, {"ids": "all"}, {"ids": [None]}, {"id": []}])
@pytest.mark.parametrize("url", ["memory://"])
async def test_marks_of_nothing_that_could_be(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    refused = await client.post("/api/notifications/read", json=body)
    assert (refused.status_code, problem(refused)) == (422, "invalid-argument")


@pytest.mark.parametrize("url", ["memory://"])
async def test_at_most_so_many_are_marked_at_once(client: httpx.AsyncClient) -> None:
    ids = ["019a9e7c-3f10-7b52-9e55-0d5b9f3c1a2b"] * 201
    refused = await client.post("/api/notifications/read", json={"ids": ids})
    assert (refused.status_code, problem(refused)) == (422, "invalid-argument")
