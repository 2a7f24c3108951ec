"""The links of messages: confirming an address and unsubscribing, by whoever has the message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from admin.client import make_app
from duetime import ANY, Duetime
from duetime.admin.identity.failed_attempts import MAX_FAILURES
from duetime.notifications.links import LinkPurpose
from duetime.testing import FakeClock
from pages.browser import Browser
from pages.notified import CHANNELS, link_of

ONE_CLICK = "List-Unsubscribe=One-Click"
FORM_TYPE = "application/x-www-form-urlencoded"
PURPOSES: tuple[LinkPurpose, ...] = ("confirm", "unsubscribe")


@pytest.fixture
async def mailing_app(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    """An app that can send mails, on each store."""
    async with make_app(url, clock=clock, notifications=CHANNELS) as app:
        yield app


async def subscribed(app: Duetime, **options: Any) -> UUID:
    made = await app.notifications.add(
        "job-failing", email="ada@example.org", tenant="acme", **options
    )
    return made.id


async def state_of(app: Duetime, id: UUID) -> str:
    return (await app.notifications.get(id, tenant=ANY)).state


class TestFollowing:
    async def test_an_address_is_confirmed_and_unsubscribes(self, mailing_app: Duetime) -> None:
        app = mailing_app
        id = await subscribed(app)
        async with Browser(app.admin()) as stranger:
            page = await stranger.open(await link_of(app, "confirm", id))
            assert (page.response.status_code, page.heading) == (200, "Confirm")
            assert "ada@example.org gets messages about:" in page.texts["p"]
            assert "A job is failing" in page.texts["li"]
            assert await state_of(app, id) == "unconfirmed"
            done = await stranger.send(page.form("Confirm"))
            assert done.response.status_code == 200
            assert any("is confirmed" in text for text in done.texts["p"])
            assert await state_of(app, id) == "active"

            page = await stranger.open(await link_of(app, "unsubscribe", id))
            assert page.heading == "Unsubscribe"
            assert await state_of(app, id) == "active"
            done = await stranger.send(page.form("Unsubscribe"))
            assert any("gets no more" in text for text in done.texts["p"])
            assert not [form for form in done.forms if form.method == "post"]
        assert await state_of(app, id) == "ended"
        verbs = [entry.verb for entry in await app.audit.find(subject=id, tenant=ANY)]
        assert verbs == ["unsubscribe", "confirm", "subscribe"]

    @pytest.mark.parametrize(
        ("body", "headers"),
        [
            (ONE_CLICK, {"content-type": FORM_TYPE}),
            (
                "--x\r\nContent-Disposition: form-data; name=y\r\n\r\nOne-Click\r\n--x--\r\n",
                {"content-type": "multipart/form-data; boundary=x"},
            ),
            ("", {}),
            (
                ONE_CLICK,
                {
                    "content-type": FORM_TYPE,
                    "origin": "https://mail.example",
                    "sec-fetch-site": "cross-site",
                    "cookie": "a=b",
                },
            ),
        ],
    )
    async def test_a_mail_program_unsubscribes_with_one_click(
        self, clock: FakeClock, body: str, headers: dict[str, str]
    ) -> None:
        """As RFC 8058 has it: without cookies, a form's token or a redirect."""
        async with make_app(clock=clock, notifications=CHANNELS) as app:
            id = await subscribed(app)
            link = await link_of(app, "unsubscribe", id)
            async with Browser(app.admin()) as program:
                for _ in range(2):
                    answer = await program.client.post(link, content=body, headers=headers)
                    assert (answer.status_code, answer.headers.get("set-cookie")) == (200, None)
            assert await state_of(app, id) == "ended"

    @pytest.mark.parametrize("purpose", PURPOSES)
    async def test_what_only_looks_changes_nothing(
        self, mailing_app: Duetime, purpose: LinkPurpose
    ) -> None:
        id = await subscribed(mailing_app)
        link = await link_of(mailing_app, purpose, id)
        async with Browser(mailing_app.admin()) as scanner:
            for method in ("GET", "HEAD"):
                answer = await scanner.client.request(method, link)
                assert answer.status_code == 200
                assert answer.headers["referrer-policy"] == "no-referrer"
                assert answer.headers["cache-control"] == "no-store"
            for method in ("PUT", "DELETE"):
                assert (await scanner.client.request(method, link)).status_code == 405
        assert await state_of(mailing_app, id) == "unconfirmed"

    async def test_whoever_has_ended_is_not_asked_again(self, mailing_app: Duetime) -> None:
        id = await subscribed(mailing_app)
        async with Browser(mailing_app.admin()) as browser:
            link = await link_of(mailing_app, "unsubscribe", id)
            await browser.client.post(link)
            for address in (link, await link_of(mailing_app, "confirm", id)):
                page = await browser.open(address)
                assert any("gets no more" in text for text in page.texts["p"])
                assert not [form for form in page.forms if form.method == "post"]
                await browser.client.post(address)
        assert await state_of(mailing_app, id) == "ended"

    async def test_it_is_in_the_language_of_the_subscription(self, clock: FakeClock) -> None:
        async with make_app(clock=clock, notifications=CHANNELS) as app:
            id = await subscribed(app, language="fr")
            link = await link_of(app, "unsubscribe", id)
            async with Browser(app.admin(), **{"accept-language": "en"}) as browser:
                page = await browser.open(link)
                assert (page.language, page.heading) == ("fr", "Se désabonner")
                assert "Une tâche échoue" in page.texts["li"]
                english = await browser.open(f"{link}?lang=en")
                assert (english.language, english.heading) == ("en", "Unsubscribe")
                done = await browser.send(page.form("Se désabonner"))
                assert any("ne reçoit plus" in text for text in done.texts["p"])
            async with Browser(app.admin(), **{"accept-language": "fr"}) as browser:
                wrong = await browser.open("/unsubscribe/nonsense")
                assert (wrong.language, wrong.heading) == ("fr", "Introuvable")


class TestForged:
    async def test_it_says_nothing_about_what_there_is(self, mailing_app: Duetime) -> None:
        app = mailing_app
        id = await subscribed(app)
        links = {purpose: await link_of(app, purpose, id) for purpose in PURPOSES}
        proof = links["unsubscribe"].partition(".")[2]
        forged = [
            *(f"{id.hex}.{proof[::-1]}", f"{id.hex}.", f"{id.hex}", f"{uuid4().hex}.{proof}"),
            *("nonsense", "a" * 5000, "%00", f"{id.hex}.{proof}x"),
            # A link of the other purpose.
            links["confirm"].rpartition("/")[2],
        ]
        answers = set()
        for number, token in enumerate(forged):
            peer = f"203.0.113.{number}"
            async with Browser(app.admin(), peer=peer) as stranger:
                for method in ("GET", "POST"):
                    answer = await stranger.client.request(method, f"/unsubscribe/{token}")
                    body = answer.text.replace(token, "...")
                    answers.add((answer.status_code, "This link is not valid" in body))
        assert answers == {(404, True)}
        assert await state_of(app, id) == "unconfirmed"

    async def test_guesses_are_limited_and_right_ones_never_refused(
        self, mailing_app: Duetime, clock: FakeClock
    ) -> None:
        id = await subscribed(mailing_app)
        link = await link_of(mailing_app, "unsubscribe", id)
        async with Browser(mailing_app.admin()) as browser:
            for number in range(MAX_FAILURES):
                method = ("GET", "POST")[number % 2]
                wrong = await browser.client.request(method, f"/unsubscribe/{uuid4().hex}.x")
                assert wrong.status_code == 404
            for purpose in PURPOSES:
                refused = await browser.client.post(f"/{purpose}/{id.hex}.x")
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
            assert (await browser.client.post(link)).status_code == 200
            clock.advance(seconds=61)
            assert (await browser.client.get("/confirm/x")).status_code == 404
        found = await mailing_app.audit.find(verb="refuse", tenant=ANY)
        assert {entry.subject_id for entry in found} >= {
            "GET /unsubscribe/{token}",
            "POST /unsubscribe/{token}",
        }
        assert link.rpartition("/")[2] not in str([*found])

    async def test_a_link_of_what_was_removed_is_none(self, mailing_app: Duetime) -> None:
        id = await subscribed(mailing_app)
        link = await link_of(mailing_app, "unsubscribe", id)
        await mailing_app.notifications.remove(id, tenant=ANY)
        async with Browser(mailing_app.admin()) as browser:
            assert (await browser.client.post(link)).status_code == 404
