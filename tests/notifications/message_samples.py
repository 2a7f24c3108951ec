"""Samples of subscriptions, notifications and messages, and the golden files of all topics.

.venv/bin/python tests/notifications/message_samples.py   writes the golden files anew
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from duetime.model.notifications.event import EventData, NotificationEvent
from duetime.model.notifications.notification import SEVERAL_TOPICS, Notification
from duetime.model.notifications.subscription import StoredSubscription, SubscriptionTerms
from duetime.notifications import Message, Notifications
from duetime.notifications.rendering import render

GOLDEN = Path(__file__).parent / "golden"
BASE_URL = "https://jobs.example.org/due"
# The night in which clocks of Paris are set back from 3 to 2 o'clock.
AT = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
ACTION_ID = "0192d5a0-0000-7000-8000-000000000001"
WEBHOOK_SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

EVENT_DATA: dict[str, EventData] = {
    "job-failing": {
        "job": "billing-daily",
        "consecutive_failures": 1200,
        "error": "TimeoutError: no answer",
    },
    "job-recovered": {"job": "billing-daily"},
    "job-paused": {
        "job": "billing-daily",
        "by": "ada",
        "until": "2026-11-01T07:00:00+00:00",
        "note": "the bank is closed",
    },
    "job-resumed": {"job": "billing-daily", "by": "ada"},
    "action-failed": {
        "kind": "invoice.send",
        "action_id": ACTION_ID,
        "error": "ValueError: 3 < 5",
    },
    "action-lost": {"kind": "invoice.send", "action_id": ACTION_ID},
    "transition-parked": {
        "model": "Order",
        "column": "expires_at",
        "key": "7",
        "error": "KeyError: 'x'",
    },
    "overdue": {"queue": "mail", "count": 12345, "seconds": 5025.0},
    "no-worker": {"count": 1},
    "worker-lost": {"worker": "host-1"},
}
SUBJECTS = {
    **dict.fromkeys(("job-failing", "job-recovered", "job-paused", "job-resumed"), "billing-daily"),
    "action-failed": ACTION_ID,
    "action-lost": ACTION_ID,
    "transition-parked": "Order.expires_at",
    "overdue": "mail",
    "no-worker": "duetime",
    "worker-lost": "host-1",
}


def subscription(**terms: Any) -> StoredSubscription:
    """A stored subscription by e-mail, except for what is given."""
    usual = SubscriptionTerms(
        topics=("job-failing",), channel="email", address="ops@example.org", show_errors=True
    )
    return StoredSubscription(
        id=UUID(int=1),
        terms=replace(usual, **terms),
        app=None,
        created_at=0,
        created_by="ada",
        modified_at=0,
        modified_by="ada",
        secret=WEBHOOK_SECRET,
    )


def event(
    topic: str = "job-failing",
    data: EventData | None = None,
    *,
    ended: bool = False,
    minutes: int = 0,
    tenant: str | None = None,
) -> NotificationEvent:
    known = EVENT_DATA.get(topic, {}) if data is None else data
    at = AT + timedelta(minutes=minutes)
    return NotificationEvent(at, topic, tenant, SUBJECTS.get(topic, topic), known, ended)


def notification(
    *events: NotificationEvent, count: int | None = None, tenant: str | None = None
) -> Notification:
    """A notification of some events, or of more than it lists."""
    listed = events or (event(),)
    topics = {each.topic for each in listed}
    return Notification(
        id=UUID(int=2),
        topic=topics.pop() if len(topics) == 1 else SEVERAL_TOPICS,
        severity=max((each.severity for each in listed), key=lambda severity: severity.rank),
        tenant=tenant,
        count=count or len(listed),
        first_at=listed[0].at,
        last_at=listed[-1].at,
        events=tuple(listed),
        subscription_id=UUID(int=1),
    )


def message(*, config: Notifications | None = None, **terms: Any) -> Message:
    """The message of a failing job for a subscription with these terms."""
    return render(
        notification(),
        subscription(**terms),
        base_url=BASE_URL,
        config=config or Notifications(),
    )


def all_notifications() -> Iterator[tuple[str, Notification]]:
    """Every message that there is: each topic once and several times, and its end if it has one."""
    for topic in EVENT_DATA:
        yield topic, notification(event(topic))
        several = [event(topic), event(topic, minutes=60)]
        yield f"{topic}, several times", notification(*several, count=10_000, tenant="acme")
    for topic in ("overdue", "no-worker"):
        yield f"{topic} is over", notification(event(topic, ended=True))
        yield f"{topic} begins and is over", notification(event(topic), event(topic, ended=True))
    first = event("job-failing", {"job": "billing-daily", "consecutive_failures": 1})
    yield "a single failure without an error", notification(first)
    little = [event(topic, {}) for topic in EVENT_DATA]
    yield "several topics, of which little is known", notification(*little)
    for topic in ("test", "confirm"):
        yield topic, notification(event(topic, {}))


def golden_text(language: str) -> str:
    """The texts of all messages in a language, for a reader in Paris."""
    reader = subscription(language=language, zone="Europe/Paris")
    return "\n".join(_titled(reader, sample) for sample in all_notifications())


def golden_html(language: str) -> str:
    reader = subscription(language=language, zone="Europe/Paris")
    events = [event(topic) for topic in ("action-failed", "job-failing")]
    sample = notification(*events, count=1000, tenant="a & b")
    return render(sample, reader, base_url=BASE_URL, config=Notifications()).html + "\n"


def _titled(reader: StoredSubscription, sample: tuple[str, Notification]) -> str:
    name, notified = sample
    written = render(notified, reader, base_url=BASE_URL, config=Notifications())
    return f"===== {name}: {written.severity}\nSubject: {written.subject}\n\n{written.text}"


def languages() -> Sequence[str]:
    return ("en", "fr")


def write_golden_files() -> None:
    for language in languages():
        (GOLDEN / f"{language}.txt").write_text(golden_text(language), encoding="utf-8")
        (GOLDEN / f"{language}.html").write_text(golden_html(language), encoding="utf-8")


if __name__ == "__main__":
    write_golden_files()
