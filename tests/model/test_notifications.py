"""Notifications as pure decisions: topics, quiet hours, who hears of what, gathering, episodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.errors import InvalidArgument
from duetime.model.actions.claim import SeenWorker, WorkerInfo
from duetime.model.clock import SECOND, to_micros
from duetime.model.health.queues import Queue
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.notifications.delivery import delivery_actions
from duetime.model.notifications.episodes import Episode, compare_episodes
from duetime.model.notifications.event import StoredEvent
from duetime.model.notifications.gathering import (
    MINUTE,
    GatheringFacts,
    Slot,
    gather,
    minute_of,
    not_later,
)
from duetime.model.notifications.health import OVERDUE_SECONDS, HealthFacts, episodes_of
from duetime.model.notifications.notification import (
    MAX_LISTED_EVENTS,
    SEVERAL_TOPICS,
    StoredNotification,
)
from duetime.model.notifications.quiet import to_quiet_hours
from duetime.model.notifications.subscription import (
    DECLARED_FOR,
    IN_APP,
    StoredSubscription,
    SubscriptionTerms,
    shown_address,
    wants,
)
from duetime.model.notifications.topics import (
    TOPIC_NAMES,
    Severity,
    check_severity,
    check_topics,
)

NOW = to_micros(datetime(2030, 6, 1, 12, 0, 30, tzinfo=UTC))
LAG = 12 * SECOND
NEW_ID = TimeOrderedIds()


def subscription(**given: Any) -> StoredSubscription:
    state = {name: given.pop(name) for name in (*STATE,) if name in given}
    terms: dict[str, Any] = {"topics": ("action-failed",), "channel": IN_APP, "everywhere": True}
    terms |= given
    fields: dict[str, Any] = {"app": None, "created_at": 0, "created_by": "", "modified_at": 0}
    fields |= {"modified_by": "", "confirmed_at": 0} | state
    return StoredSubscription(id=uuid4(), terms=SubscriptionTerms(**terms), **fields)


STATE = ("app", "confirmed_at", "muted_until", "ended_at", "seen_at")


def event(at: int = NOW, topic: str = "action-failed", **given: Any) -> StoredEvent:
    fields: dict[str, Any] = {"tenant": None, "subject": "a", "data": {}, "ended": False} | given
    return StoredEvent(NEW_ID(), at, topic, **fields)


def gathered(
    events: list[StoredEvent],
    known: list[StoredNotification],
    *subscriptions: StoredSubscription,
    now: int = NOW,
    unreadable: frozenset[tuple[UUID, Slot]] = frozenset(),
) -> list[StoredNotification]:
    facts = GatheringFacts(
        events=events,
        subscriptions=subscriptions,
        known=known,
        now=now,
        lag=LAG,
        unreadable=unreadable,
    )
    result = gather(facts, NEW_ID)
    return [*result.new, *result.grown]


# -- topics ---------------------------------------------------------------------------------------


def test_topics_are_given_as_one_several_or_all() -> None:
    assert check_topics("overdue", None) == ("overdue",)
    assert check_topics(["overdue", "job-failing", "overdue"], None) == ("job-failing", "overdue")
    assert check_topics("*", None) == TOPIC_NAMES
    assert check_topics("*", "shop") == TOPIC_NAMES[:6]


@pytest.mark.parametrize(
    ("topics", "tenant", "message"),
    [
        ("job-failed", None, "did you mean 'job-failing'"),
        ([], None, "at least one topic"),
        ("overdue", "shop", r"tenants subscribe to job-\* and action-\* topics only"),
        (["*", "overdue"], None, "topics='\\*' is not valid"),
        ([3], None, "topics=3 is not valid"),
    ],
)
def test_wrong_topics_are_refused(topics: Any, tenant: str | None, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        check_topics(topics, tenant)


def test_severities_have_an_order() -> None:
    assert [severity.rank for severity in Severity] == [0, 1, 2]
    assert check_severity("minimum", "warning") is Severity.warning
    with pytest.raises(InvalidArgument, match="give one of info, warning, critical"):
        check_severity("minimum", "fatal")


# -- quiet hours ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("local", "quiet", "end"),
    [
        ("2030-06-01T21:59", "22:00-07:00", None),
        ("2030-06-01T22:00", "22:00-07:00", "2030-06-02T07:00"),
        ("2030-06-02T06:59", "22:00-07:00", "2030-06-02T07:00"),
        ("2030-06-02T07:00", "22:00-07:00", None),
        ("2030-06-01T12:30", "12:00-13:30", "2030-06-01T13:30"),
        ("2030-06-01T13:30", "12:00-13:30", None),
        # Across the nights on which the clocks change.
        ("2030-03-30T23:00", "22:00-07:00", "2030-03-31T07:00"),
        ("2030-10-26T23:00", "22:00-07:00", "2030-10-27T07:00"),
    ],
)
def test_quiet_hours_are_those_of_a_zone(local: str, quiet: str, end: str | None) -> None:
    zone = ZoneInfo("Europe/Paris")
    hours = to_quiet_hours(quiet)
    assert hours is not None
    now = to_micros(datetime.fromisoformat(local).replace(tzinfo=zone))
    expected = None if end is None else to_micros(datetime.fromisoformat(end).replace(tzinfo=zone))
    assert hours.end_after(now, zone) == expected


@given(
    st.integers(0, 100 * 366 * 24 * 60),
    st.sampled_from(["22:00-07:00", "01:30-02:30"]),
)
def test_quiet_hours_end_after_now(minute: int, quiet: str) -> None:
    hours, now = to_quiet_hours(quiet), minute * MINUTE
    assert hours is not None
    end = hours.end_after(now, ZoneInfo("Europe/Paris"))
    assert end is None or now < end <= now + 26 * 60 * MINUTE


@pytest.mark.parametrize("value", ["", "22-7", "22:00-22:00", "24:00-07:00", "22:00", 7])
def test_wrong_quiet_hours_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="two different times of day"):
        to_quiet_hours(value)


# -- who hears of what ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "of", "heeded"),
    [
        ({}, {}, True),
        ({"topics": ("overdue",)}, {}, False),
        ({"everywhere": False}, {}, True),
        ({"everywhere": False}, {"tenant": "a"}, False),
        ({"everywhere": False, "tenant": "a"}, {"tenant": "a"}, True),
        ({"everywhere": False, "tenant": "a"}, {"tenant": None}, False),
        ({}, {"tenant": "a"}, True),
        ({"minimum": Severity.critical}, {}, False),
        ({"minimum": Severity.warning}, {}, True),
        ({"kinds": ("mail", "sms-*")}, {"data": {"kind": "sms-send"}}, True),
        ({"kinds": ("mail",)}, {"data": {"kind": "mailing"}}, False),
        ({"jobs": ("billing-*",)}, {"data": {"kind": "mail"}}, False),
        ({"confirmed_at": None}, {}, False),
        ({"ended_at": 1}, {}, False),
        ({"muted_until": NOW + 1}, {}, False),
        ({"muted_until": NOW}, {}, True),
        ({"app": "shop", "seen_at": NOW - DECLARED_FOR + 1}, {}, True),
        ({"app": "shop", "seen_at": NOW - DECLARED_FOR}, {}, False),
    ],
)
def test_a_subscription_wants(given: Any, of: Any, heeded: bool) -> None:
    assert wants(subscription(**given), event(**of), NOW) is heeded


def test_the_end_of_an_episode_is_only_information() -> None:
    ours = subscription(topics=("overdue",), minimum=Severity.critical)
    assert wants(ours, event(topic="overdue"), NOW)
    assert not wants(ours, event(topic="overdue", ended=True), NOW)


def test_the_address_of_a_webhook_is_shown_without_its_query() -> None:
    assert shown_address("webhook", "https://x.example/a?key=1") == "https://x.example/a?..."
    assert shown_address("webhook", "https://x.example/a") == "https://x.example/a"
    assert shown_address("email", "a@x.example") == "a@x.example"


# -- gathering ------------------------------------------------------------------------------------


def test_events_known_at_once_are_one_notification() -> None:
    [found] = gathered([event(), event(NOW - 1)], [], subscription())
    assert (found.count, found.part, found.minute) == (2, 0, minute_of(NOW))
    assert (found.first_at, found.last_at, found.due_at) == (NOW - 1, NOW, NOW)
    assert found.sealed_at == NOW


def test_an_unsealed_notification_grows() -> None:
    ours = subscription(channel="email", address="a@x.example")
    [first] = gathered([event()], [], ours)
    assert first.sealed_at is None
    [grown] = gathered([event(topic="action-failed"), event()], [first], ours)
    assert (grown.id, grown.count) == (first.id, 3)


def test_the_rest_of_a_minute_is_sent_when_it_is_over() -> None:
    ours = subscription(channel="email", address="a@x.example")
    [first] = gathered([event()], [], ours)
    sealed = replace(first, sealed_at=NOW)
    [rest] = gathered([event()], [sealed], ours)
    assert (rest.part, rest.due_at) == (1, minute_of(NOW) + MINUTE + LAG)
    [grown] = gathered([event()], [sealed, rest], ours)
    assert (grown.id, grown.count) == (rest.id, 2)


def test_events_behind_two_sealed_notifications_go_to_the_next_minute() -> None:
    ours = subscription(channel="email", address="a@x.example")
    [first] = gathered([event()], [], ours)
    known = [replace(first, sealed_at=NOW)]
    known += [replace(n, sealed_at=NOW) for n in gathered([event()], known, ours)]
    [late] = gathered([event()], known, ours, now=NOW + 2 * MINUTE)
    assert (late.minute, late.part) == (minute_of(NOW) + MINUTE, 0)


def test_what_a_reader_may_have_read_grows_no_more() -> None:
    ours = subscription()
    known = gathered([event()], [], ours)
    known += gathered([event()], known, ours)
    assert [each.part for each in known] == [0, 1]
    [late] = gathered([event()], known, ours, now=known[1].due_at)
    assert (late.minute, late.part, late.count) == (minute_of(NOW) + MINUTE, 0, 1)


def test_what_cannot_be_read_keeps_its_place() -> None:
    ours, theirs, minute = subscription(), subscription(), minute_of(NOW)
    unreadable = frozenset({(ours.id, (minute, 0)), (theirs.id, (minute, 0))})
    [found] = gathered([event()], [], ours, unreadable=unreadable)
    assert (found.minute, found.part) == (minute, 1)


def test_an_event_of_a_clock_that_was_set_back_is_one_of_now() -> None:
    assert [each.at for each in not_later([event(NOW + MINUTE), event(-1)], NOW)] == [NOW, 0]


@pytest.mark.parametrize("terms", [{"zone": "Mars/Olympus"}, {"quiet": "always"}])
def test_quiet_hours_that_cannot_be_read_hold_nothing_up(terms: Any) -> None:
    damaged = subscription(**{"quiet": "00:00-23:59", "zone": "UTC"} | terms)
    found = gathered([event()], [], damaged, subscription())
    assert [each.due_at for each in found] == [NOW, NOW]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3 * 60), min_size=1, max_size=20), max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_no_event_is_left_out_and_no_minute_has_three(
    batches: list[list[int]], seals: list[bool]
) -> None:
    ours, now = subscription(channel="email", address="a@x.example"), NOW
    known: dict[UUID, StoredNotification] = {}
    for batch, seal in zip(batches, seals, strict=False):
        events = [event(NOW + second * SECOND) for second in batch]
        now = max(now, *(each.at for each in events))
        for each in gathered(events, [*known.values()], ours, now=now):
            known[each.id] = each
        if seal:
            due = (each for each in known.values() if each.due_at <= now)
            known |= {each.id: replace(each, sealed_at=now) for each in due}
    assert sum(each.count for each in known.values()) == sum(map(len, batches))
    slots = [(each.minute, each.part) for each in known.values()]
    assert len(slots) == len(set(slots))
    assert {part for _, part in slots} <= {0, 1}


def test_quiet_hours_hold_what_is_not_critical() -> None:
    night = to_micros(datetime(2030, 6, 1, 23, 0, tzinfo=UTC))
    morning = to_micros(datetime(2030, 6, 2, 7, 0, tzinfo=UTC))
    ours = subscription(topics=("action-failed", "overdue"), quiet="22:00-07:00")
    events = [event(night), event(night, "overdue")]
    held, passed = sorted(gathered(events, [], ours, now=night), key=lambda n: -n.due_at)
    assert (held.due_at, held.minute, held.topic) == (morning, morning, "action-failed")
    assert held.sealed_at is None
    assert (passed.due_at, passed.topic) == (night, "overdue")
    [grown] = gathered([event(night + MINUTE)], [held, passed], ours, now=night + MINUTE)
    assert (grown.id, grown.count) == (held.id, 2)


def test_events_of_several_topics_are_one_notification() -> None:
    ours = subscription(topics=("action-failed", "overdue"))
    [found] = gathered([event(), event(topic="overdue")], [], ours)
    assert (found.topic, found.severity) == (SEVERAL_TOPICS, Severity.critical)


def test_only_the_first_events_are_listed() -> None:
    [found] = gathered([event() for _ in range(50)], [], subscription())
    assert (found.count, len(found.events)) == (50, MAX_LISTED_EVENTS)


def test_each_subscription_has_notifications_of_its_own() -> None:
    a, b = subscription(), subscription(channel="webhook", address="https://x.example")
    found = gathered([event()], [], a, b)
    assert {each.subscription_id for each in found} == {a.id, b.id}


def test_what_is_critical_is_sent_first_and_then_what_operators_ask_for() -> None:
    terms: Any = {"channel": "webhook", "address": "https://x.example"}
    theirs = subscription(tenant="a", everywhere=False, **terms)
    ours = subscription(topics=("action-failed", "overdue"), **terms)
    usual = gathered([event(tenant="a")], [], ours, theirs)
    urgent = gathered([event(topic="overdue")], [], ours)
    actions = delivery_actions([*usual, *urgent], NEW_ID)
    assert [Priority.of_rank(each.priority) for each in actions] == ["high", "normal", "critical"]


# -- episodes and health --------------------------------------------------------------------------


def seen(name: str, seconds_ago: float, *queues: str) -> SeenWorker:
    info = WorkerInfo(
        id=name, app="shop", host="h", pid=1, kinds=[], queues=queues, concurrency=1, jobs=[]
    )
    return SeenWorker(info, 0, NOW - round(seconds_ago * SECOND))


def found_in(*workers: SeenWorker, queues: tuple[Queue, ...] = ()) -> list[tuple[str, str]]:
    facts = HealthFacts(now=NOW, queues=queues, seen=workers, alive=30 * SECOND)
    return [episode.key for episode in episodes_of(facts)]


def test_no_worker_is_an_episode_unless_one_lives() -> None:
    assert found_in() == [("no-worker", "workers")]
    assert found_in(seen("notifier", 1, "duetime")) == [("no-worker", "workers")]
    assert found_in(seen("w", 1)) == []
    assert found_in(seen("w", 1, "billing")) == []


def test_a_worker_that_vanished_is_news_for_a_while() -> None:
    assert found_in(seen("w", 1), seen("gone", 31)) == [("worker-lost", "gone")]
    assert found_in(seen("w", 1), seen("gone", 3000)) == []
    assert found_in(seen("w", 1), seen("gone", 31, "duetime")) == []


def test_overdue_queues_are_episodes_but_not_paused_ones() -> None:
    late = Queue(name="billing", overdue=3, oldest_overdue=OVERDUE_SECONDS)
    early = Queue(name="mail", overdue=3, oldest_overdue=OVERDUE_SECONDS - 1)
    own = Queue(name="duetime", overdue=3, oldest_overdue=OVERDUE_SECONDS)
    paused = Queue(name="paused")
    queues = (late, early, own, paused)
    assert found_in(seen("w", 1), queues=queues) == [("overdue", "billing")]


def test_an_episode_begins_and_ends_once() -> None:
    overdue = Episode("overdue", "billing", {"queue": "billing"})
    began = compare_episodes([], [overdue])
    assert [(e.topic, e.ended) for e in began.events] == [("overdue", False)]
    assert compare_episodes([overdue], [overdue]).events == []
    over = compare_episodes([overdue], [])
    assert [(e.topic, e.ended, e.data) for e in over.events] == [
        ("overdue", True, {"queue": "billing"})
    ]
    lost = Episode("worker-lost", "w")
    assert compare_episodes([lost], []).events == []
    assert compare_episodes([lost], []).over == [lost]
