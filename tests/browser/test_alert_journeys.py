"""What people who are notified come for: to subscribe, to hear of a failure, to get no more."""

from __future__ import annotations

import asyncio

import pytest
from playwright.sync_api import Page, expect

from browser.chromium import OpenTab, Tab, confirm
from browser.shop import PAGER, Broken, Shop, in_another_thread, signed_in
from duetime import ANY, Duetime
from polling import until


def fail_one(shop: Shop, text: str) -> None:
    """Let an action fail in a worker, which makes a notification of it."""
    in_another_thread(lambda: asyncio.run(failed(shop.app, text)))


async def failed(app: Duetime, text: str) -> None:
    before = len(await app.notifications.list(reader="nobody", tenant=ANY))

    async def is_notified() -> bool:
        return len(await app.notifications.list(reader="nobody", tenant=ANY)) > before

    async with app.worker():
        await app.schedule(Broken(text))
        await until(is_notified, 60)


def unread(page: Page) -> str:
    """The number at the link of the navigation, as it is seen."""
    number = page.locator("#unread")
    return number.inner_text().split()[0] if number.is_visible() else ""


def subscribe(tab: Tab, topic: str) -> Page:
    page = tab.open("/alerts/subscriptions")
    page.get_by_role("button", name="Subscribe").click()
    page.get_by_role("dialog").get_by_label(topic).check()
    confirm(page, Note="to see it")
    return page


@pytest.mark.main
def test_a_failure_is_seen_read_and_muted(tab: Tab, shop: Shop) -> None:
    page = tab.open("/alerts")
    page.get_by_role("button", name="Mark all as read").click()
    subscribe(tab, "An action failed")
    expect(page.locator("[data-rows] tbody tr")).to_have_count(3)
    assert unread(page) == ""
    fail_one(shop, "the bridge is closed")

    tab.open("/alerts")
    assert unread(page) == "1"
    link = page.get_by_role("navigation").get_by_role("link", name="Alerts", exact=True)
    expect(link).to_have_accessible_description("1 unread")
    row = page.locator(".notifications tr.unread")
    expect(row).to_contain_text("ValueError: the bridge is closed")
    expect(row.get_by_text("warning")).to_be_visible()
    row.get_by_role("link", name="Action “broken” failed").click()
    expect(page.get_by_role("heading", level=1, name="broken")).to_be_visible()
    page.go_back()
    row.get_by_role("button", name="Mark as read").click()
    expect(page.locator(".notifications tr.unread")).to_have_count(0)
    assert unread(page) == ""

    tab.open("/alerts/subscriptions")
    own = page.locator("tbody tr", has_text="An action failed")
    own.get_by_role("button", name="Mute").click()
    confirm(page, Note="a planned failure", Until="2130-07-31T14:00")
    expect(own.get_by_text("muted")).to_be_visible()
    own.get_by_role("button", name="Unmute").click()
    expect(own.get_by_text("active")).to_be_visible()
    own.get_by_role("button", name="Remove").click()
    confirm(page, Note="enough")
    expect(page.locator("[data-rows] tbody tr")).to_have_count(2)


def test_an_open_page_counts_what_is_new(tab: Tab, shop: Shop) -> None:
    """Without being loaded again, within the seconds for which a number is kept."""
    subscribe(tab, "An action failed")
    page = tab.open("/queues")
    assert unread(page) == "1"
    fail_one(shop, "the bridge is closed")
    expect(page.locator("#unread")).to_contain_text("2")
    assert page.url.endswith("/queues")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_reader_unsubscribes_by_the_link_of_a_message(
    open_tab: OpenTab, shop: Shop, scripts: bool
) -> None:
    """Without signing in."""
    tab = open_tab(shop.address, java_script_enabled=scripts)
    page = tab.open(shop.path("/unsubscribe/{token}"))
    expect(page.get_by_role("heading", level=1, name="Unsubscribe")).to_be_visible()
    expect(page.locator("main")).to_contain_text("night watch")
    assert state_of_pager(shop) == "active"
    page.get_by_role("button", name="Unsubscribe").click()
    expect(page.get_by_role("status")).to_contain_text("gets no more of these messages")
    assert state_of_pager(shop) == "ended"


def state_of_pager(shop: Shop) -> str:
    found = shop.app.sync.notifications.subscriptions(tenant=ANY)
    [state] = [each.state for each in found if each.channel == PAGER]
    return state


def test_without_scripts_a_french_reader_subscribes_and_reads(
    open_tab: OpenTab, shop: Shop
) -> None:
    tab = open_tab(shop.address, locale="fr-FR", java_script_enabled=False)
    page = signed_in(tab, shop).open("/alerts/subscriptions")
    page.get_by_role("button", name="S'abonner").click()
    page.get_by_role("dialog").get_by_label("Une action a échoué").check()
    page.get_by_role("dialog").get_by_role("button", name="Confirmer").click()
    expect(page.get_by_role("status").first).to_contain_text("est abonné")
    fail_one(shop, "le pont est fermé")
    tab.open("/alerts?unread=true")
    expect(page.locator(".notifications tr.unread")).to_have_count(2)
    expect(page.locator("main")).to_contain_text("ValueError: le pont est fermé")
    page.get_by_role("button", name="Tout marquer comme lu").click()
    expect(page.get_by_text("Vous les avez toutes lues")).to_be_visible()
