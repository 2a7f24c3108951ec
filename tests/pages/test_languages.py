"""English and French, and whose choice counts."""

from http.cookies import SimpleCookie

import pytest

from duetime import Duetime
from duetime.admin.pages.languages import language_asked_for
from pages.browser import Browser
from pages.places import new_key


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("fr", "fr"),
        ("FR-ca", "fr"),
        ("fr-FR, en;q=0.8", "fr"),
        ("en;q=0.8, fr;q=0.9", "fr"),
        ("en, fr", "en"),
        ("de, fr;q=0.1", "fr"),
        ("de", "en"),
        ("fr;q=0", "en"),
        ("fr;q=2, fr;q=-1, fr;q=nan, fr;q=x", "en"),
        ("frx, x-fr, *;q=1", "en"),
        (",;=,;;q=,fr" + ", x" * 100_000, "fr"),
        ("x, " * 100_000 + "fr", "en"),
    ],
)
def test_browsers_ask_for_languages(header: str | None, language: str) -> None:
    assert language_asked_for(header) == language


async def test_a_page_is_in_the_language_of_the_browser(browser: Browser) -> None:
    page = await browser.open("/sign-in", **{"accept-language": "fr-FR,fr;q=0.9"})
    assert (page.language, page.heading) == ("fr", "Se connecter")
    assert list(page.form("Se connecter").labels) == ["Clé d'API"]
    page = await browser.open("/sign-in", **{"accept-language": "de"})
    assert (page.language, page.heading) == ("en", "Sign in")


async def test_the_readers_choice_is_remembered(memory_app: Duetime, browser: Browser) -> None:
    chosen = await browser.open("/sign-in?lang=fr&next=/jobs")
    cookies: SimpleCookie = SimpleCookie()
    for text in chosen.response.headers.get_list("set-cookie"):
        cookies.load(text)
    cookie = cookies["__Secure-duetime-lang"]
    assert (cookie.value, cookie["path"], cookie["secure"]) == ("fr", "/", True)
    assert chosen.form("Se connecter").fields["next"] == "/jobs"
    english = {"accept-language": "en"}
    assert (await browser.open("/sign-in", **english)).language == "fr"
    assert (await browser.open("/nowhere", **english)).heading == "Introuvable"
    refused = await browser.send((await browser.open("/sign-in")).form("Se connecter"))
    assert (refused.language, "n'est pas valide" in refused.alerts[0]) == ("fr", True)
    assert (await browser.open("/sign-in?lang=en")).language == "en"
    assert (await browser.open("/sign-in", **{"accept-language": "fr"})).language == "en"
    assert (await browser.sign_in(await new_key(memory_app))).reader is not None


@pytest.mark.parametrize("text", ["de", "", "FR", "fr;", "../fr", "\0", "x" * 1000, "é"])
async def test_what_is_no_language_is_passed_over(browser: Browser, text: str) -> None:
    page = await browser.open("/sign-in", cookie="__Secure-duetime-lang=xx")
    response = await browser.client.get("/sign-in", params={"lang": text})
    assert (page.language, response.status_code) == ("en", 200)
    assert "duetime-lang" not in response.headers.get("set-cookie", "")


async def test_a_page_links_to_itself_in_the_other_language(browser: Browser) -> None:
    page = await browser.open("/sign-in?next=%2Fjobs%3Fq%3D%22%3Cb%3E&x=%22%3E%3Cscript%3E")
    assert page.texts["a"] == ["Skip to content", "English", "Français"]
    assert (
        'href="?next=%2Fjobs%3Fq%3D%22%3Cb%3E&amp;x=%22%3E%3Cscript%3E&amp;lang=fr" lang="fr"'
        in page.response.text
    )
    assert "<script>" not in page.response.text
