"""The worker's verbs, with what their transactions tell durable subscribers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from duetime.events.outbox import Outbox
from duetime.events.types import (
    ActionCancelled,
    ActionFailed,
    ActionSucceeded,
    Event,
    JobFailing,
    JobRecovered,
    JobResumed,
    cancellations,
    ending_event,
    job_events,
    of_claim,
    of_record,
)
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Completed, Ending, Finish
from duetime.model.jobs.change import Decide, Edited
from duetime.model.jobs.selectors import Which
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Flow, Steps, continued
from duetime.store.settlement import Cascade, cascade

OF_ENDS = (ActionSucceeded, ActionFailed, ActionCancelled, JobFailing, JobRecovered)

Endings = Sequence[tuple[Claim, Ending]]


class Telling:
    """Where nobody is to be told, each is the store's own verb and costs no more."""

    def __init__(self, store: Store, outbox: Outbox) -> None:
        self._store = store
        self._outbox = outbox

    def complete(self, endings: Endings, *, impatient: bool) -> Flow[Completed]:
        flow = self._store.complete([ending for _, ending in endings], impatient=impatient)
        if not self._outbox.wants(*OF_ENDS):
            return flow
        return self._outbox.telling(flow, lambda done: _ends(endings, done))

    def rescue(self, endings: Sequence[Ending]) -> Flow[Completed]:
        """Of what was lost for good, its record says what it was."""
        flow = self._store.complete(endings, rescuing=True, impatient=True)
        if not self._outbox.wants(*OF_ENDS):
            return flow

        def kept(done: Completed) -> Steps[Completed]:
            told: list[Event] = [*_of_jobs(done)]
            for one in endings:
                if isinstance(one, Finish) and one.id in done.ended:
                    record = yield from self._store.get(one.id, ANY).start()
                    told.append(ending_event(of_record(record), one))
            yield from self._outbox.keep(told)
            return done

        return continued(flow, kept)

    def settle(self, parents: Sequence[UUID]) -> Flow[Cascade]:
        flow = cascade(self._store, parents)
        if not self._outbox.wants(ActionCancelled):
            return flow
        return self._outbox.telling(flow, lambda done: cancellations([], done.settled))

    def edit_jobs(self, which: Which, decide: Decide) -> Flow[Edited]:
        flow = self._store.edit_jobs(which, decide)
        if not self._outbox.wants(JobResumed):
            return flow
        return self._outbox.telling(flow, _resumed)


def _ends(endings: Endings, done: Completed) -> Iterator[Event]:
    """What an earlier sending told is not told again."""
    fresh = done.ended - done.earlier
    for claim, ending in endings:
        if isinstance(ending, Finish) and ending.id in fresh:
            yield ending_event(of_claim(claim), ending)
    yield from _of_jobs(done)


def _of_jobs(done: Completed) -> Iterator[Event]:
    for one in done.jobs:
        yield from job_events(one.before, one.after)


def _resumed(edited: Edited) -> Iterator[Event]:
    for one in edited.changes:
        yield from job_events(one.before, one.after)
