"""The page about actions: filtered, sorted, turned, grouped by error, and acted on."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from admin.client import Parcel
from duetime import Duetime
from duetime.admin.pages.catalogue import CATALOGUE
from duetime.model.state import State
from pages.broken import Broken
from pages.browser import Browser, Form, ShownPage
from pages.places import ROLE, new_key
from pages.readers import administrator_of, reader_of

ALL_ACTS = ("actions.cancel", "actions.retry", "actions.reschedule", "actions.schedule")
RIGHTS = ("actions.read", *ALL_ACTS)


def rows(page: ShownPage) -> list[str]:
    """The ids of the actions that the page lists."""
    return re.findall(r'<tr data-row="([^"]*)"', page.response.text)


def buttons(page: ShownPage) -> set[str]:
    return {button for form in page.forms for button in form.buttons}


async def opened(browser: Browser, form: Form) -> ShownPage:
    """The page after a button was pressed that opens a dialog."""
    query = "&".join(f"{name}={value}" for name, value in form.fields.items())
    return await browser.open(f"{form.action}?{query}")


async def check_refused(reader: Browser, allowed: Browser, path: str) -> None:
    """Check that an act is refused without the right, without the token, and by GET."""
    token = (await reader.open("/actions")).form("Sign out").fields["token"]
    act = Form(path, "post", {"token": token, "at": "2130-07-31T14:00"})
    assert (await reader.post(act)).status_code == 403
    act.fields["token"] = "stale"
    assert (await allowed.post(act)).status_code == 403
    assert (await allowed.client.get(act.action)).status_code == 405


class TestFilters:
    async def test_each_parameter_narrows_what_is_listed(self, app: Duetime) -> None:
        first = await app.schedule(Parcel(), delay=60, queue="mail", key="k-1")
        second = await app.schedule(Parcel(), delay=90, correlation_id="order-2")
        await app.cancel(second.id)
        async with reader_of(app, "actions.read") as browser:
            for query, found in (
                ("", [second, first]),
                ("state=scheduled", [first]),
                ("state=scheduled&state=cancelled", [second, first]),
                ("queue=mail", [first]),
                ("kind=parcel&queue=default", [second]),
                ("q=k-1", [first]),
                ("q=order-2", [second]),
                (f"q={first.id}", [first]),
                ("overdue=true", []),
                ("sort=created_at", [first, second]),
                ("sort=due_at", [first]),
            ):
                page = await browser.open(f"/actions?{query}")
                assert rows(page) == [str(action.id) for action in found], query

    async def test_choices_have_counts_as_if_they_were_not_chosen(
        self, memory_app: Duetime
    ) -> None:
        for _ in range(3):
            await memory_app.schedule(Parcel(), delay=60, queue="mail")
        await memory_app.schedule(Parcel(), delay=60, queue="post")
        async with reader_of(memory_app, "actions.read") as browser:
            page = await browser.open("/actions?queue=post")
        text = page.response.text
        assert re.search(r"<span>mail</span> <span class=\"count\">3</span>", text)
        assert re.search(
            r'href="\?" aria-current="true"><span>post</span> <span class="count">1</span>', text
        )
        assert re.search(r"<span>scheduled</span> <span class=\"count\">1</span>", text)

    async def test_pages_are_turned_by_their_links(self, memory_app: Duetime) -> None:
        for _ in range(51):
            await memory_app.schedule(Parcel(), delay=60)
        async with reader_of(memory_app, "actions.read") as browser:
            page = await browser.open("/actions?kind=parcel")
            [following] = re.findall(r'href="([^"]*)" rel="next"', page.response.text)
            last = await browser.open(f"/actions{following.replace('&amp;', '&')}")
        assert (len(rows(page)), len(rows(last))) == (50, 1)
        assert len({*rows(page), *rows(last)}) == 51
        assert 'rel="next"' not in last.response.text

    @pytest.mark.parametrize("query", ["state=gone", "sort=size", "cursor=x", "overdue=perhaps"])
    async def test_what_is_not_valid_is_said(self, memory_app: Duetime, query: str) -> None:
        async with reader_of(memory_app, "actions.read") as browser:
            page = await browser.open(f"/actions?{query}")
        assert page.response.status_code == 422

    async def test_columns_sort_what_their_states_have(self, memory_app: Duetime) -> None:
        await memory_app.cancel((await memory_app.schedule(Parcel(), delay=60)).id)
        await memory_app.schedule(Parcel(), delay=60)
        async with reader_of(memory_app, "actions.read") as browser:
            for query, sorts in (
                ("state=scheduled", {"created_at", "due_at"}),
                ("state=cancelled", {"created_at", "finished_at"}),
                ("state=cancelled&state=scheduled", {"created_at"}),
            ):
                page = await browser.open(f"/actions?{query}")
                links = {*re.findall(r'[?;&]sort=-?(\w+)" title', page.response.text)}
                assert links == sorts, query
                for sort in sorts:
                    sorted_page = await browser.open(f"/actions?{query}&sort=-{sort}")
                    assert sorted_page.response.status_code == 200


class TestGroups:
    async def test_failures_are_grouped_by_error(self, failing_app: Duetime) -> None:
        for text in ("order 17 is gone", "order 18 is gone", "the bank is closed"):
            await failing_app.schedule(Broken(text))
        await failing_app.testing.drain()
        async with reader_of(failing_app, "actions.read", "payload.read") as browser:
            grouped = await browser.open("/actions?group=error")
            assert rows(grouped) == [
                "ValueError: order * is gone",
                "ValueError: the bank is closed",
            ]
            [link] = re.findall(r'href="([^"]*error_group=[^"]*order[^"]*)"', grouped.response.text)
            assert "group=error&" not in link
            listed = await browser.open(f"/actions{link.replace('&amp;', '&')}")
        assert len(rows(listed)) == 2
        assert "Error: ValueError: order * is gone" in listed.texts["span"]

    async def test_who_may_not_read_errors_sees_no_groups(self, failing_app: Duetime) -> None:
        await failing_app.schedule(Broken("private"))
        await failing_app.testing.drain()
        async with reader_of(failing_app, "actions.read") as browser:
            assert "Group by error" not in (await browser.open("/actions")).response.text
            for address in ("/actions?group=error", "/live?view=actions&group=error"):
                refused = await browser.open(address)
                assert refused.response.status_code == 403
                assert "private" not in refused.response.text


class TestActs:
    async def test_an_action_is_cancelled_with_a_note(self, app: Duetime) -> None:
        action = await app.schedule(Parcel(), delay=60)
        async with reader_of(app, *RIGHTS) as browser:
            dialog = await opened(
                browser, (await browser.open("/actions?kind=parcel")).form("Cancel")
            )
            done = await browser.send(dialog.form("Confirm"), Note="not wanted")
        assert (done.response.url.path, done.response.url.query) == ("/actions", b"kind=parcel")
        assert "The action is cancelled." in done.texts["p"]
        assert (await app.get(action.id)).state is State.cancelled
        [entry] = (await app.audit.find(subject=action.id, verb="cancel")).items
        assert (entry.source, entry.note) == ("dashboard", "not wanted")

    async def test_an_action_is_rescheduled(self, app: Duetime) -> None:
        action = await app.schedule(Parcel(), delay=60)
        async with reader_of(app, *RIGHTS) as browser:
            page = await browser.open("/actions?tz=Europe/Paris")
            dialog = await opened(browser, page.form("Reschedule"))
            refused = await browser.send(dialog.form("Confirm"), New_time="2130-03-26T02:30")
            assert refused.response.status_code == 422
            assert any("skip" in alert for alert in refused.alerts)
            await browser.send(refused.form("Confirm"), New_time="2130-07-31T14:00")
        due_at = (await app.get(action.id)).due_at
        assert due_at is not None
        assert due_at.isoformat() == "2130-07-31T12:00:00+00:00"

    async def test_a_failed_action_is_retried(self, failing_app: Duetime) -> None:
        action = await failing_app.schedule(Broken("no"))
        await failing_app.testing.drain()
        async with reader_of(failing_app, *RIGHTS) as browser:
            page = await browser.open("/actions?q=" + str(action.id))
            assert buttons(page) & {"Cancel", "Retry", "Reschedule"} == {"Retry"}
            await browser.send(page.form("Retry"))
        assert (await failing_app.get(action.id)).state is State.scheduled

    @pytest.mark.parametrize("right", ALL_ACTS)
    async def test_who_has_no_right_sees_no_act_and_is_refused(
        self, failing_app: Duetime, right: str
    ) -> None:
        scheduled = await failing_app.schedule(Parcel(), delay=60)
        failed = await failing_app.schedule(Broken("no"))
        await failing_app.testing.drain()
        verb = {"actions.schedule": "repeat"}.get(right, right.partition(".")[2])
        subject = failed.id if verb in ("retry", "repeat") else scheduled.id
        path, name = f"/actions/{subject}", CATALOGUE[verb].en
        others = [other for other in RIGHTS if other != right]
        async with (
            reader_of(failing_app, *RIGHTS) as allowed,
            reader_of(failing_app, *others) as reader,
        ):
            assert name in buttons(await allowed.open(path))
            for address in (path, f"{path}?dialog={verb}&of={subject}", "/actions"):
                page = await reader.open(address)
                assert not {name, "Confirm"} & buttons(page)
            await check_refused(reader, allowed, f"{path}/{verb}")
        assert [(await failing_app.get(a.id)).state for a in (scheduled, failed)] == [
            State.scheduled,
            State.failed,
        ]


async def test_rows_of_other_tenants_are_absent(memory_app: Duetime) -> None:
    own = await memory_app.schedule(Parcel(), delay=60, tenant="acme")
    await memory_app.schedule(Parcel(), delay=60, tenant="other", queue="theirs")
    async with reader_of(memory_app, *RIGHTS, tenant="acme") as browser:
        page = await browser.open("/actions")
        live = await browser.open("/live?view=actions")
    assert rows(page) == rows(live) == [str(own.id)]
    assert "theirs" not in page.response.text


async def test_the_live_part_leads_where_the_page_does(memory_app: Duetime) -> None:
    await memory_app.schedule(Parcel(), delay=60)
    async with reader_of(memory_app, *RIGHTS) as browser:
        live = await browser.open("/live?view=actions&kind=parcel")
        assert "view=" not in live.response.text
        dialog = await opened(browser, live.form("Cancel"))
        assert dialog.form("Confirm")
        assert dialog.heading == "Actions"


async def test_long_names_and_markup_are_text(memory_app: Duetime) -> None:
    name = "<b>x" + "n" * 196
    await memory_app.schedule(Parcel(), delay=60, key=name, correlation_id=name)
    async with administrator_of(memory_app) as browser:
        text = (await browser.open("/actions")).response.text
    assert "<b>x" not in text
    assert "&lt;b&gt;xnnn" in text


async def test_without_actions_it_says_what_makes_one(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        assert "No action matches" in (await browser.open("/actions")).texts["p"]
        assert "No failed action matches" in (await browser.open("/actions?group=error")).texts["p"]


async def test_late_is_a_word(memory_app: Duetime) -> None:
    await memory_app.schedule(Parcel(), delay=60)
    async with administrator_of(memory_app) as browser:
        assert "late" not in (await browser.open("/actions")).texts["span"]
        memory_app.clock.advance(timedelta(minutes=5))  # type: ignore[attr-defined]
        assert "late" in (await browser.open("/actions")).texts["span"]


async def test_in_french(memory_app: Duetime) -> None:
    action = await memory_app.schedule(Parcel(), delay=60)
    async with Browser(memory_app.admin(admin_roles={ROLE})) as browser:
        await browser.sign_in(await new_key(memory_app))
        page = await browser.open("/actions?lang=fr")
        assert (page.language, page.form("Annuler").method) == ("fr", "get")
        assert "planifiée" in page.texts["span"]
    assert rows(page) == [str(UUID(str(action.id)))]
