"""Take the pictures of the documentation: `make screenshots`.

Drives the demo in Chromium and writes `docs/images`: pages in both themes, as a reader of the
dashboard sees them.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize, sync_playwright

from browser.chromium import ARGUMENTS, NAMES

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
SIZE: ViewportSize = {"width": 1280, "height": 640}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PAGES = {
    "now": "/",
    "timeline": "/timeline",
    "actions": "/actions?state=failed",
    "alerts": "/alerts",
    # Its newest action, which was retried.
    "action": "/actions?kind=send-invoice&state=failed",
}
LINK = re.compile(r"(http://\S+)/sign-in\S+")
# Until the demo has something to show of now.
LIVING_MILLISECONDS = 12_000


def main() -> None:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        sys.exit("no Chromium (Debian and Ubuntu: apt-get install chromium)")
    IMAGES.mkdir(exist_ok=True)
    with demo() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        context = browser.new_context(viewport=SIZE, locale="en-GB", timezone_id="UTC")
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_timeout(LIVING_MILLISECONDS)
        for name in PAGES:
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                take(page, link, name, theme)
        browser.close()


@contextmanager
def demo() -> Iterator[str]:
    """Run the demo, and yield its link."""
    command = [sys.executable, "-m", "duetime.cli", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = next(filter(None, map(LINK.search, process.stdout)))
        yield found[0]
        process.terminate()


def take(page: Page, link: str, name: str, theme: str) -> None:
    page.goto(link.partition("/sign-in")[0] + PAGES[name])
    if name == "action":
        page.locator("[data-rows] tbody th a").first.click()
    page.wait_for_load_state("networkidle")
    file = IMAGES / f"{name}-{theme}.png"
    page.screenshot(path=file)
    print(f"{file.name}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
