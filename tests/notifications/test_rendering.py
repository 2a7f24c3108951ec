"""Messages are as in their golden files, and no value changes more than its own place."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.model.notifications.notification import MAX_LISTED_EVENTS
from duetime.model.notifications.topics import TOPIC_NAMES
from duetime.notifications import Message, NotConfigured, Notifications, Webhook
from duetime.notifications.rendering import MAX_SUBJECT, render
from duetime.notifications.topic_templates import OWN_TEMPLATES, TEMPLATE_FILES
from duetime.words.languages import LANGUAGES
from notifications.message_samples import (
    BASE_URL,
    GOLDEN,
    WEBHOOK_SECRET,
    all_notifications,
    event,
    golden_html,
    golden_text,
    message,
    notification,
    subscription,
)

HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} {% raw %} & \"quoted\" 'text'"


@pytest.mark.parametrize("language", LANGUAGES)
def test_messages_are_as_in_their_golden_files(language: str) -> None:
    assert golden_text(language) == (GOLDEN / f"{language}.txt").read_text(encoding="utf-8")
    assert golden_html(language) == (GOLDEN / f"{language}.html").read_text(encoding="utf-8")


def test_the_golden_files_have_every_topic() -> None:
    assert {sample.topic for _, sample in all_notifications()} >= {*TOPIC_NAMES, "test", "confirm"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_template(language: str) -> None:
    assert {path.name for path in (OWN_TEMPLATES / language).iterdir()} == set(TEMPLATE_FILES)


@pytest.mark.parametrize("path", sorted((OWN_TEMPLATES / "fr").iterdir()), ids=lambda p: p.name)
def test_french_has_no_breaking_space_before_punctuation(path: Path) -> None:
    words = re.sub(r"\{[{%].*?[%}]\}|<[^>]*>", "", path.read_text(encoding="utf-8"))
    assert re.findall(r" [;:?!»]|« ", words) == []


def test_english_and_french_say_the_same_values() -> None:
    for name in TEMPLATE_FILES:
        english, french = (
            set(re.findall(r"\b(?:event|first)\.\w+", (OWN_TEMPLATES / code / name).read_text()))
            for code in LANGUAGES
        )
        assert english == french, name


# -- dates and zones -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "language", "written"),
    [
        ("UTC", "en", "Sun 1 Mar 2026, 00:30:00 UTC"),
        ("America/New_York", "en", "Sat 28 Feb 2026, 19:30:00 America/New_York (UTC-5)"),
        ("Asia/Kathmandu", "fr", "dim. 1er mars 2026, 06:15:00 Asia/Kathmandu (UTC+5:45)"),
    ],
)
def test_instants_are_those_of_the_readers_zone(zone: str, language: str, written: str) -> None:
    at = datetime(2026, 3, 1, 0, 30, 0, 250_000, tzinfo=UTC)
    alone = replace(notification(), first_at=at, last_at=at)
    reader = subscription(zone=zone, language=language)
    text = render(alone, reader, base_url=None, config=Notifications()).text
    assert f": {written}\n" in text.replace("\N{NO-BREAK SPACE}", "")


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", ["job-failing", "action-failed", "transition-parked"])
def test_errors_are_named_by_class_unless_the_subscription_shows_them(topic: str) -> None:
    failed = notification(event(topic, {"error": "bank.Refused: card 4711"}))
    shown, hidden = (
        render(failed, subscription(show_errors=shows), base_url=None, config=Notifications())
        for shows in (True, False)
    )
    assert "card 4711" in shown.text
    assert "card 4711" in str(shown.data)
    assert "bank.Refused" in hidden.text
    for place in (hidden.text, hidden.html, hidden.subject, hidden.data, hidden.events):
        assert "4711" not in str(place)


def test_a_long_error_is_cut() -> None:
    failed = notification(event(data={"error": "ValueError: " + "x" * 10_000}))
    written = render(failed, subscription(), base_url=None, config=Notifications())
    assert "xxx…" in written.text
    assert len(written.text) < 1000
    assert len(str(written.data)) < 2000


# -- injection -------------------------------------------------------------------------------------

HIDDEN_VALUES = ("kind", "job", "error", "by", "note", "queue", "worker", "model", "column", "key")


def hostile_message(text: str, topic: str = "job-failing") -> Message:
    data = dict.fromkeys(HIDDEN_VALUES, text)
    hostile = replace(event(topic, data), subject=text, tenant=text)
    notified = replace(notification(hostile), tenant=text)
    return render(notified, subscription(), base_url=BASE_URL, config=Notifications())


@pytest.mark.parametrize("topic", TOPIC_NAMES)
def test_no_value_is_markup_or_a_template(topic: str) -> None:
    written = hostile_message(HOSTILE, topic)
    assert "49" not in written.text + written.html
    assert "<script>" not in written.html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7 * 7 }} {% raw %} &amp; " in written.html
    assert HOSTILE in written.text


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=400))
def test_any_value_stays_in_its_place(text: str) -> None:
    written, usual = hostile_message(text), hostile_message("x")
    assert "\n" not in written.subject
    assert len(written.subject) <= MAX_SUBJECT
    assert len(written.text.splitlines()) == len(usual.text.splitlines())
    tags = re.findall(r"<(/?\w+)", usual.html)
    assert re.findall(r"<(/?\w+)", written.html) == tags


def test_a_newline_cannot_make_a_line_of_its_own() -> None:
    written = hostile_message("x\r\n\r\nBcc: all@example.org\n.\nDATA")
    assert r"x\r\n\r\nBcc: all@example.org" in written.text
    assert "\nBcc:" not in written.text


# -- what a message has ----------------------------------------------------------------------------


def test_more_events_than_are_listed_are_counted() -> None:
    events = [event() for _ in range(MAX_LISTED_EVENTS)]
    many = notification(*events, count=10_000)
    written = render(many, subscription(), base_url=None, config=Notifications())
    assert written.count == written.data["count"] == 10_000
    assert written.text.count("billing-daily") == len(written.events) == MAX_LISTED_EVENTS
    assert "- and 9,980 more" in written.text


def test_the_number_of_events_is_always_said() -> None:
    for language in LANGUAGES:
        for name, sample in all_notifications():
            many = replace(sample, count=777)
            reader = subscription(language=language)
            text = render(many, reader, base_url=BASE_URL, config=Notifications()).text
            assert "77" in text or sample.topic == "confirm", name


def test_links_lead_to_what_a_message_is_about() -> None:
    alone, many = notification(event()), notification(event(), count=2)
    reader = subscription()
    for notified, path in ((alone, "/jobs/billing-daily"), (many, "/alerts")):
        written = render(notified, reader, base_url=BASE_URL, config=Notifications())
        assert written.link == BASE_URL + path
        assert f"{BASE_URL}/unsubscribe/" in (written.unsubscribe_link or "")
        assert str(written.unsubscribe_link) in written.text
        assert str(written.unsubscribe_link) in written.html


def test_without_a_base_url_there_are_no_links() -> None:
    written = render(notification(), subscription(), base_url=None, config=Notifications())
    assert (written.link, written.unsubscribe_link) == (None, None)
    assert "http" not in written.text + written.html.replace("http-equiv", "")


def test_an_address_cannot_be_confirmed_without_a_base_url() -> None:
    confirm = notification(event("confirm", {}))
    with pytest.raises(NotConfigured, match="base_url"):
        render(confirm, subscription(), base_url=None, config=Notifications())


def test_a_stored_webhook_is_signed_by_its_own_secret() -> None:
    assert message(channel="webhook", address="https://h.example/x").secret == WEBHOOK_SECRET
    assert message().secret is None
    assert WEBHOOK_SECRET not in repr(message(channel="webhook"))


def test_a_webhook_of_code_is_signed_by_the_apps_secret() -> None:
    declared = replace(subscription(channel="webhook"), app="shop")
    secret = "whsec_" + "A" * 32

    config = Notifications(webhook=Webhook(secret=secret))
    assert render(notification(), declared, base_url=None, config=config).secret == secret
    unsigned = Notifications(webhook=Webhook())
    assert render(notification(), declared, base_url=None, config=unsigned).secret is None
