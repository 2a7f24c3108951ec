"""The outbox: an action for each durable subscriber of an event, and a row for notifications,
inserted in the transaction of the change. `OutboxStore` adds the outbox to the verbs that workers
call.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from duetime.errors import ConfigError, InvalidPayload
from duetime.events.filter import EventFilter
from duetime.events.notices import NotificationInterest, lost_notices, notices_of
from duetime.events.types import (
    EVENT_BY_STATE,
    ActionCancelled,
    ActionEvent,
    ActionFailed,
    ActionSucceeded,
    Event,
    JobFailing,
    JobPaused,
    JobRecovered,
    JobResumed,
    cancelled_events,
    claim_subject,
    finish_event,
    job_events,
    record_subject,
)
from duetime.logs import get_log
from duetime.model.actions.action import NewAction
from duetime.model.actions.chain import NO_TRACES, RunTraces
from duetime.model.actions.claim import Claim, Expired
from duetime.model.actions.completion import Completion, CompletionResult, Finish
from duetime.model.ids import NewId
from duetime.model.jobs.change import JobEdit, JobEditResult
from duetime.model.jobs.selectors import JobSelector
from duetime.model.lane import Priority, lane_of
from duetime.model.payloads.codec import written_alone
from duetime.model.payloads.registry import PayloadType
from duetime.model.tenant import ANY
from duetime.model.trace import current_trace
from duetime.model.validation import check_name
from duetime.store.base import Store
from duetime.store.flow import Flow, Steps, then
from duetime.store.settlement import Settlement, settle_descendants

T = TypeVar("T")

log = get_log("duetime.worker")

# The change itself was accepted, so its event is never too large to store.
NO_LIMIT = sys.maxsize


def subscriber_kind(event: type[Event], function: Callable[..., Any], name: str | None) -> str:
    """Return the wire name of a subscriber's actions, such as `on-job-failing-page-somebody`."""
    own = name or getattr(function, "__name__", "")
    if not own or own == "<lambda>":
        raise ConfigError(
            f"a durable subscriber of {event.__name__} needs a stable name for the store: "
            "give name='...', or a function with a name"
        )
    return f"on-{_kebab(event.__name__)}-{_kebab(check_name('name', own, 150))}"


def _kebab(name: str) -> str:
    """Return the name in kebab case: `JobFailing` and `job_failing` both give job-failing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+", "-", name).strip("-").lower()


@dataclass(frozen=True, slots=True)
class DurableSubscription:
    """The kind of a subscriber's actions, and which events it wants."""

    kind: PayloadType
    filter: EventFilter


SubscriberKinds = dict[type[Event], list[DurableSubscription]]


class Outbox:
    """The outbox of one store. `kinds` are the durable subscribers of each event type, declared in
    this process; `interest` says which topics subscriptions to notifications want."""

    def __init__(
        self, store: Store, new_id: NewId, kinds: SubscriberKinds, interest: NotificationInterest
    ) -> None:
        self._store = store
        self._new_id = new_id
        self._subscriptions = kinds
        self._interest = interest

    def add(self, type_: type[Event], kind: PayloadType, wanted: EventFilter) -> None:
        # The change was accepted already: what it reports is stored as JSON has it.
        kind = replace(kind, untyped=None)
        self._subscriptions.setdefault(type_, []).append(DurableSubscription(kind, wanted))

    def has_subscribers(self, *types: type[Event]) -> bool:
        """Return whether any of these types has durable subscribers."""
        return any(type_ in self._subscriptions for type_ in types)

    def is_wanted(self, *types: type[Event]) -> bool:
        """Return whether durable subscribers, or subscriptions to notifications, want any of these
        types; if none is, the hot path skips the outbox."""
        return self.has_subscribers(*types) or self._interest.wants_events(types)

    @property
    def wants_losses(self) -> bool:
        """Return whether a subscription wants to hear of runs whose worker vanished."""
        return self._interest.wants("action-lost")

    def wants_end(self, claim: Claim, completion: Completion) -> bool:
        """Return whether anything wants the event of this completion, before it is built."""
        if not isinstance(completion, Finish):
            return False
        event = EVENT_BY_STATE[completion.state]
        subscriptions = self._subscriptions.get(event, ())
        return self._interest.wants_events([event]) or any(
            s.filter.accepts_fields(kind=claim.kind, tenant=claim.tenant) for s in subscriptions
        )

    def with_outbox(
        self,
        flow: Flow[T],
        events_of: Callable[[T], Iterable[Event]],
        run_traces: RunTraces = NO_TRACES,
        *,
        notifies: bool = True,
    ) -> Flow[T]:
        """Return the flow extended, in its transaction, by the actions for subscribers of its
        events, and by rows for notifications if it `notifies`: if its events may have a topic. The
        actions of runs store the trace of the run; others that in which this is called."""
        if not self._subscriptions and not (notifies and self._interest.topics != frozenset()):
            return flow

        # Read here: a store may run the flow in another task, or in a thread.
        trace = current_trace()

        def insert_events(value: T) -> Steps[T]:
            yield from self.insert(events_of(value), trace, run_traces)
            return value

        return then(flow, insert_events)

    def insert(
        self, events: Iterable[Event], trace: str | None = None, run_traces: RunTraces = NO_TRACES
    ) -> Steps[None]:
        """Insert an action for each subscriber of each event, with the trace of what caused it; and
        a row of it for notifications."""
        listed = [*events]
        new = [
            action
            for event in listed
            for action in self._actions(event, _run_trace(event, run_traces) or trace)
        ]
        if new:
            yield from self._store.add(new, "return").start()
        notices = notices_of(listed, self._interest)
        if notices:
            yield from self._store.add_events(notices).start()

    def insert_lost(self, lost: Sequence[tuple[Expired, Completion]]) -> Steps[None]:
        """Insert rows for notifications about runs whose worker vanished."""
        if self._interest.wants("action-lost"):
            yield from self._store.add_events(lost_notices(lost)).start()

    def _actions(self, event: Event, trace: str | None) -> Iterable[NewAction]:
        subscriptions = self._subscriptions.get(type(event), ())
        wanting = [s.kind for s in subscriptions if s.filter.accepts(event)]
        if not wanting or self._is_from_subscriber(event):
            return ()
        made = [self._action(kind, event, trace) for kind in wanting]
        return [action for action in made if action is not None]

    def _is_from_subscriber(self, event: Event) -> bool:
        """Return whether the event is about a subscriber's own action; emitting those would
        never end."""
        ours = {s.kind.kind for several in self._subscriptions.values() for s in several}
        return isinstance(event, ActionEvent) and event.kind in ours

    def _action(self, kind: PayloadType, event: Event, trace: str | None) -> NewAction | None:
        """Return the subscriber's action, or None. Never raises: a failed notification must not
        roll back the change it reports, nor other notifications."""
        payload = self._encoded(kind, event)
        if payload is None and isinstance(event, ActionSucceeded):
            payload = self._encoded(kind, replace(event, result=None))
        return None if payload is None else self._new(kind, event, payload, trace)

    def _encoded(self, kind: PayloadType, event: Event) -> str | None:
        try:
            return written_alone(kind, event, NO_LIMIT)
        except InvalidPayload as error:
            # For example, a result that is nested more deeply than JSON can be read.
            subject = event.action_id if isinstance(event, ActionEvent) else event
            log.error(
                "%s does not receive all of the event about %s: %s", kind.kind, subject, error
            )
            return None

    def _new(self, kind: PayloadType, event: Event, payload: str, trace: str | None) -> NewAction:
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
            trace=trace,
        )


OCCURRENCE_EVENTS = (JobFailing, JobRecovered)
COMPLETION_EVENTS = (ActionSucceeded, ActionFailed, ActionCancelled, *OCCURRENCE_EVENTS)

ClaimCompletions = Sequence[tuple[Claim, Completion]]


class OutboxStore:
    """Without durable subscribers, each method is the store's own verb at no extra cost."""

    def __init__(self, store: Store, outbox: Outbox) -> None:
        self._store = store
        self._outbox = outbox

    def complete(
        self,
        completions: ClaimCompletions,
        *,
        skip_busy_jobs: bool,
        run_traces: RunTraces = NO_TRACES,
    ) -> Flow[CompletionResult]:
        flow = self._store.complete(
            [completion for _, completion in completions], skip_busy_jobs=skip_busy_jobs
        )
        if not self._outbox.is_wanted(*COMPLETION_EVENTS):
            return flow
        wanted = [pair for pair in completions if self._outbox.wants_end(*pair)]
        if not wanted and not self._outbox.is_wanted(*OCCURRENCE_EVENTS):
            return flow
        return self._outbox.with_outbox(
            flow, lambda done: _completion_events(wanted, done), run_traces
        )

    def rescue(self, rescues: Mapping[Expired, Completion]) -> Flow[CompletionResult]:
        """Complete lost actions. An action that is lost for good has no claim here, so its
        record is read."""
        completions = [*rescues.values()]
        flow = self._store.complete(completions, rescuing=True, skip_busy_jobs=True)
        if not self._outbox.is_wanted(*COMPLETION_EVENTS) and not self._outbox.wants_losses:
            return flow

        def insert_events(done: CompletionResult) -> Steps[CompletionResult]:
            events: list[Event] = [*_job_events(done)]
            for completion in completions:
                if isinstance(completion, Finish) and completion.id in done.applied:
                    record = yield from self._store.get(completion.id, ANY).start()
                    events.append(finish_event(record_subject(record), completion))
            yield from self._outbox.insert(events)
            applied = [(e, c) for e, c in rescues.items() if c.id in done.applied]
            yield from self._outbox.insert_lost(applied)
            return done

        return then(flow, insert_events)

    def settle(
        self, parents: Sequence[UUID], run_traces: RunTraces = NO_TRACES
    ) -> Flow[Settlement]:
        flow = settle_descendants(self._store, parents, run_traces)
        if not self._outbox.has_subscribers(ActionCancelled):
            return flow
        return self._outbox.with_outbox(
            flow, lambda done: cancelled_events([], done.settled), notifies=False
        )

    def edit_jobs(self, which: JobSelector, decide: JobEdit) -> Flow[JobEditResult]:
        flow = self._store.edit_jobs(which, decide)
        if not self._outbox.is_wanted(JobPaused, JobResumed):
            return flow
        return self._outbox.with_outbox(flow, _changed_job_events)


def _run_trace(event: Event, run_traces: RunTraces) -> str | None:
    return run_traces.get(event.action_id) if isinstance(event, ActionEvent) else None


def _completion_events(completions: ClaimCompletions, done: CompletionResult) -> Iterator[Event]:
    """Yield events for completions, except those that an earlier, replayed request has stored."""
    fresh = done.applied - done.applied_earlier
    for claim, completion in completions:
        if isinstance(completion, Finish) and completion.id in fresh:
            yield finish_event(claim_subject(claim), completion)
    yield from _job_events(done)


def _job_events(done: CompletionResult) -> Iterator[Event]:
    for job in done.jobs:
        yield from job_events(job.before, job.after)


def _changed_job_events(edited: JobEditResult) -> Iterator[Event]:
    for job in edited.changes:
        yield from job_events(job.before, job.after)
