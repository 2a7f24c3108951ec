"""The timeline: the past and the future on one axis, and how to zoom without scripts."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from admin.client import Parcel
from duetime import Duetime, Every
from duetime.testing import FakeClock
from pages.browser import ShownPage
from pages.readers import administrator_of, reader_of

RIGHTS = ("actions.read", "jobs.read")
DAY = timedelta(days=1)


def counts(page: ShownPage) -> dict[str, str]:
    """How many items each list below the chart has."""
    found = re.findall(
        r'<details id="timeline-(\w+)".*?<span class="count">([^<]*)', page.response.text, re.S
    )
    return dict(found)


def span_of(page: ShownPage) -> tuple[datetime, datetime]:
    """The time that is shown."""
    found = re.search(r'data-start="([^"]*)" data-end="([^"]*)"', page.response.text)
    assert found is not None
    return datetime.fromisoformat(found[1]), datetime.fromisoformat(found[2])


def zoom(page: ShownPage, name: str) -> str:
    """Where a link of the zoom leads to."""
    found = re.search(rf'data-zoom="{name}"[^>]* href="([^"]*)"', page.response.text)
    assert found is not None
    return f"/timeline{unescape(found[1]).partition('#')[0]}"


async def test_past_and_future_on_one_axis(app: Duetime) -> None:
    async with app.worker():
        action = await app.schedule(Parcel())
        await app.wait(action.id, timeout=20)
    await app.schedule(Parcel(), delay=3600)
    await app.jobs.put("shop-poll", Every(hours=7), payload=Parcel())
    async with reader_of(app, *RIGHTS) as browser:
        page = await browser.open("/timeline")
    assert counts(page) == {"ran": "1", "scheduled": "1", "ticks": "3"}
    assert 'class="chart timeline"' in page.response.text
    assert f'href="/actions/{action.id}"' in page.response.text
    assert "shop-poll" in page.response.text
    assert 'href="/jobs/shop-poll"' in page.response.text


async def test_ticks_are_for_those_who_may_read_jobs(memory_app: Duetime) -> None:
    await memory_app.jobs.put("shop-poll", Every(hours=7), payload=Parcel())
    async with reader_of(memory_app, "actions.read") as browser:
        for address in ("/timeline", "/live?view=timeline"):
            page = await browser.open(address)
            assert (counts(page), "shop-poll" in page.response.text) == ({}, False)


async def test_three_of_a_minute_are_one_count_that_names_them(memory_app: Duetime) -> None:
    for delay in (3600, 3605, 3610):
        await memory_app.schedule(Parcel(), delay=delay)
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/timeline")
    svg = page.response.text.partition("<svg xmlns")[2].partition("</svg>")[0]
    counted = [
        label
        for label in re.findall(r"<title>([^<]*)</title>", svg)
        if label.startswith("Scheduled: 3,")
    ]
    assert [label.count("parcel") for label in counted] == [3]


async def test_the_time_stands_in_the_address(memory_app: Duetime, clock: FakeClock) -> None:
    now = clock.now().replace(second=0, microsecond=0)
    await memory_app.schedule(Parcel(), delay=3600)
    async with administrator_of(memory_app) as browser:
        usual = await browser.open("/timeline?tenant=acme")
        assert span_of(usual) == (now - DAY, now + DAY)
        for name, start, end in (
            ("closer", -DAY / 2, DAY / 2),
            ("wider", -2 * DAY, 2 * DAY),
            ("earlier", -2 * DAY, timedelta()),
            ("later", timedelta(), 2 * DAY),
            ("usual", -DAY, DAY),
        ):
            address = zoom(usual, name)
            assert parse_qs(urlsplit(address).query)["tenant"] == ["acme"]
            assert span_of(await browser.open(address)) == (now + start, now + end)
        past = await browser.open(f"/timeline?end={quote(now.isoformat())}")
        assert (span_of(past), counts(past)) == ((now - 2 * DAY, now), {})


async def test_times_without_an_offset_are_of_the_readers_zone(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open(
            "/timeline?tz=Asia/Tokyo&start=2030-05-01T09:00&end=2030-05-02T09:00"
        )
        assert [each.isoformat() for each in span_of(page)] == [
            "2030-05-01T00:00:00+00:00",
            "2030-05-02T00:00:00+00:00",
        ]
        form = page.form("Show")
        assert (form.fields["start"][:16], form.fields["end"][:16]) == (
            "2030-05-01T09:00",
            "2030-05-02T09:00",
        )


@pytest.mark.parametrize(
    "query",
    [
        "start=soon",
        "end=2030-13-01T00:00:00Z",
        "start=2030-01-02T00:00:00Z&end=2030-01-01T00:00:00Z",
        "start=2030-01-01T00:00:00Z&end=2030-01-01T00:00:59Z",
        "start=2030-01-01T00:00:00Z&end=2031-01-02T00:00:01Z",
        "tz=Europe/Paris&start=2030-03-31T02:30",
        "start=9999-12-31T23:59:59.999999Z",
        "end=0001-01-01T00:00:00Z",
    ],
)
async def test_what_is_no_time_is_refused(memory_app: Duetime, query: str) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open(f"/timeline?{query}")
    assert page.response.status_code == 422


@pytest.mark.parametrize(
    "query",
    [
        "end=9999-12-31T23:00:00Z",
        "end=9999-12-31T23:00:00Z&tz=Asia/Tokyo",
        "start=0001-01-01T00:00:00Z&end=0001-06-01T00:00:00Z",
        "start=0001-01-01T00:00:00Z&end=0001-06-01T00:00:00Z&tz=America/New_York",
    ],
)
async def test_at_the_ends_of_the_calendar_links_stay_inside(
    memory_app: Duetime, query: str
) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open(f"/timeline?{query}")
        for name in ("closer", "wider", "usual"):
            assert (await browser.open(zoom(page, name))).response.status_code == 200


async def test_what_is_too_much_is_said(memory_app: Duetime) -> None:
    for number in range(301):
        await memory_app.schedule(Parcel(number), delay=60)
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/timeline")
    assert counts(page) == {"scheduled": "300+"}
    assert "There is more than is drawn: zoom in to see all of it." in page.texts["p"]
    assert "The first 20 of 300" in page.texts["p"]
    assert page.response.text.count("<tr data-row=") == 20


async def test_since_when_runs_are_drawn_is_said(memory_app: Duetime, clock: FakeClock) -> None:
    for number in range(301):
        await memory_app.schedule(Parcel(number))
    await memory_app.testing.drain()
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/timeline?tz=UTC")
    assert any(text.endswith("Runs are drawn since 00:00:00.") for text in page.texts["p"])


async def test_a_tenant_sees_its_own(memory_app: Duetime) -> None:
    await memory_app.schedule(Parcel(), delay=60, tenant="acme")
    await memory_app.schedule(Parcel(), delay=60, tenant="other")
    async with reader_of(memory_app, *RIGHTS, tenant="acme") as browser:
        assert counts(await browser.open("/timeline")) == {"scheduled": "1"}


async def test_live(memory_app: Duetime, moving: Callable[..., None]) -> None:
    async with administrator_of(memory_app) as browser:
        first = await browser.client.get("/live?view=timeline")
        assert "Nothing in this time" in first.text
        await memory_app.schedule(Parcel(), delay=60)
        moving(3)
        tag = {"if-none-match": first.headers["etag"]}
        second = await browser.client.get("/live?view=timeline", headers=tag)
        assert (second.status_code, "parcel" in second.text) == (200, True)
        assert (
            await browser.client.get(
                "/live?view=timeline", headers={"if-none-match": second.headers["etag"]}
            )
        ).status_code == 304


async def test_in_french(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/timeline?lang=fr")
    assert (page.language, page.heading) == ("fr", "Chronologie")
    assert {"Plus tôt", "Zoomer", "Dézoomer", "Plus tard"} <= set(page.texts["a"])
