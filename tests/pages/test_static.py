"""The files that pages load, and how long browsers keep them."""

import gzip
import re
from pathlib import Path

import pytest

from duetime.admin.pages.static_files import static_files, static_path, static_version
from pages.browser import Browser

STATIC = Path(__file__).parents[2] / "src" / "duetime" / "admin" / "pages" / "static"


async def test_a_page_loads_only_files_that_are_there(browser: Browser) -> None:
    page = await browser.open("/sign-in")
    paths = re.findall(r'(?:href|src)="(/static/[^"]*)"', page.response.text)
    assert len(paths) >= 2
    for path in paths:
        found = await browser.client.get(path)
        assert found.status_code == 200
        assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert found.headers["content-type"].startswith(
            ("text/css", "image/svg", "text/javascript")
        )
        assert "set-cookie" not in found.headers


async def test_of_another_version_nothing_is_kept(browser: Browser) -> None:
    found = await browser.client.get("/static/0123456789abcdef/duetime.css")
    assert (found.status_code, found.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/x", "/x/", "/x/no.css", "/x/../page_call.py", "/x/%2e%2e/page_call.py"),
        *("/x/..%2fpage_call.py", "/x//etc/passwd", "/x/%00", "/../templates/base.html"),
        *("/x/duetime.css/", "/x/y/duetime.css", "/x/DUETIME.CSS", "/x/duetime.css%00.svg"),
    ],
)
async def test_nothing_else_is_served(browser: Browser, path: str) -> None:
    assert (await browser.client.get(f"/static{path}")).status_code == 404


def test_the_version_is_that_of_the_content() -> None:
    assert set(static_files()) == {path.name for path in STATIC.iterdir()}
    assert static_path("duetime.css") == f"/static/{static_version()}/duetime.css"
    with pytest.raises(LookupError, match=r"no\.css"):
        static_path("no.css")


def test_another_content_is_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before, changed = static_version(), dict(static_files())
    changed["duetime.css"] += b"\n"
    monkeypatch.setattr("duetime.admin.pages.static_files.static_files", lambda: changed)
    assert static_version.__wrapped__() != before


def test_styles_and_scripts_are_small_and_load_nothing_from_elsewhere() -> None:
    files = static_files()
    assert sum(len(content) for content in files.values()) < 60_000
    assert len(gzip.compress(files["duetime.css"])) < 10_000
    for name, content in files.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?:|url\(|@import", text) == [], name
