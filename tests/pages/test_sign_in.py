"""Signing in and out: by key and by link, and what ends a session."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from duetime import ANY, Duetime
from duetime.testing import FakeClock
from pages.browser import HTTPS, LOOPBACK, PLAIN, Browser
from pages.places import ROLE, new_key, new_link

SESSION = "__Secure-duetime"


async def is_signed_in(browser: Browser) -> bool:
    return (await browser.open("/sign-in")).reader is not None


class TestByKey:
    async def test_a_key_opens_a_session(self, app: Duetime) -> None:
        async with Browser(app.admin()) as browser:
            page = await browser.open("/sign-in")
            assert (page.heading, page.response.status_code) == ("Sign in", 200)
            made = await app.api_keys.create("till", ["support"], "acme")
            shown = await browser.send(page.form("Sign in"), API_key=f"  {made.key} ")
            assert shown.reader == f"key:{made.id}"
            assert "API key" in shown.texts["p"]
            assert await is_signed_in(browser)
        [entry] = await app.audit.find(verb="sign-in", tenant="acme")
        assert (entry.by, entry.source, entry.address) == (
            f"key:{made.id}",
            "dashboard",
            "203.0.113.9",
        )

    async def test_a_wrong_key_does_not(self, app: Duetime) -> None:
        async with Browser(app.admin()) as browser:
            key = await new_key(app)
            for wrong in (key[:-1], key + "0", "dt_x_y", "", "\0", "ünï", "x" * 10_000):
                shown = await browser.sign_in(wrong)
                assert shown.response.status_code == 401
                assert shown.alerts == [
                    "This API key is not valid. It may have expired, or been revoked."
                ]
                assert shown.form("Sign in").fields["key"] == ""
            assert SESSION not in browser.cookies()
            assert not await is_signed_in(browser)
        refused = (await app.audit.find(verb="refuse")).items
        assert {(entry.subject_id, entry.source, entry.by) for entry in refused} == {
            ("POST /sign-in", "dashboard", "anonymous")
        }
        assert key not in str([*refused, *(await app.audit.find(tenant=ANY))])

    async def test_an_expired_or_revoked_key_does_not(self, app: Duetime, clock: FakeClock) -> None:
        expiring = await new_key(app, expires_at=clock.now() + timedelta(minutes=1))
        revoked = await app.api_keys.create("k", [ROLE])
        await app.api_keys.revoke(revoked.id)
        clock.advance(minutes=1)
        async with Browser(app.admin()) as browser:
            for key in (expiring, revoked.key):
                assert (await browser.sign_in(key)).response.status_code == 401

    async def test_guessing_is_limited_and_a_right_key_passes(
        self, memory_app: Duetime, browser: Browser
    ) -> None:
        for _ in range(10):
            assert (await browser.sign_in("dt_guess")).response.status_code == 401
        limited = await browser.sign_in("dt_guess")
        assert (limited.response.status_code, limited.response.headers["retry-after"]) == (
            429,
            "60",
        )
        assert limited.alerts == ["Too many failed attempts: try again in 60 seconds."]
        assert (await browser.sign_in(await new_key(memory_app))).reader is not None
        assert await memory_app.audit.find(verb="refuse")

    async def test_guesses_of_keys_and_links_count_together(
        self, browser: Browser, local_browser: Browser
    ) -> None:
        for number in range(11):
            page = await local_browser.open("/sign-in?link=dtl_x" if number % 2 else "/sign-in")
            guess = {} if number % 2 else {"API_key": "x"}
            shown = await local_browser.send(page.form("Sign in"), **guess)
            assert shown.response.status_code == (429 if number == 10 else 401)
        assert (await browser.sign_in("x")).response.status_code == 401

    async def test_without_the_required_role_there_is_no_session(self, memory_app: Duetime) -> None:
        asgi = memory_app.admin(admin_roles={ROLE}, required_role="staff")
        async with Browser(asgi) as browser:
            refused = await browser.sign_in(await new_key(memory_app))
            assert (refused.response.status_code, refused.heading) == (403, "Not allowed")
            assert SESSION not in browser.cookies()
            shown = await browser.sign_in(await new_key(memory_app, ROLE, "staff"))
            assert shown.reader is not None
        [entry] = await memory_app.audit.find(verb="refuse")
        assert entry.after == {"reason": "permission", "permission": "role staff"}


class TestByLink:
    async def test_a_link_opens_a_page_whose_button_signs_in(self, app: Duetime) -> None:
        path = f"/sign-in?link={await new_link(app)}"
        async with Browser(app.admin(), LOOPBACK) as browser:
            # Whatever looks at a link before its reader does not use it up.
            for _ in range(3):
                page = await browser.open(path)
            assert (await app.audit.find(verb="sign-in")).items == []
            assert list(page.form("Sign in").labels) == []
            shown = await browser.send(page.form("Sign in"))
            assert (shown.reader or "").startswith("link:")
            assert "one-time link" in shown.texts["p"]
            french = await browser.open("/?lang=fr")
            assert "lien à usage unique" in french.texts["p"]
        async with Browser(app.admin(), LOOPBACK) as second:
            page = await second.open(path)
            used = await second.send(page.form("Sign in"))
            assert used.response.status_code == 401
            assert "start duetime serve again" in used.alerts[0]
            assert not await is_signed_in(second)

    @pytest.mark.parametrize("base", [HTTPS, PLAIN])
    async def test_elsewhere_a_link_is_worth_nothing(self, memory_app: Duetime, base: str) -> None:
        link = await new_link(memory_app)
        async with Browser(memory_app.admin(), base) as browser:
            page = await browser.open(f"/sign-in?link={link}")
            if base == PLAIN:
                assert page.response.status_code == 403
                assert page.forms == []
            else:
                refused = await browser.send(page.form("Sign in"))
                assert refused.response.status_code == 401
        async with Browser(memory_app.admin(), LOOPBACK) as local:
            page = await local.open(f"/sign-in?link={link}")
            assert (await local.send(page.form("Sign in"))).reader is not None

    async def test_a_rebound_name_or_a_proxy_is_not_this_machine(self, memory_app: Duetime) -> None:
        link = await new_link(memory_app)
        asgi = memory_app.admin()
        async with (
            Browser(asgi, PLAIN, peer="127.0.0.1") as rebound,
            Browser(asgi, LOOPBACK, **{"x-forwarded-for": "203.0.113.9"}) as proxied,
        ):
            for browser in (rebound, proxied):
                page = await browser.open(f"/sign-in?link={link}")
                assert (page.response.status_code, page.forms) == (403, [])

    async def test_a_link_is_good_for_ten_minutes(
        self, memory_app: Duetime, clock: FakeClock, local_browser: Browser
    ) -> None:
        page = await local_browser.open(f"/sign-in?link={await new_link(memory_app)}")
        clock.advance(minutes=10)
        assert (await local_browser.send(page.form("Sign in"))).response.status_code == 401

    @pytest.mark.parametrize("damage", ["", "dtl_", "dtl_1_2", "dt_1_2", "\ud800", "x" * 5000])
    async def test_what_is_no_link(self, local_browser: Browser, damage: str) -> None:
        page = await local_browser.open("/sign-in?link=x")
        form = page.form("Sign in")
        form.fields["link"] = damage.encode("utf-8", "replace").decode()
        assert (await local_browser.send(form)).response.status_code == 401

    async def test_a_truncated_or_forged_link_leaves_the_true_one(
        self, memory_app: Duetime, local_browser: Browser
    ) -> None:
        link = await new_link(memory_app)
        start, _, secret = link.rpartition("_")
        for forged in (link[:-1], f"{start}_{secret[::-1]}", f"{start}_"):
            page = await local_browser.open(f"/sign-in?link={forged}")
            assert (await local_browser.send(page.form("Sign in"))).response.status_code == 401
        page = await local_browser.open(f"/sign-in?link={link}")
        assert (await local_browser.send(page.form("Sign in"))).reader is not None

    async def test_with_a_required_role_links_are_refused(self, memory_app: Duetime) -> None:
        """A link gives all rights, and no role that somebody asks for beside them."""
        link = await new_link(memory_app)
        async with Browser(memory_app.admin(required_role="staff"), LOOPBACK) as browser:
            page = await browser.open(f"/sign-in?link={link}")
            assert (await browser.send(page.form("Sign in"))).response.status_code == 403


class TestTheEnd:
    async def test_signing_out_ends_the_session(self, app: Duetime) -> None:
        async with Browser(app.admin()) as browser:
            shown = await browser.sign_in(await new_key(app))
            session = browser.cookies()[SESSION]
            shown = await browser.send(shown.form("Sign out"))
            assert shown.heading == "Sign in"
            assert SESSION not in browser.cookies()
            browser.client.cookies.set(SESSION, session)
            assert not await is_signed_in(browser)
        assert len((await app.audit.find(verb="sign-out")).items) == 1

    async def test_a_session_ends_with_its_key(self, memory_app: Duetime, browser: Browser) -> None:
        key = await new_key(memory_app)
        await browser.sign_in(key)
        assert await is_signed_in(browser)
        await memory_app.api_keys.revoke(UUID(key.split("_")[1]))
        assert not await is_signed_in(browser)

    async def test_a_session_lasts_twelve_hours_and_an_hour_without_use(
        self, memory_app: Duetime, clock: FakeClock, browser: Browser, memory_asgi: Any
    ) -> None:
        await browser.sign_in(await new_key(memory_app))
        async with Browser(memory_asgi) as idle:
            await idle.sign_in(await new_key(memory_app))
            for _ in range(13):
                clock.advance(minutes=55)
                assert await is_signed_in(browser)
            assert not await is_signed_in(idle)
        clock.advance(minutes=5)
        assert not await is_signed_in(browser)

    async def test_nobody_signs_out_who_is_not_signed_in(
        self, memory_app: Duetime, browser: Browser
    ) -> None:
        shown = await browser.sign_in(await new_key(memory_app))
        form = shown.form("Sign out")
        await browser.send(form)
        again = await browser.post(form)
        assert (again.status_code, again.headers["location"]) == (303, "/sign-in")
        assert len((await memory_app.audit.find(verb="sign-out")).items) == 1
