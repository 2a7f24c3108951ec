"""The page about jobs: what it lists to whom, and pausing or resuming several, without scripts."""

import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from admin.client import Parcel, make_app
from duetime import Cron, Duetime, Every
from duetime.admin.pages.catalogue import CATALOGUE
from duetime.testing import FakeClock
from pages.broken import Broken
from pages.browser import Browser, Form, ShownPage
from pages.readers import administrator_of, reader_of

RIGHTS = ("jobs.read", "jobs.pause")
NIGHTLY_IN_FRENCH = Cron("30 2 * * *", "Europe/Paris").describe("fr")
NIGHTLY, HOURLY, BROKEN = "billing-nightly-close", "shop-hourly-sync", "x-health"


@pytest.fixture
async def shop(app: Duetime) -> Duetime:
    """An app with three jobs, of which the first is paused."""
    await app.jobs.put(NIGHTLY, "30 2 * * *", payload=Parcel(), tz="Europe/Paris", queue="mail")
    await app.jobs.put(HOURLY, "0 * * * *", payload=Parcel())
    await app.jobs.put(BROKEN, Every(hours=5), payload=Parcel())
    await app.jobs.pause(NIGHTLY, by="ann", note="bank holiday")
    return app


def rows(page: ShownPage) -> list[str]:
    return re.findall(r'<tr data-row="([^"]*)"', page.response.text)


def buttons(page: ShownPage) -> set[str]:
    return {button for form in page.forms for button in form.buttons}


async def dialog(browser: Browser, act: str, *names: str) -> ShownPage:
    """The page after rows were ticked and a button was pressed, which opens a dialog."""
    page = await browser.open("/jobs")
    assert {*names} <= {*page.choices["chosen"]}
    form = page.form("Pause")
    assert {"Pause", "Resume"} == {*form.buttons}
    chosen = "&".join(f"of={quote(name)}" for name in names)
    return await browser.open(f"{form.action}?{chosen}&dialog={act}")


async def paused(app: Duetime) -> dict[str, str | None]:
    """The notes of paused jobs, by name."""
    return {job.name: job.pause_note for job in await app.jobs.list(state="paused")}


async def test_jobs_are_listed_with_rule_zone_state_and_next_tick(shop: Duetime) -> None:
    async with reader_of(shop, "jobs.read") as browser:
        page = await browser.open("/jobs?tz=UTC")
    assert (page.response.status_code, page.heading) == (200, "Jobs")
    assert rows(page) == [NIGHTLY, HOURLY, BROKEN]
    shown = page.response.text
    assert {"Job", "Rule", "Time zone", "State", "Last runs"} <= {
        *page.texts["th"],
        *page.texts["a"],
    }
    assert "at 02:30, every day, Europe/Paris" in shown
    assert "every 5 hours" in shown
    assert "bank holiday" in shown
    assert f'href="/jobs/{BROKEN}"' in shown
    [hourly] = await shop.jobs.list(q="hourly")
    assert hourly.next_due_at is not None
    assert f'datetime="{hourly.next_due_at.isoformat()}"' in shown


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("state=paused", [NIGHTLY]),
        ("enabled=true", [HOURLY, BROKEN]),
        ("declared=true", []),
        ("failing=true", []),
        ("queue=mail", [NIGHTLY]),
        ("kind=parcel&q=HOURLY", [HOURLY]),
        ("sort=-name", [BROKEN, HOURLY, NIGHTLY]),
        ("due_before=2001-01-01T00:00:00Z", []),
    ],
)
async def test_the_address_filters_and_sorts(shop: Duetime, query: str, listed: list[str]) -> None:
    async with reader_of(shop, "jobs.read") as browser:
        page = await browser.open(f"/jobs?{query}")
        assert rows(page) == listed
        assert rows(await browser.open(f"/live?view=jobs&{query}")) == listed
    if not listed:
        assert "No job matches" in page.texts["p"]
    if "sort" not in query:
        assert "Clear the filter" in page.texts["a"]


async def test_what_was_searched_for_stays_in_its_field(shop: Duetime) -> None:
    async with reader_of(shop, "jobs.read") as browser:
        page = await browser.open("/jobs?state=paused")
        found = await browser.press(page.form("Show"), Name_contains="nightly")
    assert rows(found) == [NIGHTLY]
    assert found.form("Show").fields == {"q": "nightly", "kind": "", "queue": "", "state": "paused"}


@pytest.mark.parametrize("query", ["sort=payload", "state=x", "failing=2x", "due_before=soon"])
async def test_what_no_filter_is_is_refused(memory_app: Duetime, query: str) -> None:
    async with reader_of(memory_app, "jobs.read") as browser:
        assert (await browser.open(f"/jobs?{query}")).response.status_code == 422


async def test_many_jobs_are_turned_page_by_page(
    memory_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetime.admin.pages.jobs.MAX_ROWS", 2)
    for name in ("a-a", "a-b", "a-c"):
        await memory_app.jobs.put(name, "0 0 * * *", payload=Parcel())
    async with reader_of(memory_app, "jobs.read") as browser:
        first = await browser.open("/jobs")
        [link] = re.findall(r'href="([^"]*)" rel="next"', first.response.text)
        second = await browser.open(f"/jobs{link.replace('&amp;', '&')}")
    assert (rows(first), rows(second)) == (["a-a", "a-b"], ["a-c"])


async def test_last_runs_and_errors_are_shown_by_permission(failing_app: Duetime) -> None:
    await failing_app.jobs.put("shop-fails", "0 0 * * *", payload=Broken("private"), alert_after=1)
    await failing_app.jobs.trigger("shop-fails")
    await failing_app.testing.drain()
    async with (
        reader_of(failing_app, "jobs.read") as reader,
        reader_of(failing_app, "jobs.read", "payload.read") as trusted,
    ):
        for address in ("/jobs", "/live?view=jobs"):
            seen = await reader.open(address)
            assert "ValueError" in seen.texts["span"]
            assert "private" not in seen.response.text
            assert "ValueError: private" in (await trusted.open(address)).texts["span"]
            assert "Last runs: 1 run, failed 1" in seen.response.text.replace("\xa0", " ")
            assert "failing" in seen.texts["span"]


class TestChosenJobs:
    async def test_they_are_paused_and_resumed_in_one_act(self, shop: Duetime) -> None:
        async with reader_of(shop, *RIGHTS) as browser:
            await browser.open("/jobs?tz=Europe/Paris")
            asked = await dialog(browser, "pause", HOURLY, BROKEN)
            assert {HOURLY, BROKEN} <= {*asked.texts["li"]}
            form = chosen_form(asked, HOURLY, BROKEN)
            done = await send_chosen(browser, form, note="provider down", until="2130-07-31T14:00")
            assert done.response.url.path == "/jobs"
            assert "Paused: 2. Were so already: 0. Not there or unreadable: 0." in done.texts["p"]
            assert await paused(shop) == {
                NIGHTLY: "bank holiday",
                HOURLY: "provider down",
                BROKEN: "provider down",
            }
            until = (await shop.jobs.get(HOURLY)).paused_until
            assert until is not None
            assert until.isoformat() == "2130-07-31T12:00:00+00:00"

            asked = await dialog(browser, "resume", HOURLY, BROKEN)
            form = chosen_form(asked, HOURLY, BROKEN, "gone-away")
            resumed = await send_chosen(browser, form, note="back")
            assert (
                "Resumed: 2. Were not paused: 0. Not there or unreadable: 1."
                in (resumed.texts["p"])
            )
        assert await paused(shop) == {NIGHTLY: "bank holiday"}
        acts = (await shop.audit.find(subject=HOURLY)).items
        assert [(act.verb, act.source, act.note) for act in acts[:2]] == [
            ("resume", "dashboard", "back"),
            ("pause", "dashboard", "provider down"),
        ]

    async def test_none_is_chosen(self, shop: Duetime) -> None:
        async with reader_of(shop, *RIGHTS) as browser:
            page = await browser.open("/jobs?dialog=pause")
            assert (page.alerts, "Confirm" in buttons(page)) == (["Choose jobs first."], False)
            token = page.form("Sign out").fields["token"]
            sent = await browser.send(Form("/jobs/chosen/pause", "post", {"token": token}))
        assert sent.response.status_code == 422
        assert any("Choose jobs first." in alert for alert in sent.alerts)
        assert await paused(shop) == {NIGHTLY: "bank holiday"}

    async def test_what_is_not_valid_is_said_in_the_dialog(self, shop: Duetime) -> None:
        async with reader_of(shop, *RIGHTS) as browser:
            asked = await dialog(browser, "pause", HOURLY)
            form = chosen_form(asked, HOURLY)
            again = await browser.send(form, Note="why", Until="2001-01-01T00:00")
        assert again.response.status_code == 422
        assert any("give an instant in the future" in alert for alert in again.alerts)
        kept = again.form("Confirm").fields
        assert (kept["job"], kept["note"], kept["until"]) == (HOURLY, "why", "2001-01-01T00:00")
        assert HOURLY not in await paused(shop)

    async def test_who_may_only_read_has_no_choice(self, memory_app: Duetime) -> None:
        await memory_app.jobs.put(HOURLY, "0 * * * *", payload=Parcel())
        async with (
            reader_of(memory_app, "jobs.read") as reader,
            reader_of(memory_app, *RIGHTS) as manager,
        ):
            seen = await reader.open(f"/jobs?dialog=pause&of={HOURLY}")
            assert not {"Pause", "Resume", "Confirm"} & buttons(seen)
            assert seen.choices == {}
            own = seen.form("Sign out").fields["token"]
            for path in ("/jobs/chosen/pause", "/jobs/chosen/resume"):
                form = Form(path, "post", {"token": own, "job": HOURLY})
                assert (await reader.post(form)).status_code == 403
                form.fields["token"] = "stale"
                assert (await manager.post(form)).status_code == 403
                assert (await manager.client.get(path)).status_code == 405
        assert await paused(memory_app) == {}

    async def test_jobs_of_other_tenants_are_not_there(self, memory_app: Duetime) -> None:
        await memory_app.jobs.put("shop-theirs", "0 * * * *", payload=Parcel(), tenant="other")
        await memory_app.jobs.put("shop-ours", "0 * * * *", payload=Parcel(), tenant="acme")
        async with reader_of(memory_app, *RIGHTS, tenant="acme") as browser:
            page = await browser.open("/jobs")
            assert rows(page) == ["shop-ours"]
            token = page.form("Sign out").fields["token"]
            form = Form("/jobs/chosen/pause", "post", {"token": token, "job": "shop-theirs"})
            said = (await browser.send(form)).texts["p"]
        assert "Paused: 0. Were so already: 0. Not there or unreadable: 1." in said
        assert (await memory_app.jobs.get("shop-theirs", tenant="other")).enabled


class TestDamagedJobs:
    """A newer version wrote one, or a zone is gone; the others are listed all the same."""

    @pytest.fixture
    async def damaged(self, sqlite_path: Path, clock: FakeClock) -> AsyncIterator[Duetime]:
        async with make_app(f"sqlite:///{sqlite_path}", clock=clock) as app:
            for name in ("shop-fine", "shop-newer", "shop-zone"):
                await app.jobs.put(name, "0 3 * * *", payload=Parcel())
            with closing(sqlite3.connect(sqlite_path)) as other, other:
                change = "UPDATE duetime_jobs SET record = replace(record, ?, ?) WHERE name = ?"
                other.execute(change, ('"skip"', '"newer"', "shop-newer"))
                other.execute(change, ('"tz":"UTC"', '"tz":"Mars/Olympus"', "shop-zone"))
            yield app

    async def test_they_are_listed(self, damaged: Duetime) -> None:
        async with administrator_of(damaged) as browser:
            page = await browser.open("/jobs")
        assert rows(page) == ["shop-fine", "shop-newer", "shop-zone"]
        assert {"0 3 * * *", "unreadable"} <= {*page.texts["span"]}

    async def test_what_can_be_shown_of_one_is(self, damaged: Duetime) -> None:
        async with administrator_of(damaged) as browser:
            newer = await browser.open("/jobs/shop-newer")
            zone = await browser.open("/jobs/shop-zone?dialog=edit")
        assert (newer.response.status_code, zone.response.status_code) == (409, 200)
        assert any("upgrade" in alert for alert in newer.alerts)
        assert "Another version of duetime wrote this rule:" in zone.texts["p"]
        assert "Edit" not in buttons(zone)


async def test_without_jobs_it_says_what_makes_one(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/jobs")
    assert "There is no job" in page.texts["p"]
    [code] = page.texts["code"]
    assert len(code.splitlines()) == 3
    scope: dict[str, object] = {"app": memory_app}
    exec(code, scope)
    assert [job.name for job in memory_app.runtime.jobs] == [NIGHTLY]


async def test_names_are_links_that_are_safe(memory_app: Duetime) -> None:
    long = f"a-{'verylong-' * 21}name"
    for name in (long, "x-ready", BROKEN):
        await memory_app.jobs.put(name, "0 * * * *", payload=Parcel())
    async with reader_of(memory_app, "jobs.read") as browser:
        text = (await browser.open("/jobs")).response.text
        for name in (long, "x-ready", BROKEN):
            assert f'<a href="/jobs/{name}"' in text
            assert (await browser.open(f"/jobs/{name}")).heading == name


async def test_nothing_changes_while_nothing_happens(
    memory_app: Duetime, moving: Callable[..., None]
) -> None:
    await memory_app.jobs.put(HOURLY, "0 0 1 1 *", payload=Parcel())
    async with reader_of(memory_app, *RIGHTS) as browser:
        first = await browser.client.get("/live?view=jobs")
        memory_app.clock.advance(timedelta(minutes=5))  # type: ignore[attr-defined]
        moving(60)
        headers = {"if-none-match": first.headers["etag"]}
        assert (await browser.client.get("/live?view=jobs", headers=headers)).status_code == 304
        await memory_app.jobs.pause(HOURLY)
        moving(2)
        later = await browser.client.get("/live?view=jobs", headers=headers)
        assert (later.status_code, "paused" in later.text) == (200, True)


async def test_in_french(shop: Duetime) -> None:
    async with administrator_of(shop) as browser:
        page = await browser.open("/jobs?lang=fr")
        asked = await browser.open(f"/jobs?lang=fr&dialog=pause&of={HOURLY}")
    assert (page.language, page.heading) == ("fr", "Tâches")
    assert NIGHTLY_IN_FRENCH in page.texts["span"]
    assert "Mettre en pause" in buttons(page)
    assert CATALOGUE["pause_jobs"].fr.format(n=1) in asked.texts["h2"]


def chosen_form(page: ShownPage, *names: str) -> Form:
    """The form of the open dialog, which sends a field for each of the chosen jobs."""
    form = page.form("Confirm")
    form.fields["job"] = list(names)  # type: ignore[assignment]
    return form


async def send_chosen(browser: Browser, form: Form, **fields: str) -> ShownPage:
    form.fields |= fields
    return await browser.send(form)
