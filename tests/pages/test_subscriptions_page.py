"""The page about subscriptions: made, changed, muted, tried and removed, without scripts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from admin.client import make_app
from duetime import ANY, Duetime
from duetime.model.notifications.declared import declared_subscription
from duetime.model.notifications.subscription import Subscription, SubscriptionTerms
from duetime.model.tenant import Scope
from duetime.notifications import Notifications
from duetime.testing import FakeClock
from pages.browser import Browser, Form, ShownPage
from pages.notified import CHANNELS, failure, happen
from pages.readers import administrator_of, reader_of
from pages.test_frame import CORPUS, DANGEROUS

PAGE = "/alerts/subscriptions"
RIGHTS = ("subscriptions.manage", "notifications.read")
FORM = f"{PAGE}?dialog=subscribe"


@pytest.fixture
async def notifying_app(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    """An app that can send, on each store."""
    async with make_app(url, clock=clock, notifications=CHANNELS) as app:
        yield app


async def filled(browser: Browser, *topics: str, **fields: str) -> Form:
    """The form of a new subscription, filled in."""
    form = (await browser.open(FORM)).form("Confirm")
    form.fields |= {"channel": "in-app", **fields}
    form.fields["topics"] = [*topics]  # type: ignore[assignment]
    return form


async def dialog(browser: Browser, name: str, id: object) -> ShownPage:
    return await browser.open(f"{PAGE}?dialog={name}&of={id}")


def act(page: ShownPage, button: str) -> Form:
    return next(form for form in page.forms if button in form.buttons)


def buttons(page: ShownPage) -> list[str]:
    return [name for form in page.forms for name in form.buttons]


async def only(app: Duetime, tenant: Scope = ANY) -> Subscription:
    [found] = await app.notifications.subscriptions(tenant=tenant)
    return found


class TestMaking:
    async def test_one_of_this_dashboard(self, notifying_app: Duetime) -> None:
        app = notifying_app
        async with administrator_of(app) as browser:
            await browser.open("/?tz=Europe/Paris")
            form = await filled(
                browser,
                *("job-failing", "overdue"),
                minimum="warning",
                jobs="billing-*, mail",
                kinds=" ",
                queues="eu",
                quiet_from="22:00",
                quiet_until="07:00",
                language="fr",
                show_errors="yes",
                note="for the night",
            )
            page = await browser.send(form)
        assert page.response.url.path == PAGE
        assert "“In this dashboard” is subscribed." in page.texts["p"]
        made = await only(app)
        assert (made.channel, made.all_tenants, made.state) == ("in-app", True, "active")
        assert (made.topics, made.minimum) == (("job-failing", "overdue"), "warning")
        assert (made.jobs, made.kinds, made.queues) == (("billing-*", "mail"), (), ("eu",))
        assert (made.quiet, made.language, made.zone) == ("22:00-07:00", "fr", "Europe/Paris")
        assert made.show_errors
        [entry] = await app.audit.find(subject=made.id, tenant=ANY)
        assert (entry.verb, entry.note, entry.source) == ("subscribe", "for the night", "dashboard")

    async def test_an_address_is_asked_to_confirm(
        self, notifying_app: Duetime, clock: FakeClock
    ) -> None:
        async with administrator_of(notifying_app) as browser:
            page = await browser.send(
                await filled(browser, "overdue", channel="email", address="ops@example.org")
            )
            assert any("gets a link" in text for text in page.texts["p"])
            assert "unconfirmed" in page.response.text
            clock.advance(seconds=1)
            again = await browser.send(act(page, "Test"))
            assert any("gets a link" in text for text in again.texts["p"])
        made = await only(notifying_app)
        assert (made.address, made.state) == ("ops@example.org", "unconfirmed")

    async def test_the_secret_of_a_webhook_is_shown_once(self, notifying_app: Duetime) -> None:
        url = "https://hooks.example/a?key=hidden"
        async with administrator_of(notifying_app) as browser:
            page = await browser.send(
                await filled(browser, "overdue", channel="webhook", address=url)
            )
            [secret] = set(re.findall(r"whsec_[\w+/=]+", page.response.text))
            assert page.response.headers["cache-control"] == "no-store"
            assert "Confirm" not in buttons(page)
            again = (await browser.open(PAGE)).response.text
            assert ("whsec_" in again, "key=hidden" in again) == (False, False)
            assert "https://hooks.example/a?..." in again
        made = await only(notifying_app)
        stored = notifying_app.store.subscription(made.id, ANY)
        assert (await notifying_app.store.perform(stored)).secret == secret

    async def test_an_administrator_may_name_a_tenant(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            await browser.send(await filled(browser, "job-failing", tenant="acme"))
        assert (await only(memory_app)).tenant == "acme"

    async def test_a_tenant_makes_only_its_own(self, app: Duetime) -> None:
        async with reader_of(app, *RIGHTS, tenant="acme") as browser:
            page = await browser.open(FORM)
            assert "tenant" not in page.form("Confirm").fields
            assert 'value="job-failing"' in page.response.text
            assert 'value="overdue"' not in page.response.text
            refused = await browser.send(await filled(browser, "overdue", tenant="globex"))
            assert refused.response.status_code == 422
            await browser.send(await filled(browser, "job-failing", tenant="globex"))
        made = await only(app, "acme")
        assert (made.tenant, made.all_tenants) == ("acme", False)

    async def test_transports_of_the_operator_are_not_for_tenants(self, clock: FakeClock) -> None:
        channels = Notifications(transports={"pager": Nothing()})
        async with make_app(clock=clock, notifications=channels) as app:
            async with reader_of(app, *RIGHTS, tenant="acme") as browser:
                assert "pager" not in (await browser.open(FORM)).response.text
                form = await filled(browser, "job-failing", channel="pager", address="ops")
                assert (await browser.post(form)).status_code == 403
            async with administrator_of(app) as browser:
                form = await filled(browser, "job-failing", channel="pager", address="ops")
                assert any("is subscribed" in t for t in (await browser.send(form)).texts["p"])
            assert ((await only(app)).channel, (await only(app)).address) == ("pager", "ops")

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"channel": "email", "address": "nobody"}, "mailbox"),
            ({"channel": "webhook", "address": "http://169.254.169.254/"}, "webhook"),
            ({"channel": "pigeon", "address": "roof"}, "no such transport"),
            ({"zone": "Mars/Olympus"}, "zone"),
            ({"quiet_from": "22:00"}, "two different times"),
            ({"minimum": "terrible"}, "give one of info"),
        ],
    )
    async def test_what_is_not_valid_is_said_where_it_was_typed(
        self, clock: FakeClock, fields: dict[str, str], said: str
    ) -> None:
        async with (
            make_app(clock=clock, notifications=CHANNELS) as app,
            administrator_of(app) as browser,
        ):
            form = await filled(browser, "overdue", jobs="billing-*", **fields)
            shown = await browser.send(form)
            assert shown.response.status_code == 422
            assert any(said in alert for alert in shown.alerts), shown.alerts
            again = shown.form("Confirm").fields
            typed = fields | {"jobs": "billing-*"}
            kept = {name: again[name] for name in typed if name not in ("channel", "minimum")}
            assert kept == {name: typed[name] for name in kept}
            assert 'value="overdue" checked' in shown.response.text
            assert await app.notifications.subscriptions(tenant=ANY) == []

    async def test_without_a_topic_there_is_none(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            shown = await browser.send(await filled(browser))
        assert any("at least one topic" in alert for alert in shown.alerts)

    async def test_texts_of_errors_are_for_those_who_may_read_them(
        self, memory_app: Duetime
    ) -> None:
        async with reader_of(memory_app, *RIGHTS) as browser:
            assert 'name="show_errors"' not in (await browser.open(FORM)).response.text
            form = await filled(browser, "job-failing", show_errors="yes")
            assert (await browser.post(form)).status_code == 403
        assert await memory_app.notifications.subscriptions(tenant=ANY) == []


class TestActs:
    async def test_it_is_changed(self, notifying_app: Duetime) -> None:
        app = notifying_app
        made = await app.notifications.add(
            ["overdue", "no-worker"], in_app=True, tenant=ANY, jobs="a-*", quiet="22:00-07:00"
        )
        async with administrator_of(app) as browser:
            form = (await dialog(browser, "change", made.id)).form("Confirm")
            fields = form.fields
            assert (fields["jobs"], fields["quiet_from"], fields["quiet_until"]) == (
                *("a-*", "22:00", "07:00"),
            )
            fields |= {"jobs": "", "quiet_from": "", "quiet_until": "", "minimum": "critical"}
            fields["topics"] = "overdue"
            page = await browser.send(form, Note="fewer")
            assert any("is changed" in text for text in page.texts["p"])
        changed = await only(app)
        assert (changed.topics, changed.jobs, changed.quiet) == (("overdue",), (), None)
        assert changed.minimum == "critical"

    async def test_who_may_not_read_errors_leaves_them_as_they_are(
        self, memory_app: Duetime
    ) -> None:
        made = await memory_app.notifications.add("overdue", in_app=True, show_errors=True)
        async with reader_of(memory_app, *RIGHTS) as browser:
            form = (await dialog(browser, "change", made.id)).form("Confirm")
            form.fields["topics"] = "no-worker"
            assert (await browser.send(form)).response.status_code == 200
        changed = await only(memory_app)
        assert (changed.topics, changed.show_errors) == (("no-worker",), True)

    async def test_it_is_muted_and_unmuted(self, notifying_app: Duetime) -> None:
        made = await notifying_app.notifications.add("*", in_app=True, tenant=ANY)
        async with administrator_of(notifying_app) as browser:
            await browser.open("/?tz=Europe/Paris")
            form = (await dialog(browser, "mute", made.id)).form("Confirm")
            empty = await browser.send(form)
            assert any("fill it in" in alert for alert in empty.alerts)
            page = await browser.send(form, Until="2130-07-31T14:00", Note="a move")
            assert any("is muted" in text for text in page.texts["p"])
            until = (await only(notifying_app)).muted_until
            assert until == datetime(2130, 7, 31, 12, tzinfo=UTC)
            assert "Mute" not in buttons(page)
            page = await browser.send(act(page, "Unmute"))
            assert any("gets messages again" in text for text in page.texts["p"])
        assert (await only(notifying_app)).state == "active"

    async def test_a_message_tries_it(self, notifying_app: Duetime) -> None:
        await notifying_app.notifications.add("overdue", in_app=True, tenant=ANY)
        async with administrator_of(notifying_app) as browser:
            page = await browser.send(act(await browser.open(PAGE), "Test"))
            assert any("is on its way" in text for text in page.texts["p"])
            assert "Test message" in (await browser.open("/alerts")).response.text

    async def test_it_is_removed_and_what_it_got_stays(self, notifying_app: Duetime) -> None:
        app = notifying_app
        made = await app.notifications.add("*", in_app=True, tenant=ANY)
        await happen(app, failure())
        async with administrator_of(app) as browser:
            form = (await dialog(browser, "remove", made.id)).form("Confirm")
            page = await browser.send(form, Note="enough")
            assert any("is removed" in text for text in page.texts["p"])
            assert "Nobody has subscribed" in page.texts["p"]
            assert "send-mail" in (await browser.open("/alerts")).response.text
        assert await app.notifications.subscriptions(tenant=ANY) == []

    async def test_what_code_declares_is_marked_and_can_only_be_muted(
        self, memory_app: Duetime
    ) -> None:
        declared = await declare(memory_app)
        async with administrator_of(memory_app) as browser:
            page = await browser.open(PAGE)
            assert "in the code of shop" in page.response.text
            assert {"Test", "Mute"} <= set(buttons(page))
            assert {"Change", "Remove"} & set(buttons(page)) == set()
            for name in ("change", "remove"):
                assert "Confirm" not in buttons(await dialog(browser, name, declared))
            mute = (await dialog(browser, "mute", declared)).form("Confirm")
            token = mute.fields["token"]
            for name in ("change", "remove"):
                fields = {"token": token, "id": declared, "topics": "overdue"}
                fields |= {"minimum": "info", "language": "en", "zone": "UTC"}
                refused = await browser.post(Form(f"{PAGE}/{name}", "post", fields))
                assert (refused.status_code, "change it there" in refused.text) == (422, True)
            page = await browser.send(mute, Until="2130-07-31T14:00")
            assert any("is muted" in text for text in page.texts["p"])

    @pytest.mark.parametrize("id", [str(UUID(int=7)), "nonsense"])
    async def test_what_is_not_there(self, memory_app: Duetime, id: str) -> None:
        await memory_app.notifications.add("*", in_app=True, tenant=ANY)
        async with administrator_of(memory_app) as browser:
            form = act(await browser.open(PAGE), "Test")
            form.fields["id"] = id
            assert (await browser.post(form)).status_code == 404
            assert "Confirm" not in buttons(await dialog(browser, "mute", id))

    async def test_those_of_others_are_not_there(self, app: Duetime) -> None:
        theirs = await app.notifications.add("job-failing", in_app=True, tenant="globex")
        await app.notifications.add("job-failing", in_app=True, tenant="acme")
        async with reader_of(app, *RIGHTS, tenant="acme") as browser:
            page = await browser.open(PAGE)
            assert str(theirs.id) not in page.response.text
            form = act(page, "Test")
            for name in ("test", "mute", "unmute", "remove", "change"):
                form.action = f"{PAGE}/{name}"
                form.fields |= {"id": str(theirs.id), "until": "2130-07-31T14:00"}
                form.fields |= {"minimum": "info", "language": "en", "zone": "UTC"}
                form.fields["topics"] = "job-failing"
                assert (await browser.post(form)).status_code == 404, name
        assert (await only(app, "globex")).state == "active"


async def declare(app: Duetime) -> str:
    """Let a worker have declared a subscription of the app's code; return its id."""
    terms = SubscriptionTerms(topics=("job-failing",), channel="in-app", everywhere=True)
    declared = declared_subscription("shop", terms, "secret")
    await app.store.perform(app.store.declare_subscriptions([declared]))
    return str(declared.id)


async def test_who_may_not_manage_them_does_not_see_them(memory_app: Duetime) -> None:
    async with reader_of(memory_app, "notifications.read") as browser:
        assert PAGE not in (await browser.open("/alerts")).response.text
        assert (await browser.open(PAGE)).response.status_code == 403
    async with reader_of(memory_app, *RIGHTS) as browser:
        assert f'href="{PAGE}"' in (await browser.open("/alerts")).response.text


@pytest.mark.parametrize("hostile", CORPUS)
async def test_what_is_stored_is_text(clock: FakeClock, hostile: str) -> None:
    channels = Notifications(transports={"pager": Nothing()})
    async with make_app(clock=clock, notifications=channels) as app:
        made = await app.notifications.add(
            "*", via="pager", to=hostile, tenant=hostile, jobs=hostile, kinds=hostile, by=hostile
        )
        async with administrator_of(app) as browser:
            for address in (
                PAGE,
                *(f"{PAGE}?dialog={name}&of={made.id}" for name in ("change", "mute", "remove")),
            ):
                page = await browser.open(address)
                assert page.response.status_code == 200
                assert not DANGEROUS.search(page.response.text), address


class Nothing:
    """A transport that sends nothing."""

    async def send(self, message: object) -> None: ...


async def test_in_french(clock: FakeClock) -> None:
    async with make_app(clock=clock, notifications=CHANNELS) as app:
        await app.notifications.add("*", in_app=True, tenant=ANY)
        async with administrator_of(app) as browser:
            page = await browser.open(f"{PAGE}?lang=fr&dialog=subscribe")
    assert (page.language, page.heading) == ("fr", "Abonnements")
    assert {"Tester", "Mettre en sourdine", "Modifier", "Supprimer", "Confirmer"} <= {
        *buttons(page)
    }
    assert "Tous les sujets" in page.response.text
    assert "avertissement" in page.response.text
