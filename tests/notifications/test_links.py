"""Tokens of links: only those that were made for a subscription act on it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.notifications.links import (
    LinkPurpose,
    is_proven,
    link_to_act,
    link_to_page,
    make_token,
    read_token,
)
from notifications.message_samples import ACTION_ID, BASE_URL, event, notification, subscription

PURPOSES: tuple[LinkPurpose, ...] = ("confirm", "unsubscribe")
OURS = subscription()


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_link_acts_for_its_purpose_only(purpose: LinkPurpose) -> None:
    token = read_token(make_token(purpose, OURS))
    assert token is not None
    assert token.subscription_id == OURS.id
    assert [each for each in PURPOSES if is_proven(each, token, OURS)] == [purpose]


def test_a_link_acts_on_its_subscription_only() -> None:
    token = read_token(make_token("unsubscribe", OURS))
    assert token is not None
    others = [
        replace(OURS, id=UUID(int=9)),
        replace(OURS, secret="another"),
        replace(OURS, secret=""),
        replace(OURS, terms=replace(OURS.terms, address="stranger@example.org")),
    ]
    assert not any(is_proven("unsubscribe", token, other) for other in others)


def test_a_subscription_without_a_secret_has_no_links() -> None:
    bare = replace(OURS, secret="")
    assert link_to_act("unsubscribe", bare, BASE_URL) is None
    token = read_token(make_token("unsubscribe", bare))
    assert token is not None
    assert not is_proven("unsubscribe", token, bare)


@given(st.text(max_size=120))
def test_made_up_tokens_are_refused(text: str) -> None:
    token = read_token(text)
    assert token is None or not is_proven("unsubscribe", token, OURS)


@given(st.data())
def test_changed_tokens_are_refused(data: st.DataObject) -> None:
    whole = make_token("unsubscribe", OURS)
    # The last character also has bits that say nothing.
    place = data.draw(st.integers(0, len(whole) - 2))
    letter = data.draw(st.sampled_from("0123456789abcdefAZ-_.").filter(lambda x: x != whole[place]))
    token = read_token(whole[:place] + letter + whole[place + 1 :])
    assert token is None or not is_proven("unsubscribe", token, OURS)


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("job-failing", "/jobs/billing-daily"),
        ("action-failed", f"/actions/{ACTION_ID}"),
        ("overdue", "/queues"),
        ("no-worker", "/workers"),
        ("worker-lost", "/workers"),
        ("transition-parked", "/transitions"),
        ("test", "/alerts"),
    ],
)
def test_pages_of_topics(topic: str, path: str) -> None:
    assert link_to_page(notification(event(topic)), BASE_URL) == BASE_URL + path


def test_a_name_is_no_path() -> None:
    hostile = notification(event(data={"job": "../api/actions?x=1#y"}))
    assert link_to_page(hostile, BASE_URL) == f"{BASE_URL}/jobs/..%2Fapi%2Factions%3Fx%3D1%23y"
