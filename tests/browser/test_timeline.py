"""The timeline is zoomed by dragging and by keyboard, and what is merged is listed on focus."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from browser.chromium import Tab
from browser.shop import Parcel, Shop

START, END = datetime(2130, 7, 31, tzinfo=UTC), datetime(2130, 8, 3, tzinfo=UTC)
SLACK = timedelta(minutes=10)


def open_timeline(tab: Tab, start: datetime, end: datetime) -> Page:
    page = tab.open(f"/timeline?start={quote(start.isoformat())}&end={quote(end.isoformat())}")
    expect(page.locator("#timeline-chart svg")).to_be_visible()
    return page


def shown(page: Page) -> tuple[datetime, datetime]:
    chart = page.locator("#timeline-chart")
    start, end = (chart.get_attribute(f"data-{name}") for name in ("start", "end"))
    return datetime.fromisoformat(start or ""), datetime.fromisoformat(end or "")


@pytest.mark.main
def test_dragging_zooms_into_the_time_dragged_over(tab: Tab) -> None:
    page = open_timeline(tab, START, END)
    box = page.locator("#timeline-chart svg").bounding_box()
    assert box is not None
    # As the chart draws its axis: from 88 to 952 of 960.
    left, right = (box["x"] + box["width"] * part / 960 for part in (88, 952))
    page.mouse.move(left + (right - left) / 3, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(left + (right - left) / 2, box["y"] + 60)
    expect(page.locator("#timeline-chart .chosen")).to_be_visible()
    page.mouse.move(left + 2 * (right - left) / 3, box["y"] + 60)
    page.mouse.up()
    page.wait_for_url("**#timeline-chart")
    start, end = shown(page)
    assert abs(start - START - timedelta(days=1)) < SLACK
    assert abs(end - START - timedelta(days=2)) < SLACK
    query = parse_qs(urlsplit(page.url).query)
    assert datetime.fromisoformat(query["start"][0]) == start


@pytest.mark.main
def test_keys_zoom_and_move(tab: Tab) -> None:
    page = open_timeline(tab, START, END)
    ranges = {
        "+": (START + timedelta(hours=18), END - timedelta(hours=18)),
        "-": (START, END),
        "ArrowRight": (START + timedelta(hours=36), END + timedelta(hours=36)),
        "ArrowLeft": (START, END),
    }
    for key, expected in ranges.items():
        with page.expect_navigation():
            page.locator("#timeline-chart").press(key)
        assert shown(page) == expected, key
    with page.expect_navigation():
        page.locator("#timeline-chart").press("0")
    start, end = shown(page)
    assert end - start == timedelta(hours=48)
    assert start < datetime.now(UTC) < end


def test_three_ticks_of_a_minute_are_one_count_that_lists_them(tab: Tab, shop: Shop) -> None:
    for name in ("mail-out", "mail-in", "mail-sort"):
        shop.app.sync.jobs.put(name, "0 3 * * *", payload=Parcel(1))
    for name in ("till-open", "till-close"):
        shop.app.sync.jobs.put(name, "10 3 * * *", payload=Parcel(1))
    day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    page = open_timeline(tab, day + timedelta(hours=2, minutes=50), day + timedelta(hours=3.5))
    # The first thing after the chart that takes the focus.
    page.locator("#timeline-chart").focus()
    page.keyboard.press("Tab")
    listed = page.get_by_role("status", name="What is there").get_by_role("listitem")
    expect(listed).to_have_count(4)
    expect(listed.first).to_contain_text("Ticks: 3")
    for name in ("mail-out", "mail-in", "mail-sort"):
        expect(listed.filter(has_text=f"{name}, tick")).to_have_count(1)
    expect(page.locator("#timeline-chart .count")).to_have_count(1)
    expect(page.locator("#timeline-chart a[href*='till-']")).to_have_count(2)
