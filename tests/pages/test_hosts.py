"""Pages inside of other applications, and behind proxies: paths and cookies are of the mount."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from admin.client import USER, identify
from admin.test_mounting import by_prefix, in_django, in_fastapi, in_starlette
from duetime import Duetime
from pages.browser import Browser
from pages.places import ROLE, new_key

HOSTS = [in_fastapi, in_starlette, by_prefix, in_django]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.__name__)
async def test_paths_and_cookies_are_those_of_the_mount(
    memory_app: Duetime, host: Callable[[Duetime], Any]
) -> None:
    async with Browser(host(memory_app)) as browser:
        page = await browser.open("/duetime/sign-in")
        assert page.form("Sign in").action == "/duetime/sign-in"
        assert 'href="/duetime/static/' in page.response.text
        key = await new_key(memory_app, "administrators")
        response = await browser.post(page.form("Sign in"), API_key=key)
        assert response.headers["location"].startswith("/duetime/")
        assert "; Path=/duetime;" in response.headers["set-cookie"]
        shown = await browser.open("/duetime/sign-in")
        assert shown.reader is not None
        # The host's own pages do not get them.
        assert "cookie" not in browser.client.build_request("GET", "/shop").headers
        assert "cookie" not in browser.client.build_request("GET", "/duetimes").headers
        out = await browser.send(shown.form("Sign out"))
        assert (out.reader, out.response.url.path) == (None, "/duetime/sign-in")


async def test_a_proxy_that_strips_a_prefix(memory_app: Duetime) -> None:
    admin = memory_app.admin(admin_roles={ROLE})

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].removeprefix("/ops")
        await admin(scope | {"root_path": "/ops", "path": path}, receive, send)

    async with Browser(behind) as browser:
        shown = await browser.sign_in(await new_key(memory_app), "/ops/sign-in?next=/ops/sign-in")
        assert (shown.reader is not None, shown.response.url.path) == (True, "/ops/")


async def test_the_host_has_its_own_paths(memory_app: Duetime) -> None:
    """A router that it includes is the API alone."""
    host = FastAPI()
    host.include_router(memory_app.admin_router(identify=identify))
    async with Browser(host, **{USER: "root"}) as browser:
        assert (await browser.client.get("/api/me")).status_code == 200
        for path in ("/sign-in", "/static/x/duetime.css", "/"):
            assert (await browser.client.get(path)).status_code == 404


async def test_without_a_dashboard_there_are_no_pages(memory_app: Duetime) -> None:
    asgi = memory_app.admin(dashboard=False)
    async with Browser(asgi) as browser:
        for path in ("/sign-in", "/static/x/duetime.css", "/"):
            response = await browser.client.get(path)
            assert response.status_code == 404
            assert response.headers["content-type"] == "application/problem+json"
        assert (await browser.client.get("/api/health")).status_code == 200
