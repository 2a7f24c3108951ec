"""The page on which actions are scheduled: a form for each kind, read and checked by the server."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator

from duetime import ANY, Duetime
from duetime.testing import FakeClock
from pages.browser import Browser, Form, ShownPage
from pages.readers import administrator_of, reader_of

RIGHTS = ("actions.schedule", "actions.read", "payload.read")
FORM = "/schedule?kind=send-invoice"


class Size(Enum):
    small = "small"
    large = "large"


class Address(BaseModel):
    street: str
    city: str = "Lyon"


class SendInvoice(BaseModel):
    order: int = Field(ge=1, description="The order's number")
    email: str
    address: Address
    amount: float = 9.5
    price: Decimal = Decimal("1.10")
    express: bool = False
    size: Size = Size.small
    tone: Literal["kind", "firm"] | None = None
    day: date | None = None
    moment: datetime | None = None
    password: SecretStr | None = None
    tags: list[str] = []
    counts: list[int] = []
    extra: dict[str, int] = {}


@dataclass
class Ping:
    pass


@dataclass
class Picky:
    text: str = ""

    def __post_init__(self) -> None:
        if self.text == "no":
            raise ValueError("it says no")


class Login(BaseModel):
    user: str
    password: SecretStr

    @field_validator("password")
    @classmethod
    def _strong(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value()) < 8:
            raise ValueError(f"{value.get_secret_value()} is too short")
        return value


@pytest.fixture
async def shop(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    async with make_shop(url, clock) as app:
        yield app


@pytest.fixture
async def memory_shop(clock: FakeClock) -> AsyncIterator[Duetime]:
    async with make_shop("memory://", clock) as app:
        yield app


def make_shop(url: str, clock: FakeClock) -> Duetime:
    app = Duetime(url, clock=clock)

    @app.handler(kind="send-invoice", queue="mail")
    async def send(invoice: SendInvoice) -> None: ...

    @app.handler(kind="ping")
    async def ping(it: Ping) -> None: ...

    @app.handler(kind="picky")
    async def pick(it: Picky) -> None: ...

    @app.handler(kind="login")
    async def log_in(it: Login) -> None: ...

    return app


async def scheduled(app: Duetime) -> list[Any]:
    return [*await app.find(tenant=ANY)]


async def filled(browser: Browser, address: str = FORM, **fields: str) -> ShownPage:
    """The page after the form at an address was filled in, by names, and sent."""
    form = (await browser.open(address)).form("Schedule")
    return await browser.send(with_fields(form, **fields))


def with_fields(form: Form, **fields: str) -> Form:
    form.fields |= {
        "payload/order": "7",
        "payload/email": "ann@shop.example",
        "payload/address/street": "Rue Une 1",
    } | {name.replace("__", "/"): text for name, text in fields.items()}
    return form


def error_at(page: ShownPage, name: str) -> str:
    [said] = re.findall(rf'id="error-{name}"[^>]*>([^<]*)<', page.response.text)
    return str(said)


async def test_a_form_makes_the_payload_and_the_page_shows_the_action(
    shop: Duetime, clock: FakeClock
) -> None:
    clock.set(datetime(2130, 1, 1, tzinfo=UTC))
    async with reader_of(shop, *RIGHTS) as browser:
        page = await filled(
            browser,
            f"{FORM}&tz=Europe/Paris",
            payload__order="900719925474099312345",
            payload__amount="12",
            payload__price="0.10",
            payload__express="on",
            payload__size='"large"',
            payload__tone='"firm"',
            payload__day="2130-02-03",
            payload__moment="2130-07-01T10:00",
            payload__password=" s3cret ",
            payload__tags="one\r\n two \r\n\r\n",
            payload__counts="1\n2",
            payload__extra='{"a": 1}',
            at="2130-07-31T14:00",
            queue="post",
            priority="high",
            key="k-1",
            correlation_id="order-7",
            note="by hand",
        )
        [action] = await scheduled(shop)
        assert page.response.url.path == f"/actions/{action.id}"
        assert page.response.url.query == b""
        due = "Wed 31 Jul 2130, 14:00:00 Europe/Paris (UTC+2)".replace("Wed", "Mon")
        assert f"Scheduled: due at {due}." in page.texts["p"]
    payload = action.payload
    assert payload.password.get_secret_value() == " s3cret "
    assert payload.model_dump(exclude={"password"}) == {
        "order": 900719925474099312345,
        "email": "ann@shop.example",
        "address": {"street": "Rue Une 1", "city": "Lyon"},
        "amount": 12.0,
        "price": Decimal("0.10"),
        "express": True,
        "size": Size.large,
        "tone": "firm",
        "day": date(2130, 2, 3),
        "moment": datetime(2130, 7, 1, 8, tzinfo=UTC),
        "tags": ["one", "two"],
        "counts": [1, 2],
        "extra": {"a": 1},
    }
    assert (action.queue, action.priority.name, action.key) == ("post", "high", "k-1")
    assert (action.correlation_id, action.due_at) == (
        "order-7",
        datetime(2130, 7, 31, 12, tzinfo=UTC),
    )
    [entry] = await shop.audit.find(subject=action.id)
    assert (entry.verb, entry.source, entry.note) == ("schedule", "dashboard", "by hand")
    assert entry.by == action.created_by
    assert entry.by.startswith("key:")


async def test_what_is_left_as_it_was_is_what_the_type_says(memory_shop: Duetime) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        await filled(browser)
    [action] = await scheduled(memory_shop)
    address = Address(street="Rue Une 1")
    assert action.payload == SendInvoice(order=7, email="ann@shop.example", address=address)
    assert (action.queue, action.priority.name, action.key) == ("mail", "normal", None)


@pytest.mark.parametrize(
    ("fields", "name", "said"),
    [
        ({"payload__order": ""}, "payload/order", "Fill it in."),
        ({"payload__order": "seven"}, "payload/order", "Give a whole number."),
        ({"payload__order": "9" * 5000}, "payload/order", "Give a whole number."),
        ({"payload__order": "0"}, "payload/order", "greater than or equal to 1"),
        ({"payload__amount": "nan"}, "payload/amount", "number"),
        ({"payload__email": ""}, "payload/email", "Fill it in."),
        ({"payload__address__street": ""}, "payload/address/street", "Fill it in."),
        ({"payload__day": "tomorrow"}, "payload/day", "date"),
        ({"payload__moment": "soon"}, "payload/moment", "is not a date and time"),
        ({"payload__counts": "1\ntwo"}, "payload/counts", "Give a whole number."),
        ({"payload__extra": "{"}, "payload/extra", "This is not valid JSON."),
        ({"payload__extra": "NaN"}, "payload/extra", "This is not valid JSON."),
        ({"payload__extra": "[" * 200_000}, "payload/extra", "This is not valid JSON."),
        ({"payload__extra": '{"a": "b"}'}, "payload/extra", "Give a whole number."),
        ({"payload__size": '"huge"'}, "payload/size", "Input should be"),
        ({"at": "soon"}, "at", "is not a date and time"),
        ({"at": "2130-03-26T02:30", "zone": "Europe/Paris"}, "at", "Europe/Paris skip"),
        ({"at": "2130-01-01T00:00", "delay": "5"}, "delay", "not both"),
        ({"delay": "-1"}, "delay", "0 or more"),
        ({"delay": "inf"}, "delay", "0 or more"),
        ({"delay": "1e300"}, "delay", ""),
        ({"queue": "x" * 500}, "queue", "characters"),
        ({"expires": "2001-01-01T00:00"}, "expires", "give a later instant"),
    ],
)
async def test_what_is_not_valid_is_said_at_its_field(
    memory_shop: Duetime, fields: dict[str, str], name: str, said: str
) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        page = await filled(browser, payload__password="hunter22", key="k", **fields)
    assert page.response.status_code == 422
    assert page.heading == "Schedule"
    assert said in error_at(page, name).replace("&#39;", "'")
    again = page.form("Schedule").fields
    typed = {key.replace("__", "/"): text for key, text in fields.items()} | {"key": "k"}
    for key, text in typed.items():
        if key not in ("zone", "payload/size") and len(text) < 1000:
            assert again[key] == text
    assert again["payload/password"] == ""
    assert "hunter22" not in page.response.text
    assert await scheduled(memory_shop) == []


async def test_while_it_is_typed_the_server_is_asked(memory_shop: Duetime) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        page = await browser.open(f"{FORM}&tz=Europe/Paris")
        [path] = re.findall(r'data-check="([^"]*)"', page.response.text)
        form = with_fields(page.form("Schedule"), payload__order="x", at="2130-07-31T14:00")
        form.action = path
        answer = (await browser.post(form)).json()
        assert answer["errors"] == {"payload/order": "Give a whole number."}
        assert answer["due"].endswith("31 Jul 2130, 14:00:00 Europe/Paris (UTC+2)")
        form.fields["at"] = "soon"
        answer = (await browser.post(form)).json()
        assert (set(answer["errors"]), answer["due"]) == ({"payload/order", "at"}, "")
        form.fields |= {"payload/order": "7", "at": "", "delay": "60"}
        answer = (await browser.post(form)).json()
        assert (answer["errors"], bool(answer["due"])) == ({}, True)
        assert "schedule.js" in page.response.text
    assert await scheduled(memory_shop) == []


@pytest.mark.parametrize(
    ("choice", "status", "said", "count"),
    [
        ("raise", 409, "An unfinished action holds this key", 1),
        ("return", 200, "this action holds the key", 1),
        ("replace", 200, "Scheduled: due at Tue 1 Jan 2030, 00:01:30", 1),
    ],
)
async def test_a_key_that_is_taken(
    memory_shop: Duetime, choice: str, status: int, said: str, count: int
) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        await filled(browser, key="k", delay="60")
        page = await filled(browser, key="k", delay="90", if_exists=choice)
        assert page.response.status_code == status
        assert said in page.response.text
    assert len(await scheduled(memory_shop)) == count


class TestRepeating:
    @pytest.fixture
    async def finished(self, shop: Duetime) -> UUID:
        invoice = SendInvoice(
            order=7,
            email="ann@shop.example",
            address=Address(street="Rue Une 1", city="Nice"),
            express=True,
            moment=datetime(2030, 1, 1, 10, 30, 5, tzinfo=UTC),
            password=SecretStr("hunter22"),
            tags=["a", "b"],
            extra={"a": 1},
        )
        action = await shop.schedule(invoice, delay=60, queue="post", correlation_id="order-7")
        await shop.cancel(action.id)
        return action.id

    async def test_its_payload_is_filled_in_and_may_be_changed(
        self, shop: Duetime, finished: UUID
    ) -> None:
        async with reader_of(shop, *RIGHTS) as browser:
            dialog = await browser.open(f"/actions/{finished}?dialog=repeat&of={finished}")
            assert f'href="/schedule?repeat={finished}"' in dialog.response.text
            shown = await browser.open(f"/schedule?repeat={finished}&tz=Europe/Paris")
            fields = shown.form("Schedule").fields
            assert fields["payload/address/city"] == "Nice"
            assert fields["payload/moment"] == "2030-01-01T10:30:05Z"
            assert (fields["payload/express"], fields["payload/password"]) == ("on", "")
            assert fields["payload/tags"].split() == ["a", "b"]
            assert not {"queue", "key", "priority"} & fields.keys()
            form = shown.form("Schedule")
            form.fields |= {"payload/order": "8", "at": "2130-07-31T14:00", "note": "again"}
            page = await browser.send(form)
            new_id = UUID(page.response.url.path.removeprefix("/actions/"))
        new, old = await shop.get(new_id), await shop.get(finished)
        assert new.payload == old.payload.model_copy(update={"order": 8, "password": None})
        assert new.due_at == datetime(2130, 7, 31, 12, tzinfo=UTC)
        assert (new.queue, new.correlation_id) == ("post", "order-7")
        verbs = {entry.verb: entry for entry in await shop.audit.find(subject=finished)}
        assert (verbs["repeat"].source, verbs["repeat"].note) == ("dashboard", "again")

    async def test_who_may_not_read_payloads_fills_in_all_of_it(
        self, shop: Duetime, finished: UUID
    ) -> None:
        async with reader_of(shop, "actions.schedule", "actions.read") as browser:
            page = await browser.open(f"/schedule?repeat={finished}")
            assert page.form("Schedule").fields["payload/order"] == ""
            assert "ann@shop.example" not in page.response.text
            assert any("payload.read" in text for text in page.texts["p"])

    async def test_what_a_reader_may_not_see_is_not_repeated(
        self, shop: Duetime, finished: UUID
    ) -> None:
        running = await shop.schedule(Ping(), delay=60)
        async with (
            reader_of(shop, *RIGHTS, tenant="acme") as other,
            reader_of(shop, "actions.schedule") as blind,
            reader_of(shop, *RIGHTS) as browser,
        ):
            for id in (finished, "nothing", "01a1f5c8-ae6d-7481-875b-4ee5fadabab3"):
                page = await other.open(f"/schedule?repeat={id}")
                assert page.response.status_code == 404
            assert (await blind.open(f"/schedule?repeat={finished}")).response.status_code == 403
            page = await filled(browser, f"/schedule?repeat={running.id}")
            assert (page.response.status_code, page.heading) == (409, "Schedule")


class TestSecrets:
    async def test_they_are_never_shown(self, memory_shop: Duetime) -> None:
        async with reader_of(memory_shop, *RIGHTS) as browser:
            page = await browser.open("/schedule?kind=login")
            assert '<input type="password"' in page.response.text
            form = page.form("Schedule")
            form.fields |= {"payload/user": "ann", "payload/password": "abc"}
            refused = await browser.send(form)
            assert refused.response.status_code == 422
            assert error_at(refused, "payload/password") == "This is not valid."
            assert "abc" not in refused.response.text
            form.fields["payload/password"] = "long enough"
            assert (await browser.send(form)).response.status_code == 200
        [action] = await scheduled(memory_shop)
        assert action.payload.password.get_secret_value() == "long enough"

    async def test_stars_are_no_secret(self, memory_shop: Duetime) -> None:
        async with reader_of(memory_shop, *RIGHTS) as browser:
            form = (await browser.open("/schedule?kind=login")).form("Schedule")
            form.fields |= {"payload/user": "ann", "payload/password": "**********"}
            assert (await browser.send(form)).response.status_code == 422
        assert await scheduled(memory_shop) == []


async def test_what_a_type_refuses_as_a_whole_is_said_above(memory_shop: Duetime) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        page = await filled(browser, "/schedule?kind=picky", payload__text="no")
    assert page.response.status_code == 422
    assert "it says no" in error_at(page, "payload")


async def test_a_kind_without_fields(memory_shop: Duetime) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        page = await browser.open("/schedule?kind=ping")
        assert "It has no fields." in page.texts["p"]
        assert (await browser.send(page.form("Schedule"))).response.status_code == 200
    [action] = await scheduled(memory_shop)
    assert action.payload == Ping()


async def test_a_kind_is_chosen(memory_shop: Duetime) -> None:
    async with reader_of(memory_shop, *RIGHTS) as browser:
        assert 'href="/schedule"' in (await browser.open("/actions")).response.text
        page = await browser.open("/schedule")
        assert {"send-invoice", "ping", "login"} <= set(page.texts["option"])
        assert "Schedule" not in {button for form in page.forms for button in form.buttons}
        unknown = await browser.open("/schedule?kind=%3Cb%3E")
        assert unknown.response.status_code == 422
        assert "<b>" not in unknown.response.text


async def test_a_tenant_schedules_its_own(shop: Duetime) -> None:
    async with reader_of(shop, *RIGHTS, tenant="acme") as browser:
        page = await filled(browser)
        assert page.response.status_code == 200
    async with administrator_of(shop) as browser:
        await filled(browser, f"{FORM}&tenant=other")
    assert sorted(action.tenant for action in await scheduled(shop)) == ["acme", "other"]


async def test_who_may_only_schedule_stays_here(memory_shop: Duetime) -> None:
    async with reader_of(memory_shop, "actions.schedule") as browser:
        page = await filled(browser)
    assert (page.response.url.path, page.response.status_code) == ("/schedule", 200)
    assert any(text.startswith("Scheduled: due at") for text in page.texts["p"])


async def test_others_may_not(memory_shop: Duetime) -> None:
    async with (
        reader_of(memory_shop, "actions.read") as reader,
        reader_of(memory_shop, *RIGHTS) as clerk,
    ):
        assert (await reader.open("/schedule")).response.status_code == 403
        listed = await reader.open("/actions")
        assert "/schedule" not in listed.response.text
        form = with_fields((await clerk.open(FORM)).form("Schedule"))
        own = listed.form("Sign out").fields["token"]
        for path in ("/schedule?kind=send-invoice", "/schedule/check?kind=send-invoice"):
            form.action, form.fields["token"] = path, own
            assert (await reader.post(form)).status_code == 403
            form.fields["token"] = "stale"
            assert (await clerk.post(form)).status_code == 403
        assert (await clerk.client.get("/schedule/check")).status_code == 405
    assert await scheduled(memory_shop) == []


async def test_without_kinds_it_says_what_makes_one(clock: FakeClock) -> None:
    async with Duetime("memory://", clock=clock) as app, administrator_of(app) as browser:
        page = await browser.open("/schedule?lang=fr")
    assert page.heading == "Planifier"
    assert "Aucun type ne peut être planifié" in page.texts["p"]
