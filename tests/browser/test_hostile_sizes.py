"""Actions with ten thousand attempts, a payload of a megabyte, or names from right to left."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import time_ns
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import expect

from browser.chromium import DESKTOP, PHONE, OpenTab, Tab
from browser.shop import Broken, Parcel, Shop, shop_at, signed_in

ATTEMPTS = 10_000
MEGABYTE = 1_000_000
# Longer than any page should be, much shorter than what is stored.
MAX_PAGE_BYTES = 200_000
RIGHT_TO_LEFT = "طلب العميل رقم 7 من متجر الكتب"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with shop_at(f"sqlite:///{tmp_path / 'shop.db'}") as shop:
        yield shop


def open_action(tab: Tab, action: UUID) -> int:
    """Open the page of an action; return its size."""
    response = tab.page.goto(f"{tab.address}/actions/{action}")
    assert response is not None
    for size in (PHONE, DESKTOP):
        tab.page.set_viewport_size(size)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    return len(response.body())


def test_ten_thousand_attempts(open_tab: OpenTab, shop: Shop) -> None:
    failed = UUID(shop.arguments["id"])
    add_attempts(shop, failed)
    tab = signed_in(open_tab(shop.address), shop)
    assert open_action(tab, failed) < MAX_PAGE_BYTES
    rows = tab.page.locator("#action-runs tbody tr")
    shown = rows.count()
    assert 10 < shown <= 100
    first = rows.first.get_attribute("data-row")
    tab.page.get_by_role("link", name="Older runs").click()
    expect(tab.page.locator(f"[data-row='{first}']")).to_have_count(0)
    expect(rows).to_have_count(shown)


def test_a_payload_of_a_megabyte(open_tab: OpenTab, shop: Shop) -> None:
    action = shop.app.sync.schedule(Parcel(1, "word " * (MEGABYTE // 5 - 20)), delay=60)
    tab = signed_in(open_tab(shop.address), shop)
    assert open_action(tab, action.id) < MAX_PAGE_BYTES
    expect(tab.page.get_by_role("button", name="Cancel")).to_be_visible()


def test_names_from_right_to_left_leave_the_page_as_it_is(open_tab: OpenTab, shop: Shop) -> None:
    action = shop.app.sync.schedule(
        Broken(RIGHT_TO_LEFT), queue=RIGHT_TO_LEFT, key=RIGHT_TO_LEFT, delay=60
    )
    tab = signed_in(open_tab(shop.address), shop)
    open_action(tab, action.id)
    for path in (f"/actions/{action.id}", "/actions", "/queues"):
        page = tab.open(path)
        expect(page.get_by_text(RIGHT_TO_LEFT).first).to_be_visible()
        assert page.evaluate("getComputedStyle(document.querySelector('main')).direction") == "ltr"


def add_attempts(shop: Shop, action: UUID) -> None:
    """Write what so many attempts of an hour would have left."""
    start = time_ns() // 1000 - 3_600_000_000
    statement = """
        INSERT INTO duetime_runs
            (id, action_id, due_at, started_at, finished_at, attempt, worker, outcome, error)
        VALUES (?, ?, ?, ?, ?, ?, 'w', 'retried', 'ValueError: the bank is closed')
    """
    attempts = (
        (str(uuid4()), str(action), at, at + 1000, at + 200_000, 1 + n)
        for n in range(ATTEMPTS)
        for at in [start + n * 300_000]
    )
    path = shop.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(statement, attempts)
