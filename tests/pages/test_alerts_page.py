"""The page about alerts: the problems of now, and notifications with the marks of their reader."""

import html
import re

import pytest

from admin.client import Parcel, make_app
from duetime import ANY, Duetime
from duetime.model.notifications.event import NewEvent
from duetime.model.tenant import Scope
from duetime.testing import FakeClock
from pages.browser import Form, ShownPage
from pages.notified import failure, happen
from pages.readers import administrator_of, reader_of
from pages.test_frame import CORPUS, DANGEROUS
from pages.test_now_page import failing_job, problems

RIGHTS = ("notifications.read", "actions.read", "jobs.read")


def subjects(page: ShownPage) -> list[str]:
    """What the notifications of a page say they are about, newest first."""
    text = page.response.text.partition('class="notifications"')[2]
    parts = text.split('class="title"')[1:]
    return [html.unescape(part.partition(">")[2].partition("<")[0]) for part in parts]


def buttons(page: ShownPage) -> list[str]:
    return [name for form in page.forms for name in form.buttons]


def read_form(page: ShownPage, number: int = 0) -> Form:
    return [form for form in page.forms if "Mark as read" in form.buttons][number]


async def subscribe(app: Duetime, tenant: Scope = ANY) -> None:
    await app.notifications.add("*", in_app=True, tenant=tenant)


class TestProblems:
    async def test_it_lists_the_problems_of_now(self, memory_app: Duetime) -> None:
        await failing_job(memory_app)
        async with administrator_of(memory_app) as browser:
            assert problems(await browser.open("/alerts")) == problems(await browser.open("/"))

    async def test_who_may_not_see_workers_learns_nothing_of_them(
        self, memory_app: Duetime
    ) -> None:
        await failing_job(memory_app)
        async with reader_of(memory_app, "notifications.read") as browser:
            for address in ("/alerts", "/live?view=alerts"):
                page = await browser.open(address)
                assert problems(page) == ["The job “shop-nightly” fails"]
                assert "/jobs/" not in page.response.text

    async def test_its_acts_lead_back_to_it(self, memory_app: Duetime) -> None:
        await memory_app.schedule(Parcel(), queue="mail")
        await memory_app.queues.pause("mail")
        async with reader_of(memory_app, "notifications.read", "queues.manage") as browser:
            done = await browser.send((await browser.open("/alerts")).form("Resume"))
            assert done.response.url.path == "/alerts"
            assert "Workers claim from the queue “mail” again." in done.texts["p"]
            assert "Nothing needs attention" in done.texts["p"]
            assert "app.on(JobFailing, alert)" in done.response.text


class TestNotifications:
    async def test_they_are_listed_newest_first_in_words_with_links(self, app: Duetime) -> None:
        await subscribe(app)
        await happen(app, failure("a-1", action_id="a-1"))
        await happen(app, NewEvent("overdue", None, "mail", {"queue": "mail", "count": 3}))
        async with administrator_of(app) as browser:
            page = await browser.open("/alerts")
        assert subjects(page) == [
            "Work of queue “mail” is overdue",
            "Action “send-mail” failed",
        ]
        text = page.response.text
        assert 'href="/actions/a-1"' in text
        assert 'href="/queues"' in text.partition('class="notifications"')[2]
        for name in ("critical", "warning"):
            assert f'class="chip is-{name}"' in text
        assert text.count('<span class="new">new</span>') == 2

    async def test_many_events_are_one_notification_that_counts_them(
        self, memory_app: Duetime
    ) -> None:
        await subscribe(memory_app)
        many = [failure(f"a-{number}", action_id=f"a-{number}") for number in range(30)]
        await happen(memory_app, *many)
        async with reader_of(memory_app, *RIGHTS) as browser:
            await subscribe(memory_app, None)
            await happen(memory_app, *many)
            page = await browser.open("/alerts")
        assert subjects(page) == ["30 actions failed"]
        assert '<td class="number" data-name="Events">30</td>' in page.response.text
        assert "and 10 more" in page.response.text
        assert page.response.text.count('href="/actions/a-') == 20

    async def test_a_reader_marks_one_and_then_all_as_read(self, app: Duetime) -> None:
        await subscribe(app)
        for number in range(3):
            await happen(app, failure(f"a-{number}"))
        async with administrator_of(app) as browser, administrator_of(app) as other:
            page = await browser.open("/alerts")
            assert buttons(page).count("Mark as read") == 3
            assert unread(page) == "3"
            page = await browser.send(read_form(page))
            assert "The notification is marked as read." in page.texts["p"]
            assert (buttons(page).count("Mark as read"), unread(page)) == (2, "2")
            assert unread(await other.open("/alerts")) == "3"

            page = await browser.open("/alerts?unread=true")
            assert len(subjects(page)) == 2
            page = await browser.send(page.form("Mark all as read"))
            assert str(page.response.url).endswith("/alerts?unread=true")
            assert "You have read them all" in page.texts["p"]
            assert unread(page) is None
            page = await browser.open("/alerts")
            assert (len(subjects(page)), "Mark all as read" in buttons(page)) == (3, False)

    async def test_they_are_turned_page_by_page(self, memory_app: Duetime) -> None:
        await subscribe(memory_app)
        for number in range(30):
            await happen(memory_app, failure(f"a-{number}"))
        async with administrator_of(memory_app) as browser:
            page = await browser.open("/alerts?unread=true")
            assert len(subjects(page)) == 25
            form = read_form(page)
            [after] = re.findall(r'href="([^"]*)" rel="next"', page.response.text)
            second = await browser.open(f"/alerts{html.unescape(after)}")
            assert len(subjects(second)) == 5
            assert "First page" in second.texts["a"]
            await browser.send(form)
            wrong = await browser.open("/alerts?cursor=nonsense")
            assert wrong.response.status_code == 422

    async def test_texts_of_errors_need_their_permission(self, memory_app: Duetime) -> None:
        await subscribe(memory_app, None)
        await happen(memory_app, failure(action_id="a-1"))
        async with (
            reader_of(memory_app, *RIGHTS) as reader,
            reader_of(memory_app, *RIGHTS, "payload.read") as other,
        ):
            seen = (await reader.open("/alerts")).response.text
            assert ("TimeoutError" in seen, "the server of ada" in seen) == (True, False)
            assert "the server of ada is slow" in (await other.open("/alerts")).response.text

    async def test_a_link_is_for_those_who_may_open_it(self, memory_app: Duetime) -> None:
        await subscribe(memory_app, None)
        await happen(memory_app, failure(action_id="a-1"))
        async with reader_of(memory_app, "notifications.read") as browser:
            page = await browser.open("/alerts")
        assert subjects(page) == ["Action “send-mail” failed"]
        assert "/actions/" not in page.response.text

    async def test_each_tenant_sees_and_marks_its_own(self, app: Duetime) -> None:
        for tenant in ("acme", "globex"):
            await subscribe(app, tenant)
            await happen(app, failure(f"of {tenant}", tenant, kind=f"kind-of-{tenant}"))
        [theirs] = await app.notifications.list(tenant="globex", reader="x")
        async with reader_of(app, *RIGHTS, tenant="acme") as browser:
            page = await browser.open("/alerts")
            assert subjects(page) == ["Action “kind-of-acme” failed"]
            assert "globex" not in page.response.text
            form = read_form(page)
            form.fields["id"] = str(theirs.id)
            assert unread(await browser.send(form)) == "1"
            assert (await browser.open("/alerts?tenant=globex")).response.status_code == 403
        async with administrator_of(app) as browser:
            assert len(subjects(await browser.open("/alerts"))) == 2
            page = await browser.open("/alerts?tenant=globex")
            assert (subjects(page), unread(page)) == (["Action “kind-of-globex” failed"], "1")

    @pytest.mark.parametrize("hostile", CORPUS)
    async def test_what_events_say_is_text(self, memory_app: Duetime, hostile: str) -> None:
        await subscribe(memory_app)
        said = {"kind": hostile, "error": hostile, "action_id": hostile}
        await happen(memory_app, failure(hostile, **said))
        paused = {"job": hostile, "by": hostile, "note": hostile}
        await happen(memory_app, NewEvent("job-paused", hostile, hostile, paused))
        async with administrator_of(memory_app) as browser:
            page = await browser.open("/alerts")
        assert len(subjects(page)) == 2
        assert not DANGEROUS.search(page.response.text)
        assert not any("49" in subject for subject in subjects(page))

    async def test_acts_need_the_right_and_the_token(self, memory_app: Duetime) -> None:
        await subscribe(memory_app, None)
        await happen(memory_app, failure())
        async with (
            reader_of(memory_app, "notifications.read") as reader,
            reader_of(memory_app, "actions.read") as stranger,
        ):
            page = await reader.open("/alerts")
            token = (await stranger.open("/settings")).form("Sign out").fields["token"]
            for form in (read_form(page), page.form("Mark all as read")):
                own = dict(form.fields)
                form.fields["token"] = token
                assert (await stranger.post(form)).status_code == 403
                form.fields["token"] = "stale"
                assert (await reader.post(form)).status_code == 403
                form.fields = own
                assert (await reader.client.get(form.action)).status_code == 405
            form = read_form(page)
            form.fields["id"] = "nonsense"
            assert (await reader.post(form)).status_code == 422
            assert unread(await reader.open("/alerts")) == "1"

    async def test_without_any_it_says_what_makes_one(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            page = await browser.open("/alerts")
        assert "No notifications yet" in page.texts["p"]
        assert "app.notifications.subscribe" in page.response.text
        assert unread(page) is None

    async def test_in_french(self, clock: FakeClock) -> None:
        async with make_app(clock=clock) as app:
            await subscribe(app)
            await happen(app, failure())
            async with administrator_of(app) as browser:
                page = await browser.open("/alerts?lang=fr")
        assert (page.language, page.heading) == ("fr", "Alertes")
        assert page.form("Tout marquer comme lu")
        assert subjects(page) == ["L'action «\xa0send-mail\xa0» a échoué"]
        assert "avertissement" in page.response.text

    async def test_an_open_page_says_that_there_are_others(
        self, memory_app: Duetime, moving: object
    ) -> None:
        await subscribe(memory_app)
        await happen(memory_app, failure())
        async with administrator_of(memory_app) as browser:
            await browser.open("/alerts")
            same = await browser.open("/live?view=alerts&known_unread=1")
            assert 'id="alerts-new" class="below" hidden' in same.response.text
            other = await browser.open("/live?view=alerts&known_unread=0")
            assert 'id="alerts-new" class="below">' in other.response.text
            assert "known_unread" not in other.response.text


def unread(page: ShownPage) -> str | None:
    """The number at the link of the navigation; None if there is none."""
    tag, _, rest = page.response.text.partition('id="unread"')[2].partition(">")
    return None if not tag or "hidden" in tag.split() else rest.partition("<")[0]
