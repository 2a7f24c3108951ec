"""Rules that every page keeps. The pages are those of the tables, present and future."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browser.chromium import DESKTOP, PHONE, OpenTab, Tab
from browser.page_paths import PAGE_PATHS, PLACES
from browser.shop import Shop, signed_in, working
from duetime.admin.pages.catalogue import text_of

every_page = pytest.mark.parametrize("declared", PAGE_PATHS)


def open_page(open_tab: OpenTab, shop: Shop, declared: str, **options: Any) -> Tab:
    tab = signed_in(open_tab(shop.address, **options), shop)
    tab.open(shop.path(declared))
    return tab


@every_page
def test_its_policy_is_kept_and_nothing_is_logged(
    open_tab: OpenTab, sqlite_shop: Shop, declared: str
) -> None:
    """A breach is an error in the console, which fails each of these tests."""
    tab = open_page(open_tab, sqlite_shop, declared)
    tab.page.wait_for_load_state("networkidle")
    assert tab.page.locator("html[data-script]").count() == 1


@every_page
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_anybody_out(
    open_tab: OpenTab, sqlite_shop: Shop, declared: str, theme: str
) -> None:
    tab = open_page(open_tab, sqlite_shop, declared, color_scheme=theme)
    assert [*faults(tab)] == []


@every_page
def test_a_phone_need_not_scroll_sideways(
    open_tab: OpenTab, sqlite_shop: Shop, declared: str
) -> None:
    tab = open_page(open_tab, sqlite_shop, declared, viewport=PHONE)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_an_open_dialog_keeps_nobody_out(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    tab = signed_in(open_tab(sqlite_shop.address), sqlite_shop)
    for verb in ("cancel", "reschedule", "shift"):
        tab.open(f"/actions?kind=parcel&dialog=bulk&bulk={verb}&of=filter")
        assert [*faults(tab)] == []
        tab.page.set_viewport_size(PHONE)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_an_open_form_of_a_subscription_keeps_nobody_out(
    open_tab: OpenTab, sqlite_shop: Shop
) -> None:
    tab = signed_in(open_tab(sqlite_shop.address), sqlite_shop)
    tab.open("/alerts/subscriptions?dialog=subscribe")
    tab.page.get_by_text("Only some jobs, kinds or queues").click()
    assert [*faults(tab)] == []
    tab.page.set_viewport_size(PHONE)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_no_cell_lies_under_the_acts(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    tab = open_page(open_tab, sqlite_shop, "/actions")
    assert tab.page.evaluate(
        "(([box]) => box.scrollWidth <= box.clientWidth)(document.querySelectorAll('main .scroll'))"
    )


def test_a_phone_begins_with_folded_filters(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    tab = open_page(open_tab, sqlite_shop, "/actions", viewport=PHONE)
    link = tab.page.get_by_role("link", name="Group by error")
    assert not link.is_visible()
    tab.page.get_by_text("Filter", exact=True).click()
    assert link.is_visible()


def test_a_phone_shows_in_which_place_one_is(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    """There are more places than fit beside each other."""
    page = signed_in(open_tab(sqlite_shop.address, viewport=PHONE), sqlite_shop).page
    for place in PLACES:
        page.goto(sqlite_shop.address + place.path)
        box = page.locator(".rail [aria-current]").bounding_box()
        assert box is not None
        assert box["x"] >= 0, place.name
        assert box["x"] + box["width"] < PHONE["width"] + 1, place.name


def test_on_a_phone_labels_stand_beside_their_fields(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    page = open_page(open_tab, sqlite_shop, "/timeline", viewport=PHONE).page
    for name in ("From", "To"):
        label = page.locator(".range label", has_text=name).bounding_box()
        field = page.get_by_label(name, exact=True).bounding_box()
        assert label is not None
        assert field is not None
        assert abs(label["y"] + label["height"] / 2 - field["y"] - field["height"] / 2) < 8


def test_on_a_phone_charts_can_be_read(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    """Text in charts is scaled with them."""
    with working(sqlite_shop):
        page = open_page(open_tab, sqlite_shop, "/workers", viewport=PHONE).page
        text = page.locator("svg.slots text").first.bounding_box()
    assert text is not None
    assert text["height"] >= 12


@every_page
def test_without_scripts_it_says_what_it_says_with_them(
    open_tab: OpenTab, sqlite_shop: Shop, declared: str
) -> None:
    headings = [
        open_page(open_tab, sqlite_shop, declared, java_script_enabled=scripts)
        .page.locator("h1")
        .all_inner_texts()
        for scripts in (True, False)
    ]
    assert headings[0] == headings[1] != []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_its_title_is_french_for_french_readers(
    open_tab: OpenTab, sqlite_shop: Shop, place: Any
) -> None:
    tab = open_page(open_tab, sqlite_shop, place.path, locale="fr-FR")
    assert tab.page.locator("html").get_attribute("lang") == "fr"
    name = text_of(f"place_{place.name}", "fr")
    assert tab.page.title() == f"{name} · shop"
    assert tab.page.locator("h1").inner_text() == name
    expect(tab.page.locator("nav [aria-current=page]")).to_have_accessible_name(name)


@pytest.mark.main
def test_all_places_in_one_go(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    """Policy, accessibility and width of the places, as a reader goes through them."""
    tab = signed_in(open_tab(sqlite_shop.address), sqlite_shop)
    for place in PLACES:
        tab.page.set_viewport_size(DESKTOP)
        tab.page.locator(f".rail [data-key={place.key}]").click()
        tab.page.wait_for_selector(f".rail [data-key={place.key}][aria-current]")
        assert [*faults(tab)] == []
        tab.page.set_viewport_size(PHONE)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], (
            place.path
        )


def faults(tab: Tab) -> Iterator[str]:
    """What axe finds, however grave."""
    for violation in Axe().run(tab.page).response["violations"]:
        places = [" ".join(node["target"]) for node in violation["nodes"]]
        yield f"{violation['id']}: {violation['help']} at {places}"
