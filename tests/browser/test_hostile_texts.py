"""Texts that try to be scripts: stored in every field that pages show, or sent in addresses."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from browser.chromium import OpenTab
from browser.page_paths import PAGE_PATHS, PLACES
from browser.shop import PAGER, ROLE, Broken, Parcel, Shop, signed_in
from duetime import ANY

HOSTILE = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "\"><svg onload='window.hit=1'>",
    "' autofocus onfocus=window.hit=1 x='",
    "</title></textarea></style><script>window.hit=1</script>",
    "javascript:window.hit=1",
    "{{ 7 * 191 }}{% raw %}",
    "&lt;img src=x onerror=window.hit=1&gt;",
    "\u202e\u2066<b>",
)
PARAMETERS = ("q", "kind", "queue", "state", "span", "start", "of", "dialog", "lang", "tz", "theme")


@pytest.fixture(scope="module")
def hostile_shop(sqlite_shop: Shop) -> Shop:
    """Names, keys, ids, tenants, notes, errors, payloads, results: hostile ones in all of them."""
    verbs = sqlite_shop.app.sync
    for text in HOSTILE:
        action = verbs.schedule(
            Parcel(1, text), delay=60, key=text, correlation_id=text, by=text, queue=text
        )
        verbs.schedule(Parcel(1), delay=60, tenant=text)
        verbs.cancel(action.id, by=text, note=text)
        verbs.schedule(Parcel(2, text), delay=60, queue=text)
        verbs.queues.pause(text, by=text, note=text)
        verbs.jobs.pause("nightly-close-day", by=text, note=text)
        verbs.jobs.resume("nightly-close-day", by=text, note=text)
        verbs.api_keys.create(text, [ROLE], None, by=text)
        verbs.notifications.add("no-worker", via=PAGER, to=text, jobs=text, tenant=ANY, by=text)
        failed = verbs.schedule(Broken(text), correlation_id=f"customer of {text}")
    verbs.jobs.pause("nightly-close-day", by=HOSTILE[0], note=HOSTILE[1])
    sqlite_shop.drain()
    sqlite_shop.gather()
    sqlite_shop.arguments["id"] = str(failed.id)
    return sqlite_shop


@pytest.mark.parametrize("declared", PAGE_PATHS)
def test_what_is_stored_runs_nothing(open_tab: OpenTab, hostile_shop: Shop, declared: str) -> None:
    tab = signed_in(open_tab(hostile_shop.address), hostile_shop)
    page = tab.open(hostile_shop.path(declared))
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.hit") is None
    assert "1337" not in page.inner_text("main")


@pytest.mark.main
def test_it_is_shown_as_it_is(open_tab: OpenTab, hostile_shop: Shop) -> None:
    tab = signed_in(open_tab(hostile_shop.address), hostile_shop)
    for text in HOSTILE[:4]:
        page = tab.open(f"/actions?q={quote(text)}")
        expect(page.locator("[data-rows] tbody tr").first).to_contain_text(text)
        page.locator("[data-rows] tbody th a").first.click()
        expect(page.locator("main")).to_contain_text(text)
        assert page.evaluate("window.hit") is None


def test_what_an_address_says_runs_nothing(open_tab: OpenTab, hostile_shop: Shop) -> None:
    tab, text = signed_in(open_tab(hostile_shop.address), hostile_shop), quote(" ".join(HOSTILE))
    paths = [f"{place.path}?{parameter}={text}" for place in PLACES for parameter in PARAMETERS]
    for path in (*paths, f"/sign-in?next={text}", f"/{quote(text, safe='')}"):
        tab.open(path)
        assert tab.page.evaluate("window.hit") is None, path
        assert "1337" not in tab.page.inner_text("body"), path
