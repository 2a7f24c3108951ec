"""Where a reader is sent on to: never to another host."""

from urllib.parse import quote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import Duetime
from duetime.admin.pages.local_paths import local_path
from duetime.admin.pages.router import landing_path
from pages.browser import HTTPS, Browser
from pages.places import new_key

GOOD = [
    "/",
    "/actions",
    "/actions?state=failed&q=a//b&x=https://y",
    "/jobs/shop-daily",
    "/duetime/queues/a%20b",
    "/actions?q=%2F%2Fevil.example",
    "/files/50%25",
]
EVIL = [
    *("//evil.example", "///evil.example", "////evil.example"),
    *("/\\evil.example", "\\\\evil.example", "\\evil.example"),
    *("/%2f/evil.example", "/%2fevil.example", "/%252fevil.example", "/%25252fevil.example"),
    *("/%5cevil.example", "/%5C/evil.example", "/\t/evil.example", "/\n/evil.example"),
    *("https://evil.example", "https:evil.example", "http:/evil.example", "javascript:alert(1)"),
    *("data:text/html,x", "evil.example", "@evil.example", "", " ", " //evil.example", ".", ".."),
    *("/../evil", "/./evil", "/a/../../evil", "/%2e%2e/evil", "/%2e%2e%2f/evil", "/a//evil"),
    *("/\0evil", "/\x7fevil", "/\u2028evil", "/\ud800evil", "/ evil", "/a\u00a0b", "/\r\nx: y"),
    *("//[evil", "http://[evil", "/" + "x" * 3000, "?x", "#x", "/%09/evil", "/%00"),
    "/%" + "25" * 10 + "2fevil",
]


@pytest.mark.parametrize("path", GOOD)
def test_paths_of_this_host(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.parametrize("path", EVIL, ids=ascii)
def test_everything_else_is_refused(path: str) -> None:
    assert local_path(path) is None


@given(st.text(alphabet="/\\%25fFcC.:@?#abev \t\n\r\0é\ud800", max_size=12))
def test_nothing_leads_to_another_host(text: str) -> None:
    for start in ("", "/", "//", "/%2f", "/\\"):
        found = local_path(f"{start}{text}")
        if found is not None:
            target = urljoin(f"{HTTPS}/duetime/sign-in", found)
            assert urlsplit(target).netloc == "shop.example"
            assert (found.isascii(), found.startswith("//"), "\\" in found) == (True, False, False)


def test_other_letters_are_encoded() -> None:
    assert local_path("/jobs/é#x") == "/jobs/%C3%A9%23x"


@pytest.mark.parametrize("path", ["/api/health?x=1", "/sign-in?lang=fr"])
async def test_a_reader_comes_where_they_wanted_to_go(
    memory_app: Duetime, browser: Browser, path: str
) -> None:
    page = await browser.open(f"/sign-in?next={quote(path, safe='')}")
    response = await browser.post(page.form("Sign in"), API_key=await new_key(memory_app))
    assert (response.status_code, response.headers["location"]) == (303, path)


@pytest.mark.parametrize("path", EVIL[:26], ids=ascii)
async def test_a_reader_is_never_led_away(memory_app: Duetime, browser: Browser, path: str) -> None:
    """Neither by the address of the page nor by the form, before signing in or afterwards."""
    page = await browser.open(f"/sign-in?next={quote(path, safe='')}")
    form = page.form("Sign in")
    assert "next" not in form.fields
    form.fields["next"] = path
    response = await browser.post(form, API_key=await new_key(memory_app))
    assert (response.status_code, response.headers["location"]) == (303, landing_path())
    again = await browser.client.get(f"/sign-in?next={quote(path, safe='')}")
    assert again.headers.get("location", landing_path()) == landing_path()


async def test_a_failed_attempt_does_not_forget_the_way(
    memory_app: Duetime, browser: Browser
) -> None:
    page = await browser.open("/sign-in?next=/jobs")
    refused = await browser.send(page.form("Sign in"), API_key="dt_x")
    response = await browser.post(refused.form("Sign in"), API_key=await new_key(memory_app))
    assert response.headers["location"] == "/jobs"


async def test_who_is_signed_in_goes_on_at_once(memory_app: Duetime, browser: Browser) -> None:
    await browser.sign_in(await new_key(memory_app))
    response = await browser.client.get("/sign-in?next=/jobs")
    assert (response.status_code, response.headers["location"]) == (303, "/jobs")
