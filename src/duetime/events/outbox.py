"""Durable subscribers: each event is an action for each of them, written with what it tells of."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

from duetime.errors import ConfigError, InvalidPayload, shown
from duetime.events.types import ActionEvent, ActionSucceeded, Event
from duetime.model.actions.action import NewAction
from duetime.model.ids import NewId
from duetime.model.lane import Priority, lane_of
from duetime.model.payloads.codec import written_alone
from duetime.model.payloads.registry import PayloadType
from duetime.model.validation import check_name
from duetime.store.base import Store
from duetime.store.flow import Flow, Steps, continued

T = TypeVar("T")

log = logging.getLogger("duetime.worker")

# What is told was accepted before: an event is never too long to be kept.
NO_LIMIT = sys.maxsize


def subscriber_kind(event: type[Event], function: Callable[..., Any], name: str | None) -> str:
    """The wire name of a subscriber's actions: `on-job-failing-page-somebody`."""
    if not (isinstance(event, type) and issubclass(event, Event) and is_dataclass(event)):
        raise ConfigError(f"{shown(event)} is no event: give one of duetime's, such as JobFailing")
    own = name or getattr(function, "__name__", "")
    if not own or own == "<lambda>":
        raise ConfigError(
            f"a durable subscriber of {event.__name__} needs a name that it keeps in the store: "
            "give name='...', or a function with a name"
        )
    return f"on-{_kebab(event.__name__)}-{_kebab(check_name('name', own, 150))}"


def _kebab(name: str) -> str:
    """`JobFailing` and `job_failing` are both job-failing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+", "-", name).strip("-").lower()


class Outbox:
    """Who is to be told of what, by the process in which it happens."""

    def __init__(self, store: Store, new_id: NewId) -> None:
        self._store = store
        self._new_id = new_id
        self._kinds: dict[type[Event], list[PayloadType]] = {}

    def add(self, type_: type[Event], kind: PayloadType) -> None:
        self._kinds.setdefault(type_, []).append(kind)

    def wants(self, *types: type[Event]) -> bool:
        """Whether anybody listens: the hot path goes another way for nobody."""
        return any(type_ in self._kinds for type_ in types)

    def telling(self, flow: Flow[T], tell: Callable[[T], Iterable[Event]]) -> Flow[T]:
        """The same verb; in its transaction, what it tells is kept for its subscribers."""
        if not self._kinds:
            return flow

        def kept(value: T) -> Steps[T]:
            yield from self.keep(tell(value))
            return value

        return continued(flow, kept)

    def keep(self, events: Iterable[Event]) -> Steps[None]:
        """An action for each subscriber of each."""
        new = [action for event in events for action in self._actions(event)]
        if new:
            yield from self._store.add(new, "return").start()

    def _actions(self, event: Event) -> Iterable[NewAction]:
        kinds = self._kinds.get(type(event), ())
        if not kinds or self._is_ours(event):
            return ()
        return [action for kind in kinds if (action := self._action(kind, event)) is not None]

    def _is_ours(self, event: Event) -> bool:
        """Of the end of a subscriber nobody is told: that would never end."""
        ours = {kind.kind for kinds in self._kinds.values() for kind in kinds}
        return isinstance(event, ActionEvent) and event.kind in ours

    def _action(self, kind: PayloadType, event: Event) -> NewAction | None:
        """Never an error: what is told must not undo what it tells of, nor what else is told."""
        payload = self._encoded(kind, event)
        if payload is None and isinstance(event, ActionSucceeded):
            payload = self._encoded(kind, replace(event, result=None))
        return None if payload is None else self._new(kind, event, payload)

    def _encoded(self, kind: PayloadType, event: Event) -> str | None:
        try:
            return written_alone(kind, event, NO_LIMIT)
        except InvalidPayload as error:
            # Such as a result that is nested deeper than JSON can be read again.
            subject = event.action_id if isinstance(event, ActionEvent) else event
            log.error("%s is not told of %s in full: %s", kind.kind, subject, error)
            return None

    def _new(self, kind: PayloadType, event: Event, payload: str) -> NewAction:
        normal = Priority.normal.rank
        return NewAction(
            id=self._new_id(),
            kind=kind.kind,
            version=kind.version,
            payload=payload,
            queue=kind.queue,
            priority=normal,
            tenant=event.tenant,
            correlation_id=event.correlation_id if isinstance(event, ActionEvent) else None,
            key=None,
            lane=lane_of(kind.queue, normal, event.tenant),
            due_at=None,
            delay=0,
            by=event.by,
            after=None,
            on=None,
        )
