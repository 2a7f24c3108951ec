"""What subscriptions may want to hear of an event: the topic, the subject and what is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from duetime.events.types import (
    ActionFailed,
    Event,
    JobFailing,
    JobPaused,
    JobRecovered,
    JobResumed,
)
from duetime.model.actions.claim import Expired
from duetime.model.actions.completion import Completion, Finish
from duetime.model.notifications.delivery import is_own_kind
from duetime.model.notifications.event import NewEvent
from duetime.model.notifications.topics import TopicName
from duetime.model.safe_text import safe_text
from duetime.model.transition import RowError

MAX_SUBJECT_LENGTH = 500

TOPIC_OF_EVENT: Mapping[type[Event], TopicName] = {
    ActionFailed: "action-failed",
    JobFailing: "job-failing",
    JobRecovered: "job-recovered",
    JobPaused: "job-paused",
    JobResumed: "job-resumed",
}


class NotificationInterest:
    """Which topics subscriptions of the store want, as far as this process knows.

    A process with a worker learns it before anything runs. Another one does not know: it asks the
    store with each event, which only acts of operators make.
    """

    def __init__(self) -> None:
        self.topics: frozenset[str] | None = None

    def wants(self, *topics: TopicName | None) -> bool:
        """Return whether a subscription may want any of these topics."""
        return self.topics is None or not self.topics.isdisjoint(topics)

    def wants_events(self, types: Iterable[type[Event]]) -> bool:
        return bool(self.topics) and self.wants(*(TOPIC_OF_EVENT.get(type_) for type_ in types))


def notices_of(events: Iterable[Event], interest: NotificationInterest) -> list[NewEvent]:
    """Return what subscriptions may want to hear of events: nothing about deliveries."""
    known = ((TOPIC_OF_EVENT.get(type(event)), event) for event in events)
    return [
        _NOTICES[type(event)](event)
        for topic, event in known
        if topic is not None and interest.wants(topic) and not _is_own(event)
    ]


def _is_own(event: Event) -> bool:
    return isinstance(event, ActionFailed) and is_own_kind(event.kind)


def lost_notices(lost: Iterable[tuple[Expired, Completion]]) -> list[NewEvent]:
    """Return what is said of runs whose workers vanished: nothing about deliveries."""
    return [_lost(*each) for each in lost if not is_own_kind(each[0].kind)]


def _lost(expired: Expired, completion: Completion) -> NewEvent:
    data = {
        "kind": expired.kind,
        "action_id": str(expired.id),
        "queue": expired.queue,
        "job": expired.job,
        "losses": expired.losses + 1,
        "final": isinstance(completion, Finish),
    }
    return NewEvent("action-lost", expired.tenant, str(expired.id), data)


def parked_notice(error: RowError) -> NewEvent:
    """Return what is said of a row whose transition failed for good."""
    # A key may hold what no other store can keep, as NUL.
    subject = safe_text(f"{error.model}.{error.column} {error.id}")[:MAX_SUBJECT_LENGTH]
    data = {
        "model": error.model,
        "column": error.column,
        "key": None if error.id is None else str(error.id)[:MAX_SUBJECT_LENGTH],
        "error": error.error,
        "attempts": error.attempts,
    }
    return NewEvent("transition-parked", None, subject, data)


def _action_failed(event: Any) -> NewEvent:
    data = {
        "kind": event.kind,
        "action_id": str(event.action_id),
        "correlation_id": event.correlation_id,
        "queue": event.queue,
        "job": event.occurrence_of,
        "error": event.error,
    }
    return NewEvent("action-failed", event.tenant, str(event.action_id), data)


def _job_failing(event: Any) -> NewEvent:
    failures, error = event.consecutive_failures, event.error
    return _of_job(event, consecutive_failures=failures, error=error)


def _job_paused(event: Any) -> NewEvent:
    until = None if event.until is None else event.until.isoformat()
    return _of_job(event, by=event.by, note=event.note, until=until)


def _of_job(event: Any, **said: Any) -> NewEvent:
    topic = TOPIC_OF_EVENT[type(event)]
    return NewEvent(topic, event.tenant, event.job, {"job": event.job, **said})


_NOTICES: Mapping[type[Event], Callable[[Any], NewEvent]] = {
    ActionFailed: _action_failed,
    JobFailing: _job_failing,
    JobRecovered: _of_job,
    JobPaused: _job_paused,
    JobResumed: lambda event: _of_job(event, by=event.by),
}
