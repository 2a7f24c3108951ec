"""The page about queues: read, paused and resumed, without scripts."""

import pytest

from admin.client import Parcel, make_app
from duetime import Duetime
from pages.browser import Browser, ShownPage
from pages.readers import administrator_of, reader_of

RIGHTS = ("queues.read", "queues.manage")


async def opened_dialog(browser: Browser, queue: str) -> ShownPage:
    """The page after its button `Pause` was pressed, which opens a dialog."""
    page = await browser.open("/queues")
    form = next(f for f in page.forms if "Pause" in f.buttons and f.fields["of"] == queue)
    return await browser.open(f"{form.action}?dialog={form.fields['dialog']}&of={queue}")


async def pause_of(app: Duetime, queue: str) -> tuple[str | None, str | None]:
    [found] = [listed for listed in await app.queues.list() if listed.name == queue]
    until = found.paused_until
    return found.pause_note, None if until is None else until.isoformat()


async def test_a_queue_is_paused_with_a_note_and_resumed(app: Duetime) -> None:
    await app.schedule(Parcel(), queue="mail")
    async with reader_of(app, *RIGHTS) as browser:
        await browser.open("/queues?tz=Europe/Paris")
        dialog = await opened_dialog(browser, "mail")
        paused = await browser.send(
            dialog.form("Confirm"), Note="provider down", Until="2130-07-31T14:00"
        )
        assert (paused.response.url.path, paused.response.url.query) == ("/queues", b"")
        assert "The queue “mail” is paused." in paused.texts["p"]
        assert await pause_of(app, "mail") == ("provider down", "2130-07-31T12:00:00+00:00")
        assert "provider down" in paused.response.text
        assert not any("Pause" in form.buttons for form in paused.forms)

        resumed = await browser.send(paused.form("Resume"))
        assert await pause_of(app, "mail") == (None, None)
        assert "Workers claim from the queue “mail” again." in resumed.texts["p"]
        assert "again." not in (await browser.open("/queues")).response.text
    acts = (await app.audit.find(subject="mail")).items
    assert [(act.verb, act.source, act.note) for act in acts] == [
        ("resume", "dashboard", None),
        ("pause", "dashboard", "provider down"),
    ]


@pytest.mark.parametrize(
    ("until", "said"),
    [
        ("2001-01-01T00:00", "give an instant in the future"),
        ("soon", "is not a date and time"),
        ("2130-03-26T02:30", "The clocks of Europe/Paris skip"),
    ],
)
async def test_what_is_not_valid_is_said_where_it_was_typed(
    memory_app: Duetime, until: str, said: str
) -> None:
    await memory_app.schedule(Parcel(), queue="mail")
    async with reader_of(memory_app, *RIGHTS) as browser:
        await browser.open("/queues?tz=Europe/Paris")
        dialog = await opened_dialog(browser, "mail")
        shown = await browser.send(dialog.form("Confirm"), Note="why", Until=until)
    assert shown.response.status_code == 422
    assert any(said in alert for alert in shown.alerts)
    again = shown.form("Confirm")
    assert (again.fields["note"], again.fields["until"]) == ("why", until)
    assert await pause_of(memory_app, "mail") == (None, None)


async def test_what_is_shown_again_leads_on_from_its_page(memory_app: Duetime) -> None:
    """The address in the browser is that of the act, which is no page."""
    await memory_app.schedule(Parcel(), queue="mail")
    async with reader_of(memory_app, *RIGHTS) as browser:
        dialog = await opened_dialog(browser, "mail")
        again = await browser.send(dialog.form("Confirm"), Until="soon")
        assert again.response.url.path == "/queues/pause"
        assert {form.action for form in again.forms if "Pause" in form.buttons} == {"/queues"}
        assert 'href="?' not in again.response.text
        assert 'href="/queues/pause' not in again.response.text


async def test_a_part_that_was_kept_up_to_date_leads_on_from_its_page(
    memory_app: Duetime,
) -> None:
    await memory_app.schedule(Parcel(), queue="mail")
    async with reader_of(memory_app, *RIGHTS) as browser:
        part = await browser.open("/live?view=queues")
        assert [form.action for form in part.forms] == ["/queues"]
        assert "view" not in part.forms[0].fields


async def test_who_may_only_read_sees_no_acts(memory_app: Duetime) -> None:
    await memory_app.schedule(Parcel(), queue="mail")
    async with (
        reader_of(memory_app, "queues.read") as reader,
        reader_of(memory_app, *RIGHTS) as manager,
    ):
        seen = await reader.open("/queues?dialog=pause&of=mail")
        assert not {"Pause", "Resume", "Confirm"} & {b for f in seen.forms for b in f.buttons}
        form = (await opened_dialog(manager, "mail")).form("Confirm")
        own = seen.form("Sign out").fields["token"]
        for path in ("/queues/pause", "/queues/resume"):
            form.action, form.fields["token"] = path, own
            assert (await reader.post(form)).status_code == 403
            form.fields["token"] = "stale"
            assert (await manager.post(form)).status_code == 403
            assert (await manager.client.get(path)).status_code == 405
    assert await pause_of(memory_app, "mail") == (None, None)


async def test_readers_of_a_tenant_do_not_see_it(memory_app: Duetime) -> None:
    async with reader_of(memory_app, *RIGHTS, tenant="acme") as browser:
        assert (await browser.open("/queues")).response.status_code == 403
        assert (await browser.open("/live?view=queues")).response.status_code == 403


async def test_without_queues_it_says_what_makes_one(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        assert "No queue has anything to do" in (await browser.open("/queues")).texts["p"]


async def test_in_french() -> None:
    async with make_app() as app:
        await app.queues.pause("mail")
        async with administrator_of(app) as browser:
            page = await browser.open("/queues?lang=fr")
    assert (page.language, page.heading) == ("fr", "Files")
    assert page.form("Reprendre")
