"""The frame of every page: who sees which places, choices, and what is shown as text only."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from admin.client import make_app
from duetime import Duetime
from duetime.admin.declarations import ANY_IDENTITY, declaration_of
from duetime.admin.pages.catalogue import CATALOGUE
from duetime.admin.pages.places import PLACE_NAMES, Place
from duetime.admin.pages.router import ALL_PAGES, places
from duetime.admin.pages.static_files import static_files
from pages.browser import Browser, ShownPage
from pages.places import ROLE, new_key
from pages.readers import administrator_of, reader_of

CORPUS = (
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'><svg/onload=alert(1)>"),
    *("javascript:alert(1)", "{{ 7 * 7 }}", "</title><script>1</script>", "\u202e<b>x", "a&b=c#d"),
)
DANGEROUS = re.compile(
    r"<script>|<img|<svg/|onerror=alert\(1\)>|<b>x|(href|src|action)=.javascript", re.I
)
PARAMETERS = (
    *("q", "tz", "lang", "theme", "dialog", "of"),
    *("sort", "cursor", "queue", "kind", "state"),
)
ALL_PLACES = [pytest.param(place, id=place.name) for place in places()]


def links(page: ShownPage) -> set[str]:
    return set(page.texts.get("a", ()))


@pytest.mark.parametrize("place", ALL_PLACES)
class TestEveryPlace:
    async def test_its_link_and_page_are_for_those_who_may_read_it(
        self, memory_app: Duetime, place: Place
    ) -> None:
        name = CATALOGUE[f"place_{place.name}"].en
        needed = [] if place.needs == ANY_IDENTITY else [place.needs]
        async with (
            reader_of(memory_app, *needed) as reader,
            reader_of(memory_app, "actions.schedule") as stranger,
        ):
            page = await reader.open(place.path)
            assert (page.response.status_code, page.heading, name in links(page)) == (
                200,
                name,
                True,
            )
            refused = await stranger.open(place.path)
            expected = (403, False) if needed else (200, True)
            assert (refused.response.status_code, name in links(refused)) == expected

    @pytest.mark.parametrize("language", ["en", "fr"])
    async def test_it_is_one_page_of_the_frame(
        self, memory_app: Duetime, place: Place, language: str
    ) -> None:
        async with administrator_of(memory_app) as browser:
            page = await browser.open(f"{place.path}?lang={language}")
        text, title = page.response.text, CATALOGUE[f"place_{place.name}"]
        assert (page.language, page.heading) == (language, getattr(title, language))
        assert text.count('aria-current="page"') == 1
        assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?! type=\"module\" src=)", text)
        ids = re.findall(r'\sid="([^"]*)"', text)
        assert len(ids) == len(set(ids))
        scripts = sum(map(len, static_files().values()))
        assert len(page.response.content) + scripts < 100_000

    @pytest.mark.parametrize("given", CORPUS)
    async def test_what_its_address_holds_is_text(
        self, memory_app: Duetime, place: Place, given: str
    ) -> None:
        async with administrator_of(memory_app) as browser:
            for name in PARAMETERS:
                page = await browser.open(f"{place.path}?{name}={quote(given)}")
                assert page.response.status_code < 500
                assert not DANGEROUS.search(page.response.text), name


def test_places_stand_in_the_order_of_the_navigation() -> None:
    names = [place.name for place in places()]
    assert names == [name for name in PLACE_NAMES if name in names]
    assert len({place.key for place in places()}) == len(names)


def test_forms_that_are_shown_again_take_nothing_but_the_page() -> None:
    for table in ALL_PAGES:
        for endpoint in table.endpoints:
            page = getattr(endpoint, "form_page", None)
            if page is not None:
                assert declaration_of(page).method == "GET"
                assert list(page.__annotations__) == ["page", "return"]


@pytest.mark.parametrize("text", CORPUS)
async def test_names_of_the_app_are_text(text: str) -> None:
    async with make_app(name=text, environment=text) as app, administrator_of(app) as browser:
        page = await browser.open("/queues")
    assert not DANGEROUS.search(page.response.text)
    assert text in page.texts["span"]


@pytest.mark.parametrize(
    ("settings", "color"),
    [
        ({"environment": "production"}, "red"),
        ({"environment": " Prod "}, "red"),
        ({"environment": "staging"}, "amber"),
        ({"environment": "ann's machine"}, "grey"),
        ({}, "grey"),
        ({"environment": "Produktion", "environment_color": "red"}, "red"),
        ({"environment": "production", "environment_color": "blue"}, "blue"),
    ],
)
async def test_the_band_names_the_environment(settings: dict[str, Any], color: str) -> None:
    async with make_app(**settings) as app, administrator_of(app) as browser:
        page = await browser.open("/queues")
    assert f'<body class="band-{color}">' in page.response.text
    assert settings.get("environment", "environment not named").strip() in page.texts["span"]


class TestChoices:
    async def test_the_zone_is_remembered(self, memory_app: Duetime) -> None:
        await memory_app.queues.pause("mail")
        async with administrator_of(memory_app) as browser:
            for address, zone in (
                ("/queues", "UTC"),
                ("/queues?tz=Asia/Tokyo", "Asia/Tokyo"),
                ("/queues", "Asia/Tokyo"),
                ("/queues?tz=UTC", "UTC"),
            ):
                page = await browser.open(address)
                assert page.form("Show times in it").fields["tz"] == zone
                assert re.search(rf'title="[^"]*{zone}', page.response.text)

    @pytest.mark.parametrize(
        "name", ["Mars/Base", "../etc/passwd", "Europe", "x" * 500, "Europe/PARIS"]
    )
    async def test_what_is_no_zone_is_said_and_not_remembered(
        self, memory_app: Duetime, name: str
    ) -> None:
        async with administrator_of(memory_app) as browser:
            page = await browser.open(f"/queues?tz={quote(name)}")
            assert any("There is no time zone" in alert for alert in page.alerts)
            assert page.form("Show times in it").fields["tz"] == "UTC"
            assert not any("-tz" in cookie for cookie in browser.cookies())

    async def test_the_browser_tells_its_zone_until_one_is_chosen(
        self, memory_app: Duetime
    ) -> None:
        async with administrator_of(memory_app) as browser:
            browser.client.cookies.set("__Secure-duetime-browser-tz", "Europe%2FParis")
            assert '"Europe/Paris"' in (await browser.open("/queues")).response.text
            page = await browser.open("/queues?tz=Asia/Tokyo")
            assert page.form("Show times in it").fields["tz"] == "Asia/Tokyo"

    async def test_the_theme_is_remembered(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            for address, theme in (
                *(("/queues", "auto"), ("/queues?theme=dark", "dark"), ("/queues", "dark")),
                *(("/queues?theme=pink", "dark"), ("/queues?theme=auto", "auto")),
            ):
                page = await browser.open(address)
                assert f'data-theme="{theme}"' in page.response.text

    async def test_choices_keep_the_filter_and_leave_the_dialog(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            page = await browser.open("/queues?tenant=acme&x=1&dialog=pause&of=m")
            form = page.form("Show times in it")
        assert {name: form.fields[name] for name in ("tenant", "x")} == {"tenant": "acme", "x": "1"}
        assert "dialog" not in form.fields
        assert 'href="/queues?tenant=acme"' in page.response.text


class TestNotices:
    @pytest.mark.parametrize("forge", ["other text", "other reader", "nonsense", "unsigned"])
    async def test_nobody_else_can_write_one(self, memory_app: Duetime, forge: str) -> None:
        await memory_app.queues.pause("mail")
        async with administrator_of(memory_app) as browser, administrator_of(memory_app) as other:
            form = (await (other if forge == "other reader" else browser).open("/queues")).form(
                "Resume"
            )
            sender = other if forge == "other reader" else browser
            header = (await sender.post(form)).headers["set-cookie"]
            value = header.partition("=")[2].partition(";")[0].strip('"')
            encoded, _, mark = value.partition(".")
            written = {
                "other text": f"{encoded[::-1]}.{mark}",
                "other reader": value,
                "nonsense": "é%ff.x".encode("unicode_escape").decode(),
                "unsigned": encoded,
            }[forge]
            browser.client.cookies.delete("__Secure-duetime-notice")
            page = await browser.open("/queues", cookie=cookie_of(browser, written))
        assert page.response.status_code == 200
        assert "again." not in page.response.text


def cookie_of(browser: Browser, notice: str) -> str:
    kept = {**browser.cookies(), "__Secure-duetime-notice": notice}
    return "; ".join(f"{name}={value}" for name, value in kept.items())


async def test_signed_out_the_frame_shows_no_places(browser: Browser) -> None:
    page = await browser.open("/sign-in")
    assert not any(CATALOGUE[f"place_{name}"].en in links(page) for name in PLACE_NAMES)
    assert 'role="search"' not in page.response.text


async def test_the_search_field_is_for_those_who_may_read_actions(memory_app: Duetime) -> None:
    async with reader_of(memory_app, "queues.read") as without:
        assert 'role="search"' not in (await without.open("/queues")).response.text
    async with reader_of(memory_app, "queues.read", "actions.read") as reader:
        page = await reader.open("/queues")
    assert re.search(
        r'action="/actions".*?<input type="search" name="q" aria-label="Search"',
        page.response.text,
        re.S,
    )


def test_scripts_and_styles_are_small() -> None:
    assert sum(map(len, static_files().values())) < 60_000


async def test_an_administrator_keeps_looking_at_one_tenant(memory_app: Duetime) -> None:
    async with Browser(memory_app.admin(admin_roles={ROLE})) as browser:
        await browser.sign_in(await new_key(memory_app))
        page = await browser.open("/queues?tenant=a%26b")
    assert 'href="/queues?tenant=a%26b"' in page.response.text
