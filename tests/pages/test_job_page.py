"""The page about one job: what it shows to whom, and the acts on it, without scripts."""

import html
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from admin.client import Parcel, make_app
from duetime import Duetime, Every, Misfire, Retry
from duetime.testing import FakeClock
from pages.broken import Broken
from pages.browser import Browser, Form, ShownPage
from pages.readers import administrator_of, reader_of

DAILY = "shop-daily"
PATH = f"/jobs/{DAILY}"
ACTS = ("jobs.pause", "jobs.trigger", "jobs.backfill", "jobs.edit")
RIGHTS = ("jobs.read", *ACTS)
BUTTONS = {"Pause", "Resume", "Trigger now", "Backfill", "Edit", "Confirm", "Preview", "Dry run"}
PARIS = {"rule": "0 6 * * 1", "rule_zone": "Europe/Paris"}


async def put_daily(app: Duetime, rule: Any = "30 2 * * *", **options: Any) -> None:
    options = {"tz": "Europe/Paris", "by": "ann"} | options
    await app.jobs.put(DAILY, rule, payload=Parcel(7, "private"), **options)


def rows(page: ShownPage, region: str) -> list[str]:
    """What identifies the rows of a live region."""
    shown = page.response.text
    part = shown[shown.index(f'id="{region}"') :]
    return re.findall(r'<tr data-row="([^"]*)"', part[: part.index("</section>")])


def buttons(page: ShownPage) -> set[str]:
    return {button for form in page.forms for button in form.buttons}


async def opened(browser: Browser, button: str, path: str = PATH) -> ShownPage:
    """The page after a button was pressed that opens a dialog."""
    return await browser.press((await browser.open(path)).form(button))


async def test_a_job_is_shown_with_its_rule_and_next_ticks(app: Duetime) -> None:
    await put_daily(app, queue="mail", note="asked for")
    async with reader_of(app, "jobs.read", "audit.read", "payload.read") as browser:
        page = await browser.open(f"{PATH}?tz=Asia/Tokyo")
    assert (page.response.status_code, page.heading) == (200, DAILY)
    assert "at 02:30, every day, Europe/Paris" in page.texts["strong"]
    ticks = await app.jobs.preview(DAILY, 10)
    assert rows(page, "job-rule") == [tick.isoformat() for tick in ticks]
    assert "Wed 2 Jan 2030, 02:30:00 Europe/Paris (UTC+1)" in page.texts["td"]
    assert "Wed 2 Jan 2030, 10:30:00 Asia/Tokyo (UTC+9)" in page.texts["time"]
    assert {"parcel", "mail", "made at run time", "ann"} <= {*page.texts["dd"]}
    assert '"text": "private"' in html.unescape("".join(page.texts["code"]))
    assert "put" in page.texts["strong"]
    assert "asked for" in page.response.text


async def test_ticks_say_what_clock_changes_make_of_them(clock: FakeClock) -> None:
    async with make_app(clock=clock) as app:
        clock.advance(days=84)
        await put_daily(app)
        async with reader_of(app, "jobs.read") as browser:
            page = await browser.open(PATH)
            french = await browser.open(f"{PATH}?lang=fr")
    assert "first instant after the gap 02:00-03:00" in page.texts["td"]
    assert "first instant" not in french.response.text
    assert any("02:00" in text for text in french.texts["td"])


async def test_runs_are_listed_with_outcome_and_duration(app: Duetime) -> None:
    await put_daily(app)
    for _ in range(2):
        await app.jobs.trigger(DAILY, by="bob")
        await app.testing.drain()
    runs = await app.jobs.runs(DAILY)
    async with (
        reader_of(app, "jobs.read", "actions.read") as reader,
        reader_of(app, "jobs.read") as other,
    ):
        page, without = await reader.open(PATH), await other.open(PATH)
    assert rows(page, "job-runs") == [str(run.action_id) for run in runs]
    assert f'href="/actions/{runs[0].action_id}"' in page.response.text
    assert re.search(
        rf'href="/actions/{runs[1].action_id}" aria-label="succeeded, ', page.response.text
    )
    assert "/actions" not in without.response.text
    assert {"succeeded", "bob"} <= {*page.texts["span"], *page.texts["td"]}
    said = page.response.text.replace("\xa0", " ")
    assert "Last runs: 2 runs, succeeded 2" in said
    assert re.search(r'aria-label="Run times: last [\d.]+ \S+, longest', said)


async def test_older_runs_are_a_page_of_their_own(
    memory_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetime.admin.pages.job.MAX_RUNS_SHOWN", 2)
    await put_daily(memory_app)
    for _ in range(3):
        await memory_app.jobs.trigger(DAILY)
    async with reader_of(memory_app, "jobs.read") as browser:
        page = await browser.open(PATH)
        [link] = re.findall(r'href="([^"]*before=[^"]*)"', page.response.text)
        older = await browser.open(link)
    assert (len(rows(page, "job-runs")), len(rows(older, "job-runs"))) == (2, 1)


class TestMasking:
    async def test_without_the_right_there_are_no_data_and_errors_are_classes(
        self, failing_app: Duetime
    ) -> None:
        await failing_app.jobs.put("shop-fails", "0 0 * * *", payload=Broken("private"))
        await failing_app.jobs.trigger("shop-fails")
        await failing_app.testing.drain()
        async with (
            reader_of(failing_app, "jobs.read", "audit.read") as reader,
            reader_of(failing_app, "jobs.read", "payload.read") as trusted,
        ):
            for address in ("/jobs/shop-fails", "/live?view=job&name=shop-fails"):
                seen = await reader.open(address)
                assert ("ValueError" in seen.texts["p"], "ValueError" in seen.texts["td"]) == (
                    *(True, True),
                )
                assert "private" not in seen.response.text
                shown = await trusted.open(address)
                assert "ValueError: private" in {*shown.texts["p"]} & {*shown.texts["td"]}
            page = await reader.open("/jobs/shop-fails")
            assert any("payload.read" in text for text in page.texts["p"])

    async def test_who_may_not_read_the_audit_log_sees_none(self, memory_app: Duetime) -> None:
        await put_daily(memory_app, note="by phone")
        async with reader_of(memory_app, "jobs.read") as reader:
            assert "by phone" not in (await reader.open(PATH)).response.text

    async def test_the_audit_is_that_of_the_job(self, memory_app: Duetime) -> None:
        await put_daily(memory_app, note="first")
        await memory_app.jobs.pause(DAILY, note="second")
        await memory_app.queues.pause(DAILY, note="of a queue")
        async with reader_of(memory_app, "jobs.read", "audit.read") as reader:
            text = (await reader.open(PATH)).response.text
        audit = text[text.index(">Audit</h2>") :]
        assert 0 < audit.index("second") < audit.index("first")
        assert "of a queue" not in audit


class TestPausing:
    async def test_with_note_and_until(self, app: Duetime) -> None:
        await put_daily(app)
        async with reader_of(app, "jobs.read", "jobs.pause") as browser:
            await browser.open(f"{PATH}?tz=Europe/Paris")
            form = (await opened(browser, "Pause")).form("Confirm")
            wrong = await browser.send(form, Note="why", Until="2001-01-01T00:00")
            assert wrong.response.status_code == 422
            assert any("in the future" in alert for alert in wrong.alerts)
            form = wrong.form("Confirm")
            assert form.fields["note"] == "why"
            paused = await browser.send(form, Note="the bank", Until="2130-07-31T14:00")
            assert paused.response.url.path == PATH
            assert "The job is paused." in paused.texts["p"]
            job = await app.jobs.get(DAILY)
            assert (job.pause_note, job.paused_until and job.paused_until.isoformat()) == (
                "the bank",
                "2130-07-31T12:00:00+00:00",
            )
            assert "the bank" in paused.response.text
            assert "Pause" not in buttons(paused)

            form = (await opened(browser, "Resume")).form("Confirm")
            resumed = await browser.send(form, Note="it is back")
            assert "The job ticks again." in resumed.texts["p"]
        assert (await app.jobs.get(DAILY)).enabled
        acts = (await app.audit.find(subject=DAILY)).items
        assert [(act.verb, act.source, act.note) for act in acts[:2]] == [
            ("resume", "dashboard", "it is back"),
            ("pause", "dashboard", "the bank"),
        ]


class TestTriggering:
    async def test_it_leads_to_the_run(self, app: Duetime) -> None:
        await put_daily(app)
        async with reader_of(app, "jobs.read", "jobs.trigger", "actions.read") as browser:
            page = await browser.open(PATH)
            form = (await browser.press(page.form("Trigger now"))).form("Confirm")
            shown = await browser.send(form, Note="a customer asked")
        [run] = await app.jobs.runs(DAILY)
        assert shown.response.url.path == f"/actions/{run.action_id}"
        assert f"The job “{DAILY}” was triggered." in shown.texts["p"]
        assert f'href="{PATH}"' in shown.response.text
        [act] = await app.audit.find(subject=DAILY, verb="trigger")
        assert (act.note, act.source) == ("a customer asked", "dashboard")

    async def test_who_may_not_see_actions_stays(self, memory_app: Duetime) -> None:
        await put_daily(memory_app)
        async with reader_of(memory_app, "jobs.read", "jobs.trigger") as browser:
            form = (await opened(browser, "Trigger now")).form("Confirm")
            shown = await browser.send(form)
        assert (shown.response.status_code, shown.response.url.path) == (200, PATH)
        assert len(await memory_app.jobs.runs(DAILY)) == 1

    async def test_a_page_of_runs_does_not_follow_to_the_action(self, memory_app: Duetime) -> None:
        await put_daily(memory_app)
        old = await memory_app.jobs.trigger(DAILY)
        async with reader_of(memory_app, "jobs.read", "jobs.trigger", "actions.read") as browser:
            page = await browser.open(f"{PATH}?before={old.id}&dialog=trigger")
            shown = await browser.send(page.form("Confirm"))
        assert (shown.response.status_code, shown.response.url.query) == (200, b"")


class TestBackfilling:
    async def test_a_dry_run_counts_and_shows_some(self, app: Duetime, clock: FakeClock) -> None:
        await put_daily(app, "0 * * * *", tz="UTC")
        clock.advance(timedelta(minutes=-30))
        async with reader_of(app, "jobs.read", "jobs.backfill") as browser:
            dialog = await opened(browser, "Backfill")
            assert "Confirm" not in buttons(dialog)
            asked = dialog.form("Dry run")
            dry = await browser.press(
                asked, From="2029-12-31T12:00", **{"To,_not_included": "2029-12-31T20:00"}
            )
            assert "Ticks without a run: 8" in dry.texts["h3"]
            assert dry.texts["time"].count("Mon 31 Dec 2029, 16:00:00 UTC") == 1
            assert "Mon 31 Dec 2029, 17:00:00 UTC" not in dry.texts["time"]
            assert "and 3 more" in dry.texts["p"]
            assert await app.jobs.runs(DAILY) == []
            done = await browser.send(dry.form("Confirm"), Note="the outage")
            assert "Ticks whose runs were added: 8." in done.texts["p"]
            assert (done.response.url.path, done.response.url.query) == (PATH, b"")
        assert len(await app.jobs.runs(DAILY)) == 8
        [act] = await app.audit.find(subject=DAILY, verb="backfill")
        assert (act.note, act.source) == ("the outage", "dashboard")

    @pytest.mark.parametrize(
        ("first", "last", "said"),
        [
            ("soon", "2029-12-31T20:00", "“soon” is not a date and time"),
            ("2029-12-31T20:00", "2029-12-31T20:00", "give an instant after start="),
            ("2029-12-31T20:00", "2031-01-01T00:00", "end must not be in the future"),
            ("1990-01-01T00:00", "2029-12-31T00:00", "more than 1000 ticks"),
            ("2029-12-31T20:00", "", "give both times"),
        ],
    )
    async def test_what_is_not_valid_is_said_beside_the_field(
        self, memory_app: Duetime, first: str, last: str, said: str
    ) -> None:
        await put_daily(memory_app)
        async with reader_of(memory_app, "jobs.read", "jobs.backfill") as browser:
            asked = (await opened(browser, "Backfill")).form("Dry run")
            asked.fields |= {"first": first, "last": last}
            shown = await browser.press(asked)
        assert [said in alert for alert in shown.alerts] == [True]
        wrong = "first" if first == "soon" else "last"
        assert f'aria-describedby="wrong-{wrong}"' in shown.response.text
        assert "Confirm" not in buttons(shown)

    async def test_who_may_not_backfill_has_no_dry_run(self, memory_app: Duetime) -> None:
        await put_daily(memory_app, "0 * * * *")
        query = "dialog=backfill&first=2029-12-31T12:00&last=2029-12-31T20:00"
        async with reader_of(memory_app, "jobs.read") as browser:
            page = await browser.open(f"{PATH}?{query}")
        assert "Ticks without a run" not in page.response.text


class TestEditing:
    async def test_old_and_new_instants_stand_side_by_side(self, app: Duetime) -> None:
        await put_daily(
            app,
            misfire=Misfire.all(limit=5, window=60),
            retry=Retry(delays=[10, 60]),
            timeout=30,
            jitter=2,
            overlap="queue",
            priority="high",
            starts_at=datetime.fromisoformat("2029-01-01T00:00:00+00:00"),
        )
        before = await app.jobs.get(DAILY)
        async with reader_of(app, "jobs.read", "jobs.edit") as browser:
            dialog = await opened(browser, "Edit")
            assert "Confirm" not in buttons(dialog)
            assert dialog.form("Preview").fields["rule"] == "30 2 * * *"
            shown = await browser.press(dialog.form("Preview"), Rule="0 6 * * 1")
            assert {"Old", "New"} <= {*shown.texts["th"]}
            assert "Wed 2 Jan 2030, 01:30:00 UTC" in shown.texts["time"]
            assert "Mon 7 Jan 2030, 05:00:00 UTC" in shown.texts["time"]
            assert (await app.jobs.get(DAILY)).recurrence == "30 2 * * *"
            done = await browser.send(shown.form("Confirm"), Note="the shop asked")
            assert "The job has a new rule." in done.texts["p"]
            assert (done.response.url.path, done.response.url.query) == (PATH, b"")
        after = await app.jobs.get(DAILY)
        changed = {
            name for name in before.__slots__ if getattr(before, name) != getattr(after, name)
        }
        assert changed == {"recurrence", "next_due_at", "version", "modified_at", "modified_by"}
        assert after.recurrence == "0 6 * * 1"
        [act] = await app.audit.find(subject=DAILY, verb="put", limit=1)
        assert (act.note, act.source) == ("the shop asked", "dashboard")

    @pytest.mark.parametrize(
        ("rule", "zone", "wrong", "said"),
        [
            ("99 2 * * *", "Europe/Paris", "rule", "minute"),
            ("0 0 30 2 *", "Europe/Paris", "rule", "never"),
            ("", "Europe/Paris", "rule", "recurrence="),
            ("1--100000000 * * * *", "UTC", "rule", "minute"),
            ('{"every": -1}', "UTC", "rule", "interval"),
            ("0 6 * * 1" + " " * 2 + "x" * 1000, "UTC", "rule", "1000 are allowed"),
            ("0 6 * * 1", "Europe/Pariss", "rule_zone", "Europe/Paris"),
        ],
    )
    async def test_an_invalid_rule_is_said_beside_its_field(
        self, memory_app: Duetime, rule: str, zone: str, wrong: str, said: str
    ) -> None:
        await put_daily(memory_app)
        async with reader_of(memory_app, "jobs.read", "jobs.edit") as browser:
            form = (await opened(browser, "Edit")).form("Preview")
            form.fields |= {"rule": rule, "rule_zone": zone}
            shown = await browser.press(form)
            assert f'aria-describedby="wrong-{wrong}"' in shown.response.text
            assert [said in alert for alert in shown.alerts] == [True], shown.alerts
            assert "Confirm" not in buttons(shown)
            assert shown.form("Preview").fields["rule"] == rule.strip()
            token = shown.form("Sign out").fields["token"]
            fields = {"token": token, "rule": rule, "rule_zone": zone, "version": "1"}
            query = f"dialog=edit&rule={rule[:20]}"
            sent = await browser.send(Form(f"{PATH}/edit?{query}", "post", fields))
            assert sent.response.status_code == 422
        job = await memory_app.jobs.get(DAILY)
        assert (job.recurrence, job.tz, job.version) == ("30 2 * * *", "Europe/Paris", 1)

    async def test_an_edit_of_what_has_changed_since_is_refused(self, app: Duetime) -> None:
        await put_daily(app)
        async with reader_of(app, "jobs.read", "jobs.edit") as browser:
            dialog = await opened(browser, "Edit")
            form = (await browser.press(dialog.form("Preview"), Rule="0 6 * * 1")).form("Confirm")
            await put_daily(app, "0 5 * * *", tz="UTC", by="max")
            refused = await browser.send(form, Note="mine")
            assert (refused.response.status_code, refused.heading) == (412, DAILY)
            assert "What has changed since you opened it, last by max" in refused.texts["caption"]
            assert {"30 2 * * *", "0 5 * * *", "Europe/Paris", "UTC"} <= {*refused.texts["td"]}
            assert {"parcel", "default", "once"}.isdisjoint(refused.texts["td"])
            assert (await app.jobs.get(DAILY)).recurrence == "0 5 * * *"
            again = refused.form("Confirm")
            assert (again.fields["rule"], again.fields["note"]) == ("0 6 * * 1", "mine")
            assert "at 05:00, every day, UTC" in refused.texts["td"]
            done = await browser.send(again)
            assert done.response.status_code == 200
        assert (await app.jobs.get(DAILY)).recurrence == "0 6 * * 1"

    @pytest.mark.parametrize("seen", ["", "no json", "[1]", "[" * 100_000, '{"tz": ["x"]}'])
    async def test_what_was_seen_may_be_anything(self, memory_app: Duetime, seen: str) -> None:
        await put_daily(memory_app)
        async with reader_of(memory_app, "jobs.read", "jobs.edit") as browser:
            page = await browser.open(f"{PATH}?dialog=edit&rule=0+6+*+*+1&rule_zone=UTC")
            form = page.form("Confirm")
            form.fields |= {"version": "7", "seen": seen}
            assert (await browser.send(form)).response.status_code == 412

    @pytest.mark.parametrize("version", ["", "0", "-1", "one", "9" * 5000, "²"])
    async def test_what_no_version_is_is_refused(self, memory_app: Duetime, version: str) -> None:
        await put_daily(memory_app)
        async with reader_of(memory_app, "jobs.read", "jobs.edit") as browser:
            page = await browser.open(f"{PATH}?dialog=edit&rule=0+6+*+*+1&rule_zone=UTC")
            form = page.form("Confirm")
            form.fields["version"] = version
            assert (await browser.send(form)).response.status_code == 422
        assert (await memory_app.jobs.get(DAILY)).version == 1

    async def test_a_rule_in_json_keeps_its_zones(self, memory_app: Duetime) -> None:
        await memory_app.jobs.put(DAILY, Every(hours=5) | Every(days=1), payload=Parcel(), by="ann")
        async with reader_of(memory_app, "jobs.read", "jobs.edit") as browser:
            dialog = await opened(browser, "Edit")
            rule = '{"any_of":[{"cron":"0 1 * * *","tz":"Asia/Tokyo"},{"every":7200}]}'
            shown = await browser.press(dialog.form("Preview"), Rule=rule)
            done = await browser.send(shown.form("Confirm"))
        assert done.response.status_code == 200
        assert (await memory_app.jobs.get(DAILY)).recurrence == rule

    async def test_a_job_of_code_is_not_edited_here(self, memory_app: Duetime) -> None:
        @memory_app.job("0 3 * * *", name="shop-coded")
        async def nothing() -> None: ...

        await memory_app.testing.drain()
        async with reader_of(memory_app, *RIGHTS) as browser:
            page = await browser.open("/jobs/shop-coded?dialog=edit&rule=0+6+*+*+1")
            assert "declared in code" in page.texts["dd"]
            assert not {"Edit", "Preview", "Confirm"} & buttons(page)
            token = page.form("Sign out").fields["token"]
            fields = {"token": token, **PARIS, "version": "1"}
            sent = await browser.post(Form("/jobs/shop-coded/edit", "post", fields))
        assert sent.status_code == 409
        assert (await memory_app.jobs.get("shop-coded")).recurrence == "0 3 * * *"


@pytest.mark.parametrize("verb", ["pause", "resume", "trigger", "backfill", "edit"])
async def test_what_a_reader_may_not_do_is_absent_and_refused(
    memory_app: Duetime, verb: str
) -> None:
    await put_daily(memory_app)
    needed = {"resume": "jobs.pause"}.get(verb, f"jobs.{verb}")
    others = [right for right in ACTS if right != needed]
    query = "first=2029-12-31T12:00&last=2029-12-31T20:00&rule=0+6+*+*+1&rule_zone=UTC"
    async with (
        reader_of(memory_app, "jobs.read", *others) as reader,
        reader_of(memory_app, "jobs.read", needed) as allowed,
    ):
        seen = await reader.open(f"{PATH}?dialog={verb}&{query}")
        label = {"pause": "Pause", "trigger": "Trigger now"}.get(verb, verb.capitalize())
        assert not {label, "Confirm", "Preview", "Dry run"} & buttons(seen)
        fields = {
            "token": seen.form("Sign out").fields["token"],
            "start": "2029-12-31T12:00",
            "end": "2029-12-31T20:00",
            "version": "1",
            **PARIS,
        }
        act = Form(f"{PATH}/{verb}", "post", fields)
        assert (await reader.post(act)).status_code == 403
        act.fields["token"] = "stale"
        assert (await allowed.post(act)).status_code == 403
        assert (await allowed.client.get(act.action)).status_code == 405
    job = await memory_app.jobs.get(DAILY)
    assert (job.version, await memory_app.jobs.runs(DAILY)) == (1, [])


async def test_without_the_right_to_read_there_is_no_page(memory_app: Duetime) -> None:
    await put_daily(memory_app)
    async with reader_of(memory_app, "actions.read") as browser:
        assert (await browser.open(PATH)).response.status_code == 403
        assert (await browser.open(f"/live?view=job&name={DAILY}")).response.status_code == 403


@pytest.mark.parametrize(
    "name", ["ready", "x-health", "%2e%2e", "a%2fb", "%00", "<b>", "a" * 300, "chosen"]
)
async def test_what_is_not_there_is_not_found(memory_app: Duetime, name: str) -> None:
    async with reader_of(memory_app, *RIGHTS) as browser:
        page = await browser.open(f"/jobs/{name}")
        live = await browser.open(f"/live?view=job&name={name}")
        token = (await browser.open("/jobs")).form("Sign out").fields["token"]
        act = await browser.post(Form(f"/jobs/{name}/trigger", "post", {"token": token}))
    assert {page.response.status_code, live.response.status_code, act.status_code} <= {404, 422}
    assert "<b>" not in page.response.text


async def test_a_job_of_another_tenant_is_not_found(memory_app: Duetime) -> None:
    await put_daily(memory_app, tenant="other")
    async with reader_of(memory_app, *RIGHTS, tenant="acme") as browser:
        page = await browser.open(PATH)
        assert page.response.status_code == 404
        assert (await browser.open(f"/live?view=job&name={DAILY}")).response.status_code == 404
        fields = {
            "token": page.form("Sign out").fields["token"],
            "start": "2029-12-31T12:00",
            "end": "2029-12-31T20:00",
            "version": "1",
            **PARIS,
        }
        for verb in ("pause", "resume", "trigger", "backfill", "edit"):
            act = Form(f"{PATH}/{verb}", "post", fields)
            assert (await browser.post(act)).status_code == 404
    assert (await memory_app.jobs.get(DAILY, tenant="other")).version == 1


async def test_markup_in_texts_is_text(failing_app: Duetime) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
    await failing_app.jobs.put("shop-fails", "0 0 * * *", payload=Broken(text), by=text[:60])
    await failing_app.jobs.trigger("shop-fails")
    await failing_app.testing.drain()
    await failing_app.jobs.pause("shop-fails", by=text[:60], note=text)
    async with administrator_of(failing_app) as browser:
        for path in ("/jobs", "/jobs/shop-fails"):
            shown = (await browser.open(path)).response.text
            assert not re.search(r"<script>|<img|\sstyle=|\son[a-z]+=\"", shown)
            assert "&lt;script&gt;alert(1)" in shown


async def test_the_live_part_follows_and_is_sent_only_if_it_changed(
    memory_app: Duetime, moving: Callable[..., None]
) -> None:
    await put_daily(memory_app)
    address = f"/live?view=job&name={DAILY}"
    async with reader_of(memory_app, *RIGHTS) as browser:
        first = await browser.open(address)
        assert {form.action for form in first.forms} == {PATH}
        headers = {"if-none-match": first.response.headers["etag"]}
        memory_app.clock.advance(timedelta(minutes=5))  # type: ignore[attr-defined]
        moving(2)
        assert (await browser.client.get(address, headers=headers)).status_code == 304
        await memory_app.jobs.pause(DAILY, note="flood")
        moving(2)
        later = await browser.client.get(address, headers=headers)
        assert (later.status_code, "flood" in later.text) == (200, True)


async def test_other_pages_lead_to_it(app: Duetime) -> None:
    """Once there is the place, the links are."""
    await put_daily(app)
    action = await app.jobs.trigger(DAILY)
    rights = ("jobs.read", "actions.read", "stats.read", "notifications.read")
    link = f'href="{PATH}"'
    async with reader_of(app, *rights) as browser:
        for path in ("/", "/timeline", f"/actions/{action.id}", "/jobs"):
            page = await browser.open(path)
            assert link in page.response.text, path
            assert "Jobs" in page.texts["a"]
    async with reader_of(app, "actions.read", "stats.read") as browser:
        for path in ("/", "/timeline", f"/actions/{action.id}"):
            assert link not in (await browser.open(path)).response.text


async def test_a_failing_job_leads_from_its_problem(failing_app: Duetime) -> None:
    await failing_app.jobs.put("shop-fails", "0 0 * * *", payload=Broken(), alert_after=1)
    await failing_app.jobs.trigger("shop-fails")
    await failing_app.testing.drain()
    async with reader_of(failing_app, "jobs.read", "notifications.read") as browser:
        page = await browser.open("/alerts")
    assert 'href="/jobs/shop-fails"' in page.response.text


async def test_in_french(memory_app: Duetime) -> None:
    await put_daily(memory_app)
    async with administrator_of(memory_app) as browser:
        page = await browser.open(f"{PATH}?lang=fr")
        wrong = await browser.open(f"{PATH}?lang=fr&dialog=edit&rule=99+2+*+*+*&rule_zone=UTC")
    assert {"Prochaines échéances", "Définition", "Durées"} <= {*page.texts["h2"]}
    for name in ("Mettre en pause", "Déclencher maintenant", "Rattraper", "Modifier"):
        assert page.form(name)
    assert any("n'est pas une valeur valable" in alert for alert in wrong.alerts)


async def test_what_was_wrong_is_said_in_french(memory_app: Duetime) -> None:
    await put_daily(memory_app)
    async with administrator_of(memory_app) as browser:
        page = await browser.open(f"{PATH}?lang=fr&dialog=pause")
        past = await browser.send(page.form("Confirmer"), **{"Jusqu'à": "2001-01-01T00:00"})
        form = (await browser.open(f"{PATH}?dialog=edit&rule=0+6+*+*+1&rule_zone=UTC")).form(
            "Confirmer"
        )
        await memory_app.jobs.pause(DAILY, by="max")
        stale = await browser.send(form)
        absent = await browser.open("/jobs/shop-gone")
    assert any("n'est pas une valeur valable" in alert for alert in past.alerts)
    assert any("relisez la tâche et recommencez" in alert for alert in stale.alerts)
    assert {"planifiée", "en pause"} <= {*stale.texts["td"], *stale.texts["span"]}
    assert any("n'est visible pour vous" in alert for alert in absent.alerts)
