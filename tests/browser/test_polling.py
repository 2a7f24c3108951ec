"""A page that stays open for hours becomes no heavier."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import CDPSession, Page, Response

from browser.chromium import OpenTab
from browser.shop import SOON, Parcel, Shop, shop_at, signed_in

# Rows come and go.
PATH = "/actions?kind=parcel&state=scheduled"
POLLS, FIRST_POLLS = 3600, 60
NEWS_EVERY = 4
# More than is polled: the clock is stopped before.
BUDGET_MILLISECONDS = 24 * 3_600_000


@dataclass
class Weight:
    """What a page holds once its garbage is collected."""

    nodes: float
    listeners: float
    heap: float


def test_an_open_page_becomes_no_heavier(
    open_tab: OpenTab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the browser's own clock, which jumps to the next poll as soon as one is answered: an hour
    and a half pass in minutes."""
    # For the server, too, ten seconds pass from one look at its clock to the next.
    clock = count(0, 10).__next__
    monkeypatch.setattr("duetime.admin.pages.snapshots.Snapshots.__init__.__defaults__", (clock,))
    with shop_at(f"sqlite:///{tmp_path / 'shop.db'}") as shop:
        add_parcels(shop, 20)
        page = signed_in(open_tab(shop.address), shop).open(PATH)
        session = page.context.new_cdp_session(page)
        poll(page, session, shop, FIRST_POLLS)
        before = weigh(session)
        poll(page, session, shop, POLLS - FIRST_POLLS)
        after = weigh(session)
    assert after.nodes <= before.nodes
    assert after.listeners <= before.listeners
    assert after.heap <= 1.2 * before.heap


def poll(page: Page, session: CDPSession, shop: Shop, polls: int) -> None:
    """Let time pass until so many polls are answered, with something new at times."""
    policy = {"policy": "pauseIfNetworkFetchesPending", "budget": BUDGET_MILLISECONDS}
    answered = Answered()
    session.send("Emulation.setVirtualTimePolicy", policy)
    for _ in range(polls // NEWS_EVERY):
        add_parcels(shop, 1)
        with page.expect_response(answered.enough):
            pass
    session.send("Emulation.setVirtualTimePolicy", {"policy": "pause"})


@dataclass
class Answered:
    """Counts the polls that were answered."""

    polls: int = 0

    def enough(self, response: Response) -> bool:
        is_poll = "/live?" in response.url and response.status in (200, 304)
        self.polls += is_poll
        return is_poll and self.polls % NEWS_EVERY == 0


def add_parcels(shop: Shop, number: int) -> None:
    for order in range(number):
        shop.app.sync.schedule(Parcel(order), at=SOON)


def weigh(session: CDPSession) -> Weight:
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Performance.getMetrics")["metrics"]
    values = {metric["name"]: metric["value"] for metric in found}
    return Weight(values["Nodes"], values["JSEventListeners"], values["JSHeapUsedSize"])
