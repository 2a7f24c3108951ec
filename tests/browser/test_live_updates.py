"""What is new appears, and nothing that the reader does is disturbed."""

import pytest
from playwright.sync_api import expect

from browser.chromium import Tab
from browser.shop import QUEUE, SOON, Parcel, Shop


@pytest.mark.main
def test_focus_selection_and_scroll_survive_a_new_row(tab: Tab, shop: Shop) -> None:
    page = tab.open("/actions")
    rows = page.locator("[data-rows] tbody tr")
    before = rows.count()
    assert before > 40
    kept = rows.nth(30).locator("th a")
    kept.focus()
    page.evaluate("scrollTo(0, 400)")
    row = rows.nth(30).get_attribute("data-row")
    page.evaluate(
        "getSelection().selectAllChildren(document.querySelectorAll('[data-rows] tbody th a')[28])"
    )
    selected = page.evaluate("getSelection().toString()")
    at = page.evaluate("scrollY")
    new = shop.app.sync.schedule(Parcel(99), at=SOON)
    expect(page.locator(f"[data-row='{new.id}']")).to_be_attached()
    expect(rows).to_have_count(before + 1)
    assert page.evaluate("document.activeElement.closest('tr').dataset.row") == row
    assert page.evaluate("getSelection().toString()") == selected != ""
    assert page.evaluate("scrollY") == at > 0


def test_what_ended_is_shown_without_reloading(tab: Tab, shop: Shop) -> None:
    action = shop.app.sync.schedule(Parcel(7))
    page = tab.open(f"/actions/{action.id}")
    expect(page.locator("main .chip.is-scheduled").first).to_be_visible()
    shop.drain()
    expect(page.locator("main .chip.is-succeeded").first).to_be_visible()
    expect(page.get_by_text("order 7 delivered")).to_be_visible()


def test_open_menus_and_lists_and_what_is_typed_survive(tab: Tab, shop: Shop) -> None:
    page = tab.open("/timeline?start=2130-07-31T00:00&end=2130-08-03T00:00&tz=UTC")
    scheduled = page.locator("#timeline-scheduled")
    scheduled.locator("summary").click()
    menu = page.locator("details.menu").first
    menu.locator("summary").click()
    menu.get_by_role("textbox").fill("Asia/Tok")
    counted = int(scheduled.locator(".count").inner_text())
    shop.app.sync.schedule(Parcel(99), at=SOON)
    expect(scheduled.locator(".count")).to_have_text(str(counted + 1))
    expect(scheduled.locator("tbody tr").first).to_be_visible()
    expect(menu.get_by_role("textbox")).to_be_focused()
    expect(menu.get_by_role("textbox")).to_have_value("Asia/Tok")


def test_what_is_typed_in_a_dialog_survives(tab: Tab, shop: Shop) -> None:
    page = tab.open("/queues")
    row = page.locator("tbody tr", has_text=QUEUE)
    row.get_by_role("button", name="Pause").click()
    note = page.get_by_role("dialog").get_by_label("Note")
    note.fill("the provi")
    before = row.locator("td.number").first.inner_text()
    shop.app.sync.schedule(Parcel(99), at=SOON)
    expect(row.locator("td.number").first).not_to_have_text(before)
    expect(note).to_be_focused()
    expect(note).to_have_value("the provi")


def test_a_server_that_is_away_is_said_and_waited_for(tab: Tab) -> None:
    page = tab.open("/")
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("#connection")).to_be_hidden()
    # The browser logs what it could not load, which is what this test is about.
    assert all("ERR_INTERNET_DISCONNECTED" in fault for fault in tab.faults)
    tab.faults.clear()
