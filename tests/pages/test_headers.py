"""What every answer tells browsers: what they may load, and that nobody frames or keeps it."""

import re
from pathlib import Path
from typing import Any

from admin.client import USER, identify
from duetime import Duetime, Identity
from pages.browser import HTTPS, PLAIN, Browser
from pages.places import new_key
from pages.planted import with_planted_pages

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types duetime"
)
TEMPLATES = Path(__file__).parents[2] / "src" / "duetime" / "admin" / "pages" / "templates"


EVE = Identity("<script>alert(1)</script>", {"root"})


def check(headers: Any) -> None:
    assert headers.get_list("content-security-policy") == [POLICY]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"]


async def test_every_answer_of_a_page_has_them(memory_app: Duetime) -> None:
    asgi = memory_app.admin(admin_roles={"operators"})
    async with Browser(asgi) as browser, Browser(asgi, PLAIN) as plain:
        shown = await browser.sign_in(await new_key(memory_app))
        responses = [shown.response, await browser.client.get("/sign-in")]
        responses += [await browser.client.get(path) for path in ("/no", "/static/x/y", "/x/%00")]
        responses += [await browser.client.get("/static/x/duetime.css")]
        responses += [await browser.client.put("/sign-in"), await browser.client.head("/sign-in")]
        responses += [await browser.client.post("/sign-in", content=b"x" * 20_000)]
        responses += [await plain.client.get("/sign-in"), await plain.client.post("/sign-out")]
    assert {response.status_code for response in responses} >= {200, 303, 403, 404, 405}
    for response in responses:
        check(response.headers)


async def test_planted_pages_have_them(memory_app: Duetime) -> None:
    asgi = with_planted_pages(memory_app, identify=identify, admin_roles={"administrators"})
    async with Browser(asgi, HTTPS, **{USER: "root"}) as browser:
        for path in ("/", "/me", "/fails", "/queues?tenant=x&tenant=y"):
            check((await browser.client.get(path)).headers)


async def test_names_are_escaped(memory_app: Duetime) -> None:
    asgi = with_planted_pages(memory_app, identify=lambda _: EVE, admin_roles={"root"})
    async with Browser(asgi) as browser:
        page = await browser.open("/")
        assert page.response.status_code == 200
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.response.text
        assert "<script>" not in page.response.text


def test_templates_have_neither_styles_nor_scripts_of_their_own() -> None:
    """Nor anything that turns escaping off."""
    for path in TEMPLATES.rglob("*.html"):
        text = path.read_text("utf-8")
        found = re.findall(
            r"""\sstyle=|<style|\son\w+=|javascript:|\|\s*safe\b|autoescape|Markup|"""
            r"""<script(?![^>]*\ssrc=)|https?://""",
            text,
        )
        assert found == [], path.name
