"""Pages while the store is away: they say so, and nobody gets in or is let out."""

import httpx
import pytest

from admin.client import USER, identify
from admin.test_problems import BrokenStore
from duetime import Duetime
from pages.browser import Browser, ShownPage
from pages.planted import with_planted_pages

SESSION = f"__Secure-duetime=dts_{'0' * 32}_{'0' * 64}"
KEY = f"dt_{'0' * 32}_{'0' * 64}"


@pytest.fixture
def away() -> Duetime:
    return Duetime(store=BrokenStore())


def check(response: httpx.Response) -> None:
    shown = ShownPage(response)
    assert (response.status_code, shown.heading) == (503, "The store does not answer")
    assert (response.headers["retry-after"], "db17" in response.text) == ("5", False)


async def test_a_page_says_that_the_store_is_away(away: Duetime) -> None:
    asgi = with_planted_pages(away, identify=identify, admin_roles={"administrators"})
    async with Browser(asgi) as browser:
        for path in ("/sign-in", "/queues"):
            check(await browser.client.get(path, headers={"cookie": SESSION}))
        check(await browser.client.get("/queues", headers={USER: "root"}))
        cookies = {"cookie": SESSION, "sec-fetch-site": "same-origin"}
        check(await browser.client.post("/sign-out", headers=cookies))


async def test_signing_in_waits_for_the_store(
    away: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    async with Browser(away.admin()) as browser:
        page = await browser.open("/sign-in")
        check(await browser.post(page.form("Sign in"), API_key=KEY))
        # What is no key is refused all the same, though the audit log cannot say so.
        assert (await browser.sign_in("x")).response.status_code == 401
    assert "could not be written to the audit log" in caplog.text
