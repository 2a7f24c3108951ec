"""Cookies: their attributes, and where they count."""

from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest

from admin.client import problem
from duetime import Duetime
from duetime.admin.identity.cookies import Cookies
from pages.browser import HTTPS, LOOPBACK, PLAIN, Browser
from pages.places import ROLE, new_key

BASE_URL = "https://shop.example/ops"


async def session_cookie(browser: Browser, key: str) -> dict[str, Any]:
    """The attributes of the session's cookie, with its name."""
    page = await browser.open("/sign-in")
    response = await browser.post(page.form("Sign in"), API_key=key)
    [text] = response.headers.get_list("set-cookie")
    [(name, morsel)] = SimpleCookie(text).items()
    given = {attribute: value for attribute, value in morsel.items() if value}
    return given | {"name": name, "value": morsel.value}


async def test_over_https_the_cookie_is_secure(memory_app: Duetime, browser: Browser) -> None:
    cookie = await session_cookie(browser, await new_key(memory_app))
    assert cookie.pop("value").startswith("dts_")
    assert cookie == {
        "name": "__Secure-duetime",
        "secure": True,
        "httponly": True,
        "samesite": "Lax",
        "path": "/",
        "max-age": str(12 * 3600),
    }


async def test_on_this_machine_it_is_plain(memory_app: Duetime, local_browser: Browser) -> None:
    cookie = await session_cookie(local_browser, await new_key(memory_app))
    assert (cookie["name"], "secure" in cookie, cookie["httponly"]) == ("duetime", False, True)


async def test_behind_a_proxy_the_base_url_tells_of_https(memory_app: Duetime) -> None:
    asgi = memory_app.admin(base_url=BASE_URL)

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        await asgi(scope | {"scheme": "http"}, receive, send)

    async with Browser(behind) as browser:
        cookie = await session_cookie(browser, await new_key(memory_app))
        assert (cookie["name"], cookie["secure"]) == ("__Secure-duetime", True)
        assert (await browser.open("/sign-in")).reader is not None


async def test_over_plain_http_between_machines_nobody_signs_in(
    memory_app: Duetime, memory_asgi: Any
) -> None:
    key = await new_key(memory_app)
    async with Browser(memory_asgi) as other, Browser(memory_asgi, PLAIN) as browser:
        form = (await other.open("/sign-in")).form("Sign in")
        page = await browser.open("/sign-in")
        assert (page.response.status_code, page.forms) == (403, [])
        assert "HTTPS" in page.alerts[0]
        browser.client.cookies.set("duetime-form", other.cookies()["__Secure-duetime-form"])
        posted = await browser.post(form, API_key=key)
        assert (posted.status_code, posted.headers.get("set-cookie")) == (403, None)
    assert (await memory_app.audit.find(verb="sign-in")).items == []


@pytest.mark.parametrize("proto", ["x-forwarded-proto", "x-forwarded-ssl", "forwarded"])
async def test_whoever_says_that_it_is_https_is_not_believed(
    memory_app: Duetime, memory_asgi: Any, proto: str
) -> None:
    async with Browser(memory_asgi, PLAIN, **{proto: "proto=https"}) as browser:
        assert (await browser.open("/sign-in")).response.status_code == 403


async def is_known(browser: Browser, cookies: str) -> bool:
    """Who is known is sent on from where one signs in."""
    return (await browser.client.get("/sign-in", headers={"cookie": cookies})).is_redirect


async def test_a_session_counts_over_its_own_connection_only(
    memory_app: Duetime, memory_asgi: Any
) -> None:
    """A cookie without the prefix may have been set by whoever answers over plain HTTP."""
    async with Browser(memory_asgi) as browser:
        session = (await session_cookie(browser, await new_key(memory_app)))["value"]
    for base, name, counts in (
        (HTTPS, "__Secure-duetime", True),
        (HTTPS, "duetime", False),
        (LOOPBACK, "duetime", True),
        (LOOPBACK, "__Secure-duetime", False),
        (PLAIN, "duetime", False),
        (PLAIN, "__Secure-duetime", False),
    ):
        async with Browser(memory_asgi, base) as browser:
            assert await is_known(browser, f"{name}={session}") == counts, (base, name)


async def test_no_cookie_counts_in_the_api(memory_app: Duetime, memory_asgi: Any) -> None:
    async with Browser(memory_asgi) as browser:
        await browser.sign_in(await new_key(memory_app))
        session = browser.cookies()["__Secure-duetime"]
        for method, path in (
            *(("GET", "/api/me"), ("GET", "/api/actions"), ("GET", "/api/no")),
            *(("POST", "/api/actions"), ("DELETE", "/api/jobs/shop-daily")),
        ):
            headers = {"sec-fetch-site": "same-origin"}
            response = await browser.client.request(method, path, headers=headers)
            assert (response.status_code, problem(response)) == (401, "not-authenticated")
        bearer = {"authorization": f"Bearer {session}"}
        assert (await browser.client.get("/api/me", headers=bearer)).status_code == 401


async def test_forged_sessions_are_none(memory_app: Duetime, memory_asgi: Any) -> None:
    async with Browser(memory_asgi) as browser:
        session = (await session_cookie(browser, await new_key(memory_app)))["value"]
    start, _, secret = session.rpartition("_")
    async with Browser(memory_asgi) as browser:
        for forged in (
            *(f"{start}_{secret[::-1]}", session[:-1], start, "dts_", "", "x" * 60_000),
            *(f"dts_{'0' * 32}_{secret}", session.replace("dts_", "dtl_"), session.upper()),
            *('"', "%00", "\xe9", ";;=;", f"{session}=", "dts_" * 1000),
        ):
            raw = b"__Secure-duetime=" + forged.encode("latin-1")
            response = await browser.client.get("/sign-in", headers=[(b"cookie", raw)])
            assert (response.status_code, "Sign out" in response.text) == (200, False), forged


async def test_cookies_of_other_mount_points_are_passed_over(
    memory_app: Duetime, memory_asgi: Any
) -> None:
    async with Browser(memory_asgi) as browser:
        session = (await session_cookie(browser, await new_key(memory_app)))["value"]
    async with Browser(memory_asgi) as browser:
        name = "__Secure-duetime"
        cookies = f"other=1; {name}=dts_of_another; {name}={session}"
        assert await is_known(browser, cookies)
        flood = f"{name}=dts_{'0' * 8}-0000-0000-0000-{'0' * 12}_x; " * 100 + f"{name}={session}"
        assert not await is_known(browser, flood)


async def test_a_session_has_the_rights_of_its_key(memory_app: Duetime) -> None:
    """Also while its reader sends credentials that are none."""
    async with Browser(memory_app.admin(admin_roles={ROLE})) as browser:
        await browser.sign_in(await new_key(memory_app, "support"))
        page = await browser.open("/sign-in", authorization="Bearer dt_x")
        assert (page.reader or "").startswith("key:")


def test_a_cookie_is_deleted_with_its_own_attributes() -> None:
    deleted = Cookies("https", "/duetime").set("duetime", "", 0)
    assert SimpleCookie(deleted)["__Secure-duetime"]["path"] == "/duetime"
    assert {"Max-Age=0", "Secure", "HttpOnly", "SameSite=Lax"} <= set(deleted.split("; "))


async def test_what_answers_is_never_kept(memory_app: Duetime, browser: Browser) -> None:
    shown = await browser.sign_in(await new_key(memory_app))
    responses: list[httpx.Response] = [shown.response, *shown.response.history]
    assert {response.headers["cache-control"] for response in responses} == {"no-store"}
