"""Damaged rows of API keys, grants, sessions, links and answers give nobody more rights: each is
refused alone, and over HTTP as any wrong credential is."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import count

import httpx
import pytest

from admin.client import admin_of, client_of, make_app, problem
from damaged_rows import DamagedTable, damaged_columns
from duetime import Duetime
from duetime.admin.identity.sign_in import SignIns, make_link
from duetime.errors import NotAuthenticated
from duetime.model.ids import TimeOrderedIds
from identity.requests import authenticator, local_request, request

# Columns that hold texts of any form: on PostgreSQL nothing tells a damaged one.
FREE_TEXTS = ('"name"=', '"tenant"=', '"user"=', '"created_by"=', '"role"=')
ADDRESSES = count(int(ip_address("10.0.0.1")))
# What no answer has; the first are found on SQLite only.
SQLITE_ANSWERS = ["status='x'", "digest=x'ff'", "location=x'ff'", "document=CAST(x'ff' AS text)"]
ANSWERS = [
    *("digest=''", "status=199", "status=32767", "document='{not'", "document='{deep}'"),
    *("document=NULL", "location=''", "location='/a b'", "location='/' || {newline}"),
]
BODY = {"kind": "parcel", "payload": {"order": 1}, "delay": 60}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@dataclass(frozen=True)
class Scene:
    """An app with two keys: the till may read actions and schedule them, the clock read figures."""

    app: Duetime
    url: str
    till: str
    clock: str
    client: httpx.AsyncClient
    signing: SignIns

    async def status(self, key: str, path: str = "/api/actions") -> int:
        # The failures of one client would be limited.
        self.client._transport.client = (str(ip_address(next(ADDRESSES))), 1)  # type: ignore
        response = await self.client.get(path, headers=bearer(key))
        if response.status_code >= 400:
            problem(response)
        return response.status_code

    def damages(self, table: str) -> list[str]:
        """Assignments that damage a row of the table, as far as that can be seen."""
        found = damaged_columns(self.url, table)
        if self.url.startswith("sqlite"):
            return found
        return [each for each in found if not each.startswith(FREE_TEXTS) or each.endswith("=''")]


@pytest.fixture
async def scene(durable_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    # Else a search for damaged rows would be followed by a pause.
    monkeypatch.setattr("duetime.store.sql.sqlite.repair.SEARCH_PAUSE_FACTOR", 0)
    async with make_app(durable_url) as app, client_of(admin_of(app), None) as client:
        for permission in ("actions.read", "actions.schedule"):
            await app.grants.set("till", permission, by="ann")
        await app.grants.set("clock", "stats.read", by="ann")
        till = await app.api_keys.create("till", ["till"], by="ann")
        clock = await app.api_keys.create("clock", ["clock"], by="ann")
        signing = SignIns(
            lambda: app.store, TimeOrderedIds(), authenticator(app), frozenset({"root"})
        )
        yield Scene(app, durable_url, till.key, clock.key, client, signing)


async def test_a_damaged_key_is_refused_and_no_other(scene: Scene) -> None:
    table = DamagedTable(scene.url, "api_keys", "name = 'till'")
    for damage in scene.damages("api_keys"):
        table.damage(damage)
        assert await scene.status(scene.till) == 401, damage
        assert await scene.status(scene.clock, "/api/stats") == 200, damage
        listed = await scene.app.api_keys.list()
        column = damage.split('"')[1]
        [shown] = [key for key in listed if key.name != "clock"]
        assert f"(damaged: {column})" in shown.name or column == "id", damage
        await scene.app.api_keys.revoke(shown.id)
        assert [key.name for key in await scene.app.api_keys.list()] == ["clock"], damage
    table.restore()
    assert await scene.status(scene.till) == 200


async def test_a_damaged_grant_gives_nothing_and_takes_nothing(scene: Scene) -> None:
    among = "role = 'till' AND permission = 'actions.read'"
    table = DamagedTable(scene.url, "grants", among)
    for damage in scene.damages("grants"):
        table.damage(damage)
        assert await scene.status(scene.till) == 403, damage
        made = await scene.client.post("/api/actions", json=BODY, headers=bearer(scene.till))
        assert made.status_code == 201, damage
        assert await scene.status(scene.clock, "/api/stats") == 200, damage
        listed = await scene.app.grants.list()
        assert len(listed) == 3, damage
        assert sum(grant.allowed for grant in listed) == 2 or damage.startswith('"id"'), damage
        await scene.app.grants.set("till", "actions.read")
        assert await scene.status(scene.till) == 200, damage


async def test_a_damaged_denial_denies_all_the_same(scene: Scene) -> None:
    """Of a grant that takes a permission away, whatever may have been meant is taken away."""
    acme = await scene.app.api_keys.create("acme", ["till"], tenant="acme")
    assert await scene.status(acme.key) == 200
    denial = await scene.app.grants.set("till", "actions.read", "acme", allowed=False)
    table = DamagedTable(scene.url, "grants", f"id = '{denial.id}'")
    for damage in scene.damages("grants"):
        if damage == "\"tenant\"=''":
            continue  # there is a grant without a tenant
        table.damage(damage)
        assert await scene.status(acme.key) == 403, damage
        assert await scene.status(scene.clock, "/api/stats") == 200, damage
        await scene.app.grants.list()


async def test_a_damaged_session_is_over(scene: Scene) -> None:
    session = await scene.signing.by_key(scene.till, request())
    table = DamagedTable(scene.url, "sessions")
    for damage in scene.damages("sessions"):
        table.damage(damage)
        assert await scene.signing.access(session, request()) is None, damage
        assert await scene.status(scene.till) == 200, damage
        again = await scene.signing.by_key(scene.till, request())
        assert await scene.signing.access(again, request()) is not None, damage
    table.restore()
    assert await scene.signing.access(session, request()) is not None


async def test_a_key_is_revoked_beside_a_damaged_session(scene: Scene) -> None:
    await scene.signing.by_key(scene.till, request())
    sessions, keys = DamagedTable(scene.url, "sessions"), DamagedTable(scene.url, "api_keys")
    [till] = [key for key in await scene.app.api_keys.list() if key.name == "till"]
    for damage in scene.damages("sessions"):
        keys.restore()
        sessions.damage(damage)
        await scene.app.api_keys.revoke(till.id)
        assert await scene.status(scene.till) == 401, damage


async def test_a_damaged_link_opens_nothing(scene: Scene) -> None:
    link = await make_link(scene.app.store, TimeOrderedIds(), "ann")
    table = DamagedTable(scene.url, "links")
    for number, damage in enumerate(scene.damages("links")):
        table.damage(damage)
        # Each from an address of its own, since many failures from one are refused.
        asked = request(("host", "localhost:8000"), peer=f"127.0.1.{number}")
        with pytest.raises(NotAuthenticated, match="make a new one"):
            await scene.signing.by_link(link, asked)
        await make_link(scene.app.store, TimeOrderedIds(), "ann")
    table.restore()
    assert await scene.signing.by_link(link, local_request())


async def test_an_answer_that_cannot_be_given_again_is_said_to_be_damaged(scene: Scene) -> None:
    """The act is not done twice, and other keys work."""
    headers = bearer(scene.till) | {"idempotency-key": "k"}
    first = await scene.client.post("/api/actions", json=BODY, headers=headers)
    assert first.status_code == 201
    table = DamagedTable(scene.url, "answers")
    sqlite = scene.url.startswith("sqlite")
    for damage in ANSWERS + (SQLITE_ANSWERS if sqlite else []):
        table.damage(damage.replace("{newline}", "char(10)" if sqlite else "chr(10)"))
        again = await scene.client.post("/api/actions", json=BODY, headers=headers)
        assert (again.status_code, problem(again)) == (409, "idempotency-answer-damaged"), damage
    assert len(await scene.app.find()) == 1
    other = headers | {"idempotency-key": "other"}
    assert (await scene.client.post("/api/actions", json=BODY, headers=other)).status_code == 201


async def test_only_an_administrator_removes_a_grant_that_cannot_be_read(scene: Scene) -> None:
    """It may have taken something away from those who would remove it."""
    denial = await scene.app.grants.set("till", "actions.read", allowed=False)
    DamagedTable(scene.url, "grants", f"id = '{denial.id}'").damage("permission='{not'")
    await scene.app.grants.set("deputy", "admin")
    await scene.app.grants.set("deputy", "actions.manage")
    deputy = await scene.app.api_keys.create("deputy", ["deputy"])
    path = f"/api/grants/{denial.id}"
    refused = await scene.client.delete(path, headers=bearer(deputy.key))
    assert (refused.status_code, problem(refused)) == (403, "permission-denied")
    assert (await scene.client.delete(path, headers={"x-user": "root"})).status_code == 204
