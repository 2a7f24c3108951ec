"""What a request can hold that it should not, sent to every route: it is refused with a problem
document, changes no row, and tells nothing about another tenant."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest

from admin.cases import CASES, Case, Stock, Subjects, declare_broken, make_subjects
from admin.client import (
    ADMINISTRATOR,
    OF_OTHER,
    OF_TENANT,
    Parcel,
    admin_of,
    client_of,
    problem,
    sent_by,
)
from admin.permission_table import NEEDS
from duetime import ANY, Duetime
from duetime.model.access.permissions import STORE_WIDE

JSON = {"content-type": "application/json"}
# Stands in what another tenant has stored.
MARK = "another-tenants-own"

NO_JSON: list[bytes] = [
    *(b"{", b"[1,", b"nul", b"{'a': 1}", b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": 1e999}'),
    *(b'{"a": "\xff"}', b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'{"a": "\\ud800"}', b"\x00"),
    *(b'{"a":' * 101 + b"1" + b"}" * 101, b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"),
]
NO_OBJECT: list[bytes] = [b"[]", b'"text"', b"7", b"true", b'[{"kind": "parcel"}]']
NAMES = [
    *("../..", "a/b", "%", "%00", "\x00", "\n", "\r\n", "\x7f", "é", "\u202e", " ", "-1", "null"),
    *("x-health", "ready", "api", "static", "' OR 1=1 --", "*", "{id}", "{}", "x" * 3000),
]
# As they stand in a URL. Clients resolve dots themselves unless these are encoded.
WRITTEN = [
    *("%2e", "%2e%2e", "%2e%2e%2f%2e%2e", "%252e%252e", "..%2f..", "%ff", "%c0%ae", "%5c"),
    *(quote(name, safe="") for name in NAMES),
    *(quote(quote(name, safe=""), safe="") for name in NAMES),
]
VALUES = [
    *("", "\x00", "\ud800", "' OR '1'='1", "name; DROP TABLE duetime_actions", "-payload", "%s"),
    *("-1", "1e999", "99999999999999999999", "x" * 5000, "9999-12-31T23:59:59-14:00", "1900000000"),
]


# What is refused before any verb is called need not be sent to each store.
without_store = pytest.mark.parametrize("url", ["memory://"])


@pytest.fixture
async def app(app: Duetime) -> Duetime:
    """An app on each store, in which another tenant has stored things."""
    declare_broken(app)
    await make_subjects(app, "other")
    secret = Parcel(text=MARK)
    await app.schedule(secret, delay=60, tenant="other", key=MARK, correlation_id=MARK, queue=MARK)
    await app.notifications.add("*", in_app=True, jobs=MARK, tenant="other")
    return app


@pytest.fixture
async def client(app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(admin_of(app), sender=None) as client:
        yield client


def sender(case: Case) -> dict[str, str]:
    """The administrator of a tenant; for what is store-wide, one of all."""
    store_wide = NEEDS[case.method, case.path] in STORE_WIDE
    return sent_by(ADMINISTRATOR if store_wide else OF_TENANT)


async def everything(app: Duetime) -> list[Any]:
    """All that is stored, except refusals in the audit log."""
    entries = await app.audit.find(tenant=ANY, limit=200)
    return [
        list(await app.find(tenant=ANY, limit=200)),
        list(await app.jobs.list(tenant=ANY)),
        list(await app.jobs.list(tenant=ANY, removed=True)),
        await app.grants.list(tenant=ANY),
        await app.api_keys.list(tenant=ANY),
        await app.notifications.subscriptions(tenant=ANY),
        list(await app.notifications.list(reader=OF_TENANT.user, tenant=ANY)),
        [(queue.name, queue.paused_at) for queue in await app.queues.list()],
        [entry for entry in entries if entry.verb != "refuse"],
    ]


class Refused:
    """Sends requests that must be refused, and checks that nothing has changed."""

    def __init__(self, app: Duetime, client: httpx.AsyncClient) -> None:
        self._app = app
        self._client = client
        self._stocks = {tenant: Stock(app, tenant) for tenant in ("acme", None)}

    async def subjects(self, case: Case) -> Subjects:
        tenant = None if NEEDS[case.method, case.path] in STORE_WIDE else "acme"
        return await self._stocks[tenant].subjects(case)

    async def send(self, case: Case, url: str, **given: Any) -> httpx.Response:
        headers = case.headers | sender(case) | given.pop("headers", {})
        return await self._client.request(case.method, url, headers=headers, **given)

    async def stored(self) -> list[Any]:
        return await everything(self._app)


@pytest.fixture
def refused(app: Duetime, client: httpx.AsyncClient) -> Refused:
    return Refused(app, client)


@without_store
async def test_bodies(refused: Refused) -> None:
    for case in CASES:
        if not case.route.takes_body:
            continue
        subjects = await refused.subjects(case)
        url, before = subjects.put_into(case.url), await refused.stored()
        for content in (*NO_JSON, *NO_OBJECT):
            response = await refused.send(case, url, content=content, headers=JSON)
            assert response.status_code == 422, (case, content[:40])
            expected = "invalid-json" if content in NO_JSON else "invalid-argument"
            assert problem(response) == expected, (case, content[:40])
            assert MARK not in response.text
        large = await refused.send(case, url, content=b" " * 20_000_000, headers=JSON)
        assert problem(large) == "body-too-large"
        text = await refused.send(case, url, content=b"a=1")
        assert problem(text) == "unsupported-media-type"
        assert await refused.stored() == before, case


async def test_fields(refused: Refused) -> None:
    """Unknown ones are named with a pointer; those of another type, and texts that cannot be
    stored, are refused."""
    for case in CASES:
        if not case.route.takes_body:
            continue
        subjects = await refused.subjects(case)
        url, before = subjects.put_into(case.url), await refused.stored()
        body = json.loads(subjects.put_into(json.dumps(case.body or {})))
        for pointer, changed in with_unknown_fields(body):
            response = await refused.send(case, url, json=changed)
            assert response.status_code == 422, (case, changed)
            assert pointer in [error["pointer"] for error in response.json()["errors"]], case
        for changed in with_wrong_values(body | {"note": "x"}):
            response = await refused.send(case, url, json=changed)
            assert response.status_code == 422, (case, changed)
            problem(response)
        assert await refused.stored() == before, case


def with_unknown_fields(body: Any, pointer: str = "#") -> Iterator[tuple[str, Any]]:
    """Yield the body with an unknown field in each of its objects, and the pointer to it."""
    if isinstance(body, dict):
        yield f"{pointer}/zz", body | {"zz": 1}
    items = body.items() if isinstance(body, dict) else enumerate(body)
    for step, item in items:
        if step not in ("payload", "recurrence") and isinstance(item, dict | list):
            for found, changed in with_unknown_fields(item, f"{pointer}/{step}"):
                yield found, replaced(body, step, changed)


def with_wrong_values(body: Any) -> Iterator[Any]:
    """Yield the body with an object in place of each of its values, and with texts that no store
    can hold in place of its texts."""
    items = body.items() if isinstance(body, dict) else enumerate(body)
    for step, item in items:
        if isinstance(item, dict | list):
            for changed in with_wrong_values(item):
                yield replaced(body, step, changed)
        else:
            yield replaced(body, step, {"zz": 1})
        if isinstance(item, str):
            yield replaced(body, step, "a\x00b")


def replaced(body: Any, step: Any, item: Any) -> Any:
    if isinstance(body, dict):
        return body | {step: item}
    return [item if index == step else other for index, other in enumerate(body)]


async def test_queries(refused: Refused, client: httpx.AsyncClient) -> None:
    """Each parameter that a route takes, with values that mean nothing, or something else."""
    document = (await client.get("/api/openapi.json", headers=sent_by(ADMINISTRATOR))).json()
    for case in {case.path: case for case in CASES if case.method == "GET"}.values():
        subjects = await refused.subjects(case)
        path, before = subjects.put_into(case.url).partition("?")[0], await refused.stored()
        operation = document["paths"][case.path.replace(":path", "")]["get"]
        names = [item["name"] for item in operation.get("parameters", ()) if item["in"] == "query"]
        for name in names:
            for value in VALUES:
                url = f"{path}?{name}={quote(value, errors='surrogatepass')}"
                response = await refused.send(case, url)
                assert response.status_code in allowed(case), (url, response.text)
                assert case.path in ("/api/queues", "/metrics") or MARK not in response.text, url
        if names:
            unknown = await refused.send(case, f"{path}?zz=1")
            # Some routes need a parameter, too, and say so.
            named = {error["parameter"] for error in unknown.json()["errors"]}
            assert "zz" in named, case
        assert await refused.stored() == before, case


def allowed(case: Case) -> set[int]:
    """A value may happen to mean something. A tenant may be named by administrators only."""
    return {case.status, 422, 403, 404}


@without_store
async def test_paths(refused: Refused) -> None:
    for case in CASES:
        if "{" not in case.path or "/queues/" in case.path:
            continue
        before = await refused.stored()
        for written in WRITTEN:
            odd = replace(Subjects(), **dict.fromkeys(Subjects.__slots__, written))
            response = await refused.send(case, odd.put_into(case.url), json=case.body)
            assert response.status_code in {404, 405, 412, 422}, (case, written)
            problem(response)
            assert MARK not in response.text
        assert await refused.stored() == before, case


HEADERS: list[list[tuple[str, str]]] = [
    [("if-match", '"1"'), ("if-match", '"2"')],
    [("if-match", '"9", W/"8"')],
    [("if-match", "x" * 8000)],
    [("if-match", "")],
    [("if-none-match", "*"), ("if-match", '"77"')],
    [("if-match", '"\xff"')],
]


@pytest.mark.parametrize("headers", HEADERS, ids=str)
async def test_versions_that_are_not_the_jobs(
    refused: Refused, client: httpx.AsyncClient, headers: list[tuple[str, str]]
) -> None:
    [case] = [case for case in CASES if case.method == "PUT" and "jobs" in case.path]
    subjects = await refused.subjects(case)
    await client.put(
        subjects.put_into(case.url),
        json=case.body | {"priority": "high"},
        headers=sender(case) | {"if-match": "*"},
    )
    before = await refused.stored()
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    response = await client.put(
        subjects.put_into(case.url),
        json=case.body,
        headers=[*encoded, *((n.encode(), v.encode()) for n, v in sender(case).items())],
    )
    assert (response.status_code, problem(response)) == (412, "stale-version")
    assert await refused.stored() == before


async def test_requests_in_any_order(app: Duetime, client: httpx.AsyncClient) -> None:
    """About the same things, again and again: each is done or refused as documented."""
    document = (await client.get("/api/openapi.json", headers=sent_by(ADMINISTRATOR))).json()
    changing = [case for case in CASES if case.method != "GET" and case.named]
    random = Random(7)
    for _ in range(8):
        subjects = await make_subjects(app, "acme")
        random.shuffle(changing)
        for case in changing:
            response = await case.send(client, subjects, sender(case))
            operation = document["paths"][case.path.replace(":path", "")][case.method.lower()]
            assert str(response.status_code) in operation["responses"], (case, response.text)
            assert response.status_code < 500, case
        action = await app.get(UUID(subjects.scheduled), tenant="acme")
        entries = (await app.audit.find(subject=action.id, tenant="acme")).items
        states = [entry.after["state"] for entry in entries if "state" in entry.after]
        assert states[:1] in ([action.state], []), subjects


PAGES = [f"/api/{noun}?limit=1" for noun in ("actions", "jobs", "audit", "notifications")]


@pytest.mark.parametrize("page", PAGES)
@without_store
async def test_cursors_that_were_tampered_with(
    app: Duetime, client: httpx.AsyncClient, page: str
) -> None:
    """Each character is changed, and each cursor shown to others."""
    for tenant in ("acme", "other", None):
        for _ in range(2):
            await make_subjects(app, tenant)
    senders = [sent_by(identity) for identity in (OF_TENANT, OF_OTHER, ADMINISTRATOR)]
    cursors = [(await client.get(page, headers=s)).json()["next_cursor"] for s in senders]
    for sender, cursor in product(senders, cursors):
        is_own = senders.index(sender) == cursors.index(cursor)
        response = await client.get(f"{page}&cursor={quote(cursor)}", headers=sender)
        assert response.status_code == (200 if is_own else 422)
    before = await everything(app)
    [own, theirs, _], sender = cursors, senders[0]
    wrong = [own[:at] + ("A" if own[at] != "A" else "B") + own[at + 1 :] for at in range(len(own))]
    for cursor in (*wrong, own[:-1], own + own, own + "=", theirs[: len(own) // 2] + own):
        response = await client.get(f"{page}&cursor={quote(cursor)}", headers=sender)
        assert response.status_code in (200, 422), cursor
        assert MARK not in response.text
        if response.status_code == 200:
            tenants = {item["tenant"] for item in response.json()["items"]}
            assert tenants <= {"acme"}
    assert await everything(app) == before
