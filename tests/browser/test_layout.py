"""Nothing jumps: not while a page loads, nor when what it shows changes."""

import pytest
from playwright.sync_api import Page, expect

from browser.chromium import PHONE, OpenTab, Tab
from browser.page_paths import PLACES
from browser.shop import SOON, Parcel, Shop, signed_in

# Chromium sums up what has moved without the reader's doing: part of the window times distance.
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
# Less than a line of text moves by a pixel.
NOTHING = 0.001


def moved(page: Page) -> float:
    """How much has moved by the next frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(page.evaluate("window.moved"))


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_nothing_moves_while_a_page_loads(
    open_tab: OpenTab, sqlite_shop: Shop, viewport: dict[str, int] | None
) -> None:
    options = {} if viewport is None else {"viewport": viewport}
    tab = signed_in(open_tab(sqlite_shop.address, **options), sqlite_shop)
    tab.page.add_init_script(WATCH)
    for path in (*(place.path for place in PLACES), sqlite_shop.path("/actions/{id}")):
        page = tab.open(path)
        page.wait_for_load_state("networkidle")
        assert moved(page) < NOTHING, path


def test_nothing_moves_when_numbers_change(tab: Tab, shop: Shop) -> None:
    tab.page.add_init_script(WATCH)
    page = tab.open("/")
    scheduled = page.locator("#now-states [data-row=scheduled] b")
    before = int(scheduled.inner_text())
    shop.app.sync.schedule(Parcel(99), at=SOON)
    expect(scheduled).to_have_text(str(before + 1))
    assert moved(page) < NOTHING
