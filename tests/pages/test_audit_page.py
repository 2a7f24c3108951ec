"""The page about the audit log: its filter, its pages, what it shows of a change, its export."""

import json
import re
from datetime import UTC, datetime

import pytest

from admin.client import Parcel
from duetime import Duetime
from duetime.testing import FakeClock
from pages.broken import Broken
from pages.browser import ShownPage
from pages.readers import administrator_of, reader_of


def rows(page: ShownPage) -> list[str]:
    """The rows of the table, without tags."""
    found = re.findall(r'<tr data-row=".*?</tr>', page.response.text, re.S)
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in found]


async def written(app: Duetime) -> str:
    """Two entries about an action and one about a queue; the id of the action."""
    action = await app.schedule(Parcel(), delay=3600)
    await app.reschedule(action.id, delay=7200, by="ada", note="asked <b>for")
    await app.cancel(action.id, by="max")
    await app.queues.pause("mail", by="ada")
    return str(action.id)


async def test_entries_say_who_changed_what_and_how_it_was(app: Duetime) -> None:
    id = await written(app)
    async with reader_of(app, "audit.read", "actions.read") as browser:
        page = await browser.open(f"/audit?subject={id}&tz=Europe/Paris")
    cancelled, rescheduled = rows(page)
    assert re.search(r"max python cancel action .*Before scheduled After cancelled", cancelled)
    assert re.search(r"ada python reschedule .*asked &lt;b&gt;for .*due_at Before ", rescheduled)
    assert re.search(r"Before \S.*Europe/Paris .* After \S.*Europe/Paris", rescheduled)
    assert f'href="/actions/{id}"' in page.response.text


async def test_an_error_that_a_bulk_was_about_is_for_those_who_may_read_data(
    failing_app: Duetime,
) -> None:
    await failing_app.schedule(Broken("no order of ada"))
    await failing_app.testing.drain()
    [group] = await failing_app.groups(by="error")
    await failing_app.bulk("retry", filter={"error_group": group.value}, by="max")
    async with (
        reader_of(failing_app, "audit.read", "payload.read") as ann,
        reader_of(failing_app, "audit.read") as bob,
    ):
        for path in ("/audit?verb=bulk", "/audit/export?verb=bulk"):
            assert "no order of ada" in (await ann.open(path)).response.text
            text = (await bob.open(path)).response.text
            assert "order of ada" not in text
            assert "ValueError" in text


async def test_a_subject_leads_only_where_the_reader_may_go(memory_app: Duetime) -> None:
    id = await written(memory_app)
    async with reader_of(memory_app, "audit.read") as browser:
        text = (await browser.open("/audit")).response.text
    assert f'href="/actions/{id}"' not in text
    assert 'href="/queues"' not in text
    assert f'href="?subject={id}"' in text


async def test_the_filter_is_in_the_address(app: Duetime, clock: FakeClock) -> None:
    clock.set(datetime(2030, 1, 1, 10, tzinfo=UTC))
    await written(app)
    clock.set(datetime(2030, 1, 1, 12, tzinfo=UTC))
    await app.queues.resume("mail", by="ada")
    async with reader_of(app, "audit.read") as browser:
        for query, count in (
            ("by=ada&verb=&subject=", 3),
            ("by=max", 1),
            ("by=ada&verb=pause", 1),
            ("subject=mail", 2),
            ("subject=mail&since=2030-01-01T12:30&zone=Europe/Paris", 1),
            ("subject=mail&before=2030-01-01T12:30&zone=Europe/Paris", 1),
            ("subject=mail&since=2030-01-01T12:30&zone=UTC", 0),
        ):
            page = await browser.open(f"/audit?{query}")
            assert len(rows(page)) == count, query
        page = await browser.open("/audit?by=ada&since=2030-01-01T11:00&zone=UTC&tz=Asia/Tokyo")
        assert page.form("Filter").fields["since"] == "2030-01-01T20:00"
        assert page.form("Filter").fields["zone"] == "Asia/Tokyo"
        none = await browser.open("/audit?by=nobody")
        assert "No entry matches" in none.texts["p"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("since=soon", "is not a date and time"),
        ("since=2130-03-26T02:30&zone=Europe/Paris", "The clocks of Europe/Paris skip"),
        ("verb=fly", "give one of"),
        ("cursor=x", "pass the next_cursor of a page unchanged"),
    ],
)
async def test_what_is_no_filter_is_said(memory_app: Duetime, query: str, said: str) -> None:
    async with reader_of(memory_app, "audit.read") as browser:
        page = await browser.open(f"/audit?{query}")
    assert page.response.status_code == 422
    assert said in page.response.text


async def test_pages_follow_one_another(memory_app: Duetime) -> None:
    for number in range(60):
        await memory_app.queues.pause(f"q{number}", by="ada")
    async with reader_of(memory_app, "audit.read") as browser:
        first = await browser.open("/audit?by=ada")
        [following] = re.findall(r'href="([^"]*)" rel="next"', first.response.text)
        second = await browser.open("/audit" + following.replace("&amp;", "&"))
        assert (len(rows(first)), len(rows(second))) == (50, 10)
        assert not set(rows(first)) & set(rows(second))
        assert 'rel="next"' not in second.response.text


async def test_the_export_has_every_entry_of_the_filter(app: Duetime) -> None:
    for number in range(210):
        await app.queues.pause(f"q{number}", by="ada")
    async with reader_of(app, "audit.read") as browser:
        shown = await browser.open("/audit?by=ada&cursor=")
        [address] = re.findall(r'href="(/audit/export[^"]*)"', shown.response.text)
        response = await browser.client.get(address.replace("&amp;", "&"))
    assert (response.status_code, response.headers["content-type"]) == (200, "application/jsonl")
    assert response.headers["content-disposition"] == 'attachment; filename="audit.jsonl"'
    assert response.headers["cache-control"] == "no-store"
    entries = [json.loads(line) for line in response.text.splitlines()]
    assert [entry["subject_id"] for entry in entries] == [f"q{n}" for n in reversed(range(210))]


async def test_addresses_are_none_of_a_tenants_business(memory_app: Duetime) -> None:
    asgi_path = "/audit?verb=sign-in"
    async with reader_of(memory_app, "audit.read", tenant="acme") as browser:
        page = await browser.open(asgi_path)
        exported = await browser.client.get("/audit/export?verb=sign-in")
    assert len(rows(page)) == 1
    assert "203.0.113.9" not in page.response.text + exported.text
    async with administrator_of(memory_app) as browser:
        assert "203.0.113.9" in (await browser.open(asgi_path)).response.text


async def test_another_tenants_entries_never_show(app: Duetime) -> None:
    for tenant in ("acme", "other"):
        action = await app.schedule(Parcel(), delay=60, tenant=tenant)
        await app.cancel(action.id, tenant=tenant, by=f"operator of {tenant}")
    async with reader_of(app, "audit.read", tenant="acme") as browser:
        page = await browser.open("/audit?verb=cancel")
        exported = await browser.client.get("/audit/export?verb=cancel")
        assert len(rows(page)) == len(exported.text.splitlines()) == 1
        assert "operator of other" not in page.response.text + exported.text
        assert (await browser.client.get("/audit/export?tenant=other")).status_code == 403


async def test_who_may_not_read_it_gets_nothing(memory_app: Duetime) -> None:
    async with reader_of(memory_app, "actions.read") as browser:
        assert (await browser.open("/audit")).response.status_code == 403
        assert (await browser.client.get("/audit/export")).status_code == 403
        assert (await browser.client.post("/audit")).status_code == 405


async def test_in_french(memory_app: Duetime) -> None:
    await written(memory_app)
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/audit?by=ada&lang=fr")
    assert page.heading == "Audit"
    assert "mettre en pause" in rows(page)[0]
    assert page.form("Filtrer")


async def test_what_is_no_filter_is_said_in_french(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/audit?since=soon&lang=fr")
    assert "since: « soon » n'est pas une date avec une heure." in page.alerts + page.texts["p"]
