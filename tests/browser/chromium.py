"""The browser of these tests, and tabs that notice what goes wrong in a page."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

NAMES = ("chromium", "chromium-browser")
# Pages may not do it, and browsers do nothing else in a container of root.
ARGUMENTS = ["--no-sandbox"]
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
# A busy machine is no failure.
TIMEOUT_MILLISECONDS = 30_000
OpenTab = Callable[..., "Tab"]


@dataclass
class Tab:
    """A tab of a browser of its own, and what its pages did wrong."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self._refuse(dialog))

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def another(self) -> "Tab":
        """Another tab of the same reader."""
        return Tab(self.page.context.new_page(), self.address, self.faults)

    def _hear(self, message: ConsoleMessage) -> None:
        # A page that answers an act with an error is itself a resource that failed to load.
        is_answer = message.location.get("url") == self.page.url
        if message.type in ("error", "warning") and not (
            is_answer and message.text.startswith("Failed to load resource")
        ):
            self.faults.append(f"{self.page.url} {message.type}: {message.text}")

    def _refuse(self, dialog: Any) -> None:
        self.faults.append(f"{self.page.url} opened a dialog: {dialog.message}")
        dialog.dismiss()


def confirm(page: Page, **fields: str) -> None:
    """Fill in the open dialog and confirm it."""
    dialog = page.get_by_role("dialog")
    for label, text in fields.items():
        dialog.get_by_label(label.replace("_", " ")).fill(text)
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium (Debian and Ubuntu: apt-get install chromium)")
    expect.set_options(timeout=TIMEOUT_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_tab(chromium: Browser) -> Iterator[OpenTab]:
    """Opens a tab at an address: `open_tab(address, locale="fr-FR", viewport=PHONE)`. Whatever a
    page did wrong fails the test."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def open_tab(address: str, **options: Any) -> Tab:
        given = {"viewport": DESKTOP, "locale": "en-GB", "timezone_id": "UTC", **options}
        context = chromium.new_context(**given)
        context.set_default_timeout(TIMEOUT_MILLISECONDS)
        contexts.append(context)
        tabs.append(Tab(context.new_page(), address))
        return tabs[-1]

    yield open_tab
    for context in contexts:
        context.close()
    assert [fault for tab in tabs for fault in tab.faults] == []
