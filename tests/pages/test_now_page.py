"""The start page: figures, problems and the acts that solve them, without scripts."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from admin.client import Parcel, make_app
from duetime import Duetime, Every, Fail, Retry
from duetime.model.health.diagnosis import Diagnosis
from duetime.testing import FakeClock
from pages.browser import Browser, ShownPage
from pages.readers import administrator_of, reader_of

SECRET = "nobody-else-may-read-this"


@dataclass(frozen=True)
class Charge:
    card: str = SECRET


async def run(app: Duetime, *payloads: Parcel | Charge, tenant: str | None = None) -> None:
    """Let a worker of its own run these payloads; its last sweep adds their figures."""
    if not app.runtime.handlers.runs("charge", 1):
        app.handler(kind="charge", queue="billing")(charge)
    async with app.worker():
        for payload in payloads:
            action = await app.schedule(payload, tenant=tenant)
            await app.wait(action.id, timeout=20, tenant=tenant)


async def charge(payload: Charge) -> object:
    return Fail(f"declined: {payload.card}")


async def failing_job(app: Duetime) -> None:
    @app.job("0 * * * *", name="shop-nightly", retry=Retry.none(), alert_after=2)
    async def nightly() -> None:
        raise RuntimeError(SECRET)

    await app.testing.advance(hours=2)


def number(page: ShownPage, card: str) -> str:
    """The number on the card with this name."""
    found = re.search(
        rf'aria-labelledby="{card}-name">.*?<p class="number">(.*?)</p>', page.response.text, re.S
    )
    assert found is not None
    return found[1]


def problems(page: ShownPage) -> list[str]:
    """What is wrong, without since when."""
    titles = re.findall(
        r'<li class="problem.*?<p class="title">(.*?)(?: <time.*?)?</p>', page.response.text, re.S
    )
    return [title.strip() for title in titles]


async def test_figures_begin_with_lateness(app: Duetime) -> None:
    await run(app, Parcel(), Parcel(), Charge())
    await app.schedule(Parcel(), delay=600)
    await app.schedule(Parcel())
    async with administrator_of(app) as browser:
        page = await browser.open("/")
    names = re.findall(r'<h2 id="now-\w+-name">(?:<a [^>]*>)?([^<]*)', page.response.text)
    assert names == ["Lateness p99", "Due now", "Running", "Overdue", "Failed today"]
    assert re.fullmatch(r"[\d.]+\xa0m?s", number(page, "now-lateness"))
    assert number(page, "now-failed") == "1"
    assert number(page, "now-due") == "1"
    assert "3 runs, 0.1 per minute" in page.response.text
    for kind, queue, runs in (("parcel", "default", 2), ("charge", "billing", 1)):
        for name in (kind, queue):
            row = re.search(rf'<tr data-row="{name}">.*?</tr>', page.response.text, re.S)
            assert row is not None
            assert f'data-name="Runs">{runs}<' in row[0]


async def test_the_chart_has_a_table_behind_it(memory_app: Duetime) -> None:
    await run(memory_app, Parcel(), Charge())
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/")
    table = re.search(r'<details id="now-table">(.*?)</details>', page.response.text, re.S)
    assert table is not None
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table[1]) == [
        "Time",
        "Runs",
        "Succeeded",
        "Failed",
    ]
    assert re.findall(r'<td class="number">(\d+)</td>', table[1]) == ["2", "1", "1"]


async def test_the_last_day_is_shown_on_demand(memory_app: Duetime, clock: FakeClock) -> None:
    await run(memory_app, Parcel())
    clock.advance(hours=3)
    async with administrator_of(memory_app) as browser:
        hour, day = await browser.open("/"), await browser.open("/?span=day")
        assert (await browser.open("/?span=year")).response.status_code == 422
    assert "0 runs, 0 per minute" in hour.response.text
    assert "1 runs" in day.response.text
    assert 'href="?span=hour"' in day.response.text


async def test_what_is_due_next_is_shown_by_kind_and_second(
    memory_app: Duetime, clock: FakeClock
) -> None:
    await memory_app.jobs.put("shop-poll", Every(minutes=1), payload=Parcel())
    for delay in (30, 30.2, 90):
        await memory_app.schedule(Parcel(), delay=delay)
    async with (
        administrator_of(memory_app) as browser,
        reader_of(memory_app, "stats.read", "jobs.read") as of_jobs,
    ):
        shown = next_due(await browser.open("/"))
        assert shown == ["parcel \u00d7 2", "shop-poll job", "parcel"]
        assert next_due(await of_jobs.open("/")) == ["shop-poll job"]


def next_due(page: ShownPage) -> list[str]:
    found = re.search(r'<ol class="next">(.*?)</ol>', page.response.text, re.S)
    assert found is not None
    names = re.findall(r'<span class="name">(.*?)</span></li>', found[1], re.S)
    return [re.sub(r"<[^>]*>", "", name) for name in names]


async def test_who_reads_figures_only_sees_no_rows(memory_app: Duetime) -> None:
    await run(memory_app, Parcel())
    await memory_app.schedule(Parcel(), delay=60)
    async with reader_of(memory_app, "stats.read") as browser:
        for address in ("/", "/live?view=now"):
            text = (await browser.open(address)).response.text
            assert "Lateness p99" in text
            assert "No worker is alive" not in text
            for absent in (
                "By kind",
                "By queue",
                "Next due",
                "/actions",
                "/jobs",
                "Slots",
                "parcel",
            ):
                assert absent not in text


async def test_a_tenant_sees_its_own(memory_app: Duetime) -> None:
    await run(memory_app, Parcel(), Charge(), tenant="acme")
    await run(memory_app, Charge(), Charge(), tenant="other")
    async with (
        reader_of(memory_app, "stats.read", "actions.read", tenant="acme") as acme,
        reader_of(memory_app, "stats.read", "actions.read", tenant="third") as third,
    ):
        page = await acme.open("/")
        assert (number(page, "now-failed"), "2 runs" in page.response.text) == ("1", True)
        assert "parcel" not in (await third.open("/")).response.text


async def test_payloads_and_errors_stay_away(memory_app: Duetime) -> None:
    await run(memory_app, Charge())
    await memory_app.schedule(Charge(), delay=60)
    await failing_job(memory_app)
    async with administrator_of(memory_app) as browser:
        for address in ("/", "/live?view=now", "/alerts", "/timeline", "/live?view=timeline"):
            page = await browser.open(address)
            assert page.response.status_code == 200
            assert SECRET not in page.response.text


async def test_nothing_yet(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/")
        assert "Nothing is scheduled and nothing has run" in page.texts["p"]
        assert "await app.schedule(" in page.response.text
        assert problems(page) == ["No worker is alive"]
        await memory_app.schedule(Parcel())
        assert "Nothing is scheduled" not in (await browser.open("/")).response.text


class TestProblems:
    async def test_a_paused_queue_is_resumed(self, app: Duetime) -> None:
        await app.schedule(Parcel(), queue="mail")
        await app.queues.pause("mail", by="max", note="provider down")
        rights = ("stats.read", "queues.read", "queues.manage")
        async with reader_of(app, *rights) as browser:
            page = await browser.open("/?span=day")
            assert problems(page) == ["The queue “mail” was paused"]
            assert re.search(r"“provider down”\s+by max\.", page.response.text)
            after = await browser.send(page.form("Resume"))
        assert (after.response.url.path, after.response.url.query) == ("/", b"span=day")
        assert "Workers claim from the queue “mail” again." in after.texts["p"]
        assert "Nothing needs attention" in after.response.text
        [act] = (await app.audit.find(subject="mail", verb="resume")).items
        assert act.source == "dashboard"

    async def test_of_a_pause_others_see_only_that_there_is_one(self, memory_app: Duetime) -> None:
        await memory_app.schedule(Parcel(), queue="mail")
        await memory_app.queues.pause("mail", by="max", note="provider down")
        async with reader_of(memory_app, "stats.read") as browser:
            page = await browser.open("/")
            assert problems(page) == ["The queue “mail” was paused"]
            assert not any(
                word in page.response.text for word in ("by max", "provider", ">Resume<")
            )

    async def test_a_failing_job_is_paused(self, app: Duetime) -> None:
        await failing_job(app)
        async with reader_of(app, "stats.read", "jobs.read", "jobs.pause") as browser:
            page = await browser.open("/")
            assert problems(page) == ["The job “shop-nightly” failed 2 times in a row, last"]
            assert 'href="/jobs/shop-nightly"' in page.response.text
            dialog = await browser.open("/?dialog=pause-job&of=shop-nightly")
            again = await browser.send(dialog.form("Confirm"), Until="soon")
            assert (again.response.status_code, bool(again.alerts)) == (422, True)
            done = await browser.send(again.form("Confirm"), Note="until fixed", Until="")
        assert "The job “shop-nightly” is paused." in done.texts["p"]
        assert problems(done) == []
        assert (await app.jobs.get("shop-nightly")).pause_note == "until fixed"

    async def test_acts_are_for_those_who_have_the_right(self, memory_app: Duetime) -> None:
        await failing_job(memory_app)
        await memory_app.schedule(Parcel(), queue="mail")
        await memory_app.queues.pause("mail")
        async with reader_of(memory_app, "stats.read", "notifications.read") as browser:
            page = await browser.open("/?dialog=pause-job&of=shop-nightly")
            assert {button for form in page.forms for button in form.buttons}.isdisjoint(
                {"Pause", "Resume", "Confirm"}
            )
            form = page.form("Sign out")
            form.fields |= {"queue": "mail", "job": "shop-nightly"}
            for place in ("now", "alerts"):
                for act in ("resume-queue", "pause-job"):
                    form.action = f"/{place}/{act}"
                    assert (await browser.post(form)).status_code == 403
                    assert (await browser.client.get(form.action)).status_code == 405
        assert (await memory_app.jobs.get("shop-nightly")).enabled

    async def test_work_that_no_worker_knows(self, memory_app: Duetime, clock: FakeClock) -> None:
        await memory_app.schedule(Parcel())
        clock.advance(minutes=11)
        async with administrator_of(memory_app) as browser:
            page = await browser.open("/")
            french = await browser.open("/?lang=fr")
        assert problems(page) == ["No worker is alive", "Overdue actions: 1, the oldest"]
        assert 'href="/actions?overdue=true"' in page.response.text
        assert problems(french) == ["Aucun worker n&#39;est actif", "Actions en retard : 1, depuis"]


class TestLive:
    async def test_it_follows_what_happens(
        self, memory_app: Duetime, moving: Callable[..., None]
    ) -> None:
        async with administrator_of(memory_app) as browser:
            first = await live(browser)
            assert (await live(browser, first.headers["etag"])).status_code == 304
            await memory_app.schedule(Parcel(), queue="mail")
            await memory_app.queues.pause("mail")
            moving(2)
            second = await live(browser, first.headers["etag"])
            assert (second.status_code, "was paused" in second.text) == (200, True)

    async def test_slow_reads_are_kept_for_longer(
        self, memory_app: Duetime, moving: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A diagnosis asks much of a database: viewers and reloads share one for a minute."""
        asked, diagnose = [], memory_app.store.diagnose

        def counted() -> Diagnosis:
            asked.append(1)
            return diagnose()

        monkeypatch.setattr(memory_app.store, "diagnose", counted)
        async with administrator_of(memory_app) as browser:
            for seconds, expected in ((0, 1), (59, 1), (1, 2)):
                moving(seconds)
                await live(browser)
                await browser.open("/")
                assert len(asked) == expected

    async def test_its_regions_have_ids_of_their_own(self, memory_app: Duetime) -> None:
        await memory_app.schedule(Parcel(), delay=60)
        async with administrator_of(memory_app) as browser:
            text = (await live(browser)).text
        ids = re.findall(r'\sid="([^"]*)"', text)
        assert {"now-cards", "now-problems", "now-figures"} <= set(ids)
        assert len(ids) == len(set(ids))


async def live(browser: Browser, tag: str | None = None):  # type: ignore[no-untyped-def]
    headers = {} if tag is None else {"if-none-match": tag}
    return await browser.client.get("/live?view=now", headers=headers)


async def test_long_names_are_whole_on_demand() -> None:
    name = "n" * 200
    async with make_app() as app:
        await app.schedule(Parcel(), queue=name)
        await app.queues.pause(name)
        async with administrator_of(app) as browser:
            page = await browser.open("/")
    assert problems(page)[-1] == f"The queue “{name}” was paused"
