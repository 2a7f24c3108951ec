"""Forms of other sites, and what a form may hold."""

import re
from typing import Any

import httpx
import pytest

from duetime import Duetime
from pages.browser import HTTPS, LOOPBACK, Browser, ShownPage
from pages.places import ROLE, new_key

FORM = {"content-type": "application/x-www-form-urlencoded"}
SAME_ORIGIN = {"sec-fetch-site": "same-origin"}


async def is_in(browser: Browser) -> bool:
    return (await browser.open("/sign-in")).reader is not None


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "null"}, True),
        ({"origin": HTTPS}, True),
        ({}, False),
        ({"origin": "null"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "https://shop.example.evil.example"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "cross-site", "origin": HTTPS}, False),
    ],
)
async def test_another_site_sends_no_form(
    memory_app: Duetime, browser: Browser, headers: dict[str, str], passes: bool
) -> None:
    form = (await browser.open("/sign-in")).form("Sign in")
    filled = form.fields | {"key": await new_key(memory_app)}
    response = await browser.client.post("/sign-in", data=filled, headers=headers)
    assert response.status_code == (303 if passes else 403)
    assert await is_in(browser) == passes
    if passes:
        out = (await browser.open("/sign-in")).form("Sign out")
        response = await browser.client.post("/sign-out", data=out.fields, headers={})
        assert (response.status_code, await is_in(browser)) == (403, True)


async def test_the_origin_is_that_of_the_base_url(memory_app: Duetime) -> None:
    asgi = memory_app.admin(base_url="https://ops.example/duetime")
    async with Browser(asgi) as browser:
        form = (await browser.open("/sign-in")).form("Sign in")
        filled = form.fields | {"key": await new_key(memory_app)}
        for origin, status in ((HTTPS, 403), ("https://ops.example", 303)):
            response = await browser.client.post(
                "/sign-in", data=filled, headers={"origin": origin}
            )
            assert response.status_code == status


class TestTokens:
    async def test_a_form_without_its_token_does_nothing(
        self, memory_app: Duetime, browser: Browser
    ) -> None:
        key = await new_key(memory_app)
        form = (await browser.open("/sign-in")).form("Sign in")
        token = form.fields["token"]
        for wrong in ("", "x", token[:-1], token.upper(), "é", token + "\0"):
            form.fields["token"] = wrong
            refused = await browser.post(form, API_key=key)
            assert refused.status_code == 403
        del form.fields["token"]
        refused = await browser.post(form, API_key=key)
        assert "load the page again" in ShownPage(refused).alerts[0]
        assert not await is_in(browser)

    async def test_it_belongs_to_the_browser(
        self, memory_app: Duetime, memory_asgi: Any, browser: Browser
    ) -> None:
        """A form that somebody else was shown is none, nor is one that was shown to nobody."""
        key = await new_key(memory_app)
        form = (await browser.open("/sign-in")).form("Sign in")
        async with Browser(memory_asgi) as other:
            await other.open("/sign-in")
            assert (await other.post(form, API_key=key)).status_code == 403
        async with Browser(memory_asgi) as without_cookies:
            assert (await without_cookies.post(form, API_key=key)).status_code == 403
        assert (await browser.post(form, API_key=key)).status_code == 303

    async def test_it_belongs_to_the_session(
        self, memory_app: Duetime, memory_asgi: Any, browser: Browser
    ) -> None:
        before = (await browser.open("/sign-in")).form("Sign in")
        form = (await browser.sign_in(await new_key(memory_app))).form("Sign out")
        own = form.fields["token"]
        async with Browser(memory_asgi) as other:
            other_form = (await other.sign_in(await new_key(memory_app))).form("Sign out")
        for token in (other_form.fields["token"], before.fields["token"]):
            form.fields["token"] = token
            assert (await browser.post(form)).status_code == 403
        assert await is_in(browser)
        form.fields["token"] = own
        await browser.send(form)
        assert not await is_in(browser)

    async def test_forms_of_several_tabs_are_good(
        self, memory_app: Duetime, browser: Browser
    ) -> None:
        first, second = [(await browser.open("/sign-in")).form("Sign in") for _ in range(2)]
        assert first.fields["token"] == second.fields["token"]
        key = await new_key(memory_app)
        for form in (first, second):
            assert (await browser.post(form, API_key=key)).status_code == 303

    @pytest.mark.parametrize("value", ["", "x", "0" * 63, "0" * 65, "G" * 64, '"; Path=/evil'])
    async def test_a_cookie_that_we_have_not_set_is_replaced(
        self, browser: Browser, value: str
    ) -> None:
        await browser.open("/sign-in", cookie=f"__Secure-duetime-form={value}")
        ours = browser.cookies()["__Secure-duetime-form"]
        assert (re.fullmatch("[0-9a-f]{64}", ours) is not None, ours == value) == (True, False)


def filled(token: str, **more: str) -> str:
    return str(httpx.QueryParams({"token": token, "key": "dt_x", **more}))


BODIES: list[tuple[str, dict[str, str], int]] = [
    ("{form}", FORM, 401),
    ("{form}", FORM | {"content-type": f"{FORM['content-type']}; charset=UTF-8"}, 401),
    ("{form}", {"content-type": f"{FORM['content-type']}; charset=utf-16"}, 415),
    ("{form}", {"content-type": "text/plain"}, 415),
    ("{form}", {}, 415),
    ("{form}", {"content-type": "multipart/form-data; boundary=x"}, 415),
    ('{{"key": "dt_x"}}', {"content-type": "application/json"}, 415),
    ("", FORM, 403),
    ("{form}&token={token}", FORM, 422),
    ("{form}&key=dt_y", FORM, 422),
    ("{form}&link=dtl_x&link=dtl_y", FORM, 422),
    ("{form}&next=/a&next=/b", FORM, 422),
    ("{form}&%ff=%ff", FORM, 422),
    ("{form}&x=%ed%a0%80", FORM, 422),
    ("{form}&x=%00&%00=%zz&&;=", FORM, 401),
    ("{form}&" + "&".join(f"f{n}=x" for n in range(2100)), FORM, 422),
    ("{form}&x=" + "x" * 16_384, FORM, 413),
    ("{form}", FORM | {"content-length": "9" * 5000}, 413),
]


@pytest.mark.parametrize(
    ("body", "headers", "status"), BODIES, ids=[f"{b[:25]}-{s}" for b, _, s in BODIES]
)
async def test_what_a_form_may_hold(
    local_browser: Browser, body: str, headers: dict[str, str], status: int
) -> None:
    token = (await local_browser.open("/sign-in")).form("Sign in").fields["token"]
    content = body.format(form=filled(token), token=token).encode()
    response = await local_browser.client.post(
        "/sign-in", content=content, headers=headers | SAME_ORIGIN
    )
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("text/html")
    assert "duetime=" not in response.headers.get("set-cookie", "")


async def test_bytes_that_are_no_text(local_browser: Browser) -> None:
    await local_browser.open("/sign-in")
    response = await local_browser.client.post(
        "/sign-in", content=b"token=\xff\xfe", headers=FORM | SAME_ORIGIN
    )
    assert response.status_code == 422


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
async def test_other_methods(browser: Browser, method: str) -> None:
    for path in ("/sign-in", "/sign-out", "/static/x/duetime.css"):
        response = await browser.client.request(method, path, content=b"x")
        assert response.status_code == 405
        assert set(response.headers["allow"].split(", ")) <= {"GET", "HEAD", "POST"}
    assert (await browser.client.get("/sign-out")).status_code == 405


async def test_head_is_get_without_a_body(browser: Browser) -> None:
    for path in ("/sign-in", "/static/x/duetime.css"):
        assert (await browser.client.head(path)).status_code == 200


async def test_a_form_of_a_known_reader_may_be_longer(memory_app: Duetime) -> None:
    """Those that anybody can send are read to 16 kB; those of readers as far as payloads go."""
    async with Browser(memory_app.admin(admin_roles={ROLE}), LOOPBACK) as browser:
        form = (await browser.sign_in(await new_key(memory_app))).form("Sign out")
        form.fields["note"] = "x" * 100_000
        assert (await browser.post(form)).status_code == 303
