"""The page about one action: what it shows to whom, and the acts that need its page."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from admin.client import Parcel
from duetime import Duetime, Retry, Secret
from duetime.model.state import State
from pages.broken import Broken
from pages.browser import Browser, Form, ShownPage
from pages.readers import administrator_of, reader_of

RIGHTS = ("actions.read", "actions.schedule", "payload.read", "audit.read")


@dataclass(frozen=True)
class Login:
    """A payload with a secret."""

    user: str
    password: Secret


def path_of(action_id: object) -> str:
    return f"/actions/{action_id}"


def rows(page: ShownPage) -> list[str]:
    return re.findall(r'<tr data-row="([^"]*)"', page.response.text)


async def opened(browser: Browser, form: Form) -> ShownPage:
    """The page after a button was pressed that opens a dialog."""
    query = "&".join(f"{name}={value}" for name, value in form.fields.items())
    return await browser.open(f"{form.action}?{query}")


async def test_an_action_is_shown_with_what_it_belongs_to(app: Duetime) -> None:
    parent = await app.schedule(Parcel(7, "hello"), delay=60, key="k-1", queue="mail", by="ann")
    child = await app.schedule(Parcel(8), after=parent, by="bob")
    async with reader_of(app, *RIGHTS) as browser:
        page = await browser.open(path_of(parent.id))
        below = await browser.open(path_of(child.id))
    assert (page.response.status_code, page.heading) == (200, "parcel")
    assert {"scheduled", "planifiée"} & {*page.texts["span"]} == {"scheduled"}
    assert '"order": 7,' in "".join(page.texts["code"]).replace("&#34;", '"')
    assert {"k-1", "mail"} <= {*page.texts["a"]}
    assert path_of(child.id) in page.response.text
    assert path_of(parent.id) in below.response.text
    assert {"ann", "normal"} <= {*page.texts["dd"]}
    assert any("no worker is alive" in text for text in page.texts["strong"])


async def test_attempts_show_waiting_apart_from_running(memory_app: Duetime) -> None:
    @memory_app.handler(kind="broken", retry=Retry(delays=[10]))
    async def fail(broken: Broken) -> None:
        raise ValueError(broken.text)

    action = await memory_app.schedule(Broken())
    clock = memory_app.clock
    clock.advance(timedelta(seconds=3))  # type: ignore[attr-defined]
    await memory_app.testing.drain()
    async with reader_of(memory_app, *RIGHTS) as browser:
        first = await browser.open(path_of(action.id))
        assert "retried" in first.texts["span"]
        assert any("attempt 1 failed (ValueError: no bridge)" in t for t in first.texts["strong"])
        clock.advance(timedelta(seconds=60))  # type: ignore[attr-defined]
        await memory_app.testing.drain()
        page = await browser.open(path_of(action.id))
    assert len(rows(page)) == 2
    assert {"3 s", "failed"} <= {text.replace("\xa0", " ") for text in page.texts["td"]} | {
        *page.texts["span"]
    }
    assert "ValueError: no bridge" in page.texts["td"]
    assert "test_action_page.py" in page.response.text
    assert "Path of states: scheduled" in page.response.text.replace("\xa0", " ")


async def test_older_runs_are_a_page_of_their_own(
    failing_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetime.admin.pages.action.MAX_RUNS_SHOWN", 2)
    action = await failing_app.schedule(Broken())
    for _ in range(3):
        await failing_app.testing.drain()
        await failing_app.retry(action.id)
    async with reader_of(failing_app, *RIGHTS) as browser:
        page = await browser.open(path_of(action.id))
        [link] = re.findall(r'href="([^"]*before=[^"]*)"', page.response.text)
        older = await browser.open(link.replace("&amp;", "&"))
    assert (len(rows(page)), len(rows(older))) == (2, 1)
    assert not {*rows(page)} & {*rows(older)}


class TestMasking:
    async def test_without_the_right_there_are_no_data_and_errors_are_classes(
        self, memory_app: Duetime
    ) -> None:
        @memory_app.handler(kind="broken", retry=Retry(delays=[10]))
        async def fail(broken: Broken) -> None:
            raise ValueError(broken.text)

        action = await memory_app.schedule(Broken("private"))
        async with (
            reader_of(memory_app, "actions.read", "audit.read") as reader,
            reader_of(memory_app, *RIGHTS) as trusted,
        ):
            for state in (State.scheduled, State.failed):
                await memory_app.testing.drain()
                assert (await memory_app.get(action.id)).state is state
                for address in (path_of(action.id), f"/live?view=action&id={action.id}"):
                    shown = (await reader.open(address)).response.text
                    assert "ValueError" in shown
                    assert "private" not in shown, (state, address)
                    assert "private" in (await trusted.open(address)).response.text
                memory_app.clock.advance(timedelta(seconds=60))  # type: ignore[attr-defined]
            page = await reader.open(path_of(action.id))
        assert any("payload.read" in text for text in page.texts["p"])

    async def test_secrets_are_masked(self, memory_app: Duetime) -> None:
        memory_app.payload(Login, kind="login")
        action = await memory_app.schedule(Login("ann", Secret("hunter2")), delay=60)
        async with administrator_of(memory_app) as browser:
            text = (await browser.open(path_of(action.id))).response.text
        assert "**********" in text
        assert "hunter2" not in text

    async def test_who_may_not_read_the_audit_log_sees_none(self, memory_app: Duetime) -> None:
        action = await memory_app.schedule(Parcel(), delay=60, note="by phone")
        async with (
            reader_of(memory_app, "actions.read") as reader,
            reader_of(memory_app, *RIGHTS) as auditor,
        ):
            assert "by phone" not in (await reader.open(path_of(action.id))).response.text
            assert "by phone" in (await auditor.open(path_of(action.id))).response.text


class TestRepeating:
    async def test_with_another_payload(self, app: Duetime) -> None:
        action = await app.schedule(Parcel(1, "first"))
        await app.testing.drain()
        async with reader_of(app, *RIGHTS) as browser:
            page = await browser.open(path_of(action.id))
            form = (await opened(browser, page.form("Repeat"))).form("Confirm")
            form.fields["payload"] = '{"order": "x"}'
            refused = await browser.send(form)
            assert refused.response.status_code == 422
            assert "{&#34;order&#34;: &#34;x&#34;}" in refused.response.text
            form.fields["payload"] = '{"order": 2, "text": "second"}'
            shown = await browser.send(form, Note="wrong order")
        new = (await app.find(sort="-created_at", limit=1)).items[0]
        assert (new.id != action.id, new.payload) == (True, Parcel(2, "second"))
        assert shown.response.url.path == path_of(new.id)
        assert "This is the new action." in shown.texts["p"]
        assert (await app.get(action.id)).state is State.succeeded

    async def test_with_its_own_payload(self, memory_app: Duetime) -> None:
        action = await memory_app.schedule(Parcel(5, "own"))
        await memory_app.testing.drain()
        async with reader_of(memory_app, *RIGHTS) as browser:
            page = await browser.open(path_of(action.id))
            await browser.send((await opened(browser, page.form("Repeat"))).form("Confirm"))
        new = (await memory_app.find(sort="-created_at", limit=1)).items[0]
        assert (new.id != action.id, new.payload) == (True, Parcel(5, "own"))


async def test_an_act_on_what_has_changed_says_so_on_its_page(memory_app: Duetime) -> None:
    action = await memory_app.schedule(Parcel(), delay=60)
    async with reader_of(memory_app, "actions.read", "actions.cancel") as browser:
        page = await browser.open(path_of(action.id))
        dialog = await opened(browser, page.form("Cancel"))
        await memory_app.cancel(action.id)
        shown = await browser.send(dialog.form("Confirm"))
    assert (shown.response.status_code, shown.heading) == (409, "parcel")
    assert "cancelled" in shown.texts["span"]


@pytest.mark.parametrize("wanted", ["foreign", "unknown", "no id"])
async def test_what_is_not_there_is_not_found(memory_app: Duetime, wanted: str) -> None:
    foreign = await memory_app.schedule(Parcel(text="theirs"), delay=60, tenant="other")
    named = {"foreign": foreign.id, "unknown": uuid4(), "no id": "<b>x"}[wanted]
    rights = (*RIGHTS, "actions.cancel", "actions.retry", "actions.reschedule")
    async with reader_of(memory_app, *rights, tenant="acme") as browser:
        page = await browser.open(path_of(named))
        live = await browser.open(f"/live?view=action&id={named}")
        token = page.form("Sign out").fields["token"]
        statuses = []
        for verb in ("cancel", "retry", "reschedule", "repeat"):
            fields = {"token": token, "at": "2130-07-31T14:00"}
            act = Form(f"{path_of(named)}/{verb}", "post", fields)
            statuses.append((await browser.post(act)).status_code)
    assert (page.response.status_code, live.response.status_code) == (404, 404)
    assert statuses == [404] * 4
    assert not {"theirs", "<b>x"} & {*re.findall("theirs|<b>x", page.response.text)}
    assert (await memory_app.get(foreign.id, tenant="other")).state is State.scheduled


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
async def test_the_last_instant_of_the_calendar_is_shown_in_the_dialog(
    memory_app: Duetime, zone: str
) -> None:
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    action = await memory_app.schedule(Parcel(), at=last)
    async with administrator_of(memory_app) as browser:
        page = await browser.open(f"{path_of(action.id)}?dialog=reschedule&tz={zone}")
    assert page.response.status_code == 200
    assert page.form("Confirm").fields["at"].startswith("9999-12-3")


async def test_a_large_payload_is_cut(memory_app: Duetime) -> None:
    action = await memory_app.schedule(Parcel(text="x" * 900_000), delay=60)
    async with administrator_of(memory_app) as browser:
        page = await browser.open(path_of(action.id))
    assert len(page.response.content) < 100_000
    assert re.search(r"\.\.\. [\d,]+\smore bytes", page.response.text)


async def test_markup_in_data_is_text(failing_app: Duetime) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
    action = await failing_app.schedule(Broken(text), key=text[:40], correlation_id=text[:40])
    await failing_app.testing.drain()
    async with administrator_of(failing_app) as browser:
        shown = (await browser.open(path_of(action.id))).response.text
    assert not re.search(r"<script>|<img", shown)
    assert not re.search(r"\sstyle=|\son[a-z]+=\"", shown)
    assert "&lt;script&gt;alert(1)" in shown


async def test_in_french(failing_app: Duetime) -> None:
    action = await failing_app.schedule(Broken())
    await failing_app.testing.drain()
    async with administrator_of(failing_app) as browser:
        page = await browser.open(f"{path_of(action.id)}?lang=fr")
    assert {"Données", "Identité", "Tentatives"} <= {*page.texts["h2"]}
    assert page.form("Réessayer")
    assert page.form("Répéter")
