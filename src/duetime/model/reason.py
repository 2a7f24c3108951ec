"""Why an action does not run: what stands in its way, judged from a snapshot of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from duetime.model.actions.action import Record
from duetime.model.actions.claim import SeenWorker, WorkerInfo
from duetime.model.clock import from_micros, nearest_micros, seconds_of
from duetime.model.health.worker import SlotUse
from duetime.model.lane import readable_lane
from duetime.model.pause import QueuePause
from duetime.model.state import State
from duetime.model.validation import amount
from duetime.words.languages import said
from duetime.words.phrase import Phrase, comma_joined, phrase, with_value

ReasonCode = Literal[
    "not-due",
    "retrying",
    "running",
    "queue-paused",
    "no-worker",
    "unknown-kind",
    "waiting-for-parent",
    "slots-full",
    "held-by-transaction",
    "damaged",
    "finished",
]
START_WORKER = phrase("start one with `duetime worker module:app`")


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps an action from running: a stable code, and in words what it is and what
    to do about it."""

    code: ReasonCode
    text: str
    remedy: str

    def in_language(self, language: str) -> Reason:
        """Return the reason in the words of a language, as "fr"."""
        return Reason(self.code, said(self.text, language), said(self.remedy, language))

    def naming_errors(self, name: Callable[[str], str]) -> Reason:
        """Return the reason with a name in place of the text of an error that it quotes."""
        return replace(self, text=with_value(self.text, "error", name))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """An action, and what decides whether it runs, at the store's time `now`.

    `lane` is None for a finished action and a child that waits. `held` says whether another
    transaction has locked the row. `pause` is the one of its queue, if it is in force. `parent` is
    the action after which this one waits, if it is still stored.
    """

    now: int
    record: Record
    lane: str | None
    held: bool
    pause: QueuePause | None
    parent: Record | None
    workers: Sequence[SeenWorker]


def reasons_of(found: Circumstances) -> list[Reason]:
    """Return what stands in the way of the action, what to look at first in front. Nothing does if
    the list is empty: then a worker starts the action in a moment."""
    record = found.record
    if record.state.finished:
        return [_finished(record)]
    if record.state is State.running:
        return [_running(found)]
    return [*_time(found), *_queue(found), *_place(found), *_workers(found)]


def _finished(record: Record) -> Reason:
    text = phrase(_ENDED[record.state], at=_shown(record.finished_at))
    if record.state is State.cancelled and record.cancelled_by:
        text = phrase("{text}, by {by}", text=text, by=record.cancelled_by)
    if record.error:
        text = phrase("{text}: {error}", text=text, error=record.error)
    again = phrase("retry it") if record.state is State.failed else phrase("schedule a new action")
    return _reason("finished", text, again)


_ENDED = {
    State.succeeded: "it succeeded at {at}",
    State.failed: "it failed at {at}",
    State.cancelled: "it was cancelled at {at}",
}


def _running(found: Circumstances) -> Reason:
    record, expired = found.record, (found.record.lease_until or 0) <= found.now
    text = phrase(
        "attempt {attempt} runs on worker {worker} since {since}",
        attempt=record.attempt,
        worker=record.worker,
        since=_shown(record.started_at),
    )
    if not expired:
        return _reason("running", text, phrase("wait for its end, or cancel it with running=True"))
    lease = _shown(record.lease_until)
    text = phrase("{text}; its lease ran out at {lease}", text=text, lease=lease)
    remedy = phrase("no worker is alive: {start_worker}", start_worker=START_WORKER)
    if found.workers:
        remedy = phrase("the next sweep of a worker frees it")
    return _reason("running", text, remedy)


def _time(found: Circumstances) -> Iterator[Reason]:
    """Whether its time has come: a child has none before its parent has finished."""
    record, now = found.record, found.now
    if record.waits:
        yield _waiting(found)
    elif record.due_at is not None and record.due_at > now:
        at, left = _shown(record.due_at), amount(seconds_of(record.due_at - now))
        if record.attempt > record.base_attempt and record.error:
            text = phrase(
                "attempt {attempt} failed ({error}), and the next one is due at {at}, in {left}",
                attempt=record.attempt,
                error=record.error,
                at=at,
                left=left,
            )
            yield _reason("retrying", text, phrase("wait, or reschedule it to now"))
        else:
            text = phrase("it is due at {at}, in {left}", at=at, left=left)
            yield _reason("not-due", text, phrase("wait, or reschedule it"))


def _waiting(found: Circumstances) -> Reason:
    record, parent = found.record, found.parent
    if parent is None or parent.state.finished:
        text = phrase(_GONE if parent is None else _ENDED_BEFORE[parent.state], after=record.after)
        return _reason("waiting-for-parent", text, phrase("the next sweep of a worker settles it"))
    text = phrase(_NEEDED[record.after_on or "succeeded"], after=record.after)
    return _reason("waiting-for-parent", text, phrase(_UNFINISHED[parent.state]))


_GONE = "it waits for action {after}, which is gone"
_ENDED_BEFORE = {
    State.succeeded: "it waits for action {after}, which succeeded",
    State.failed: "it waits for action {after}, which failed",
    State.cancelled: "it waits for action {after}, which was cancelled",
}
_NEEDED = {
    "succeeded": "it waits until action {after} succeeds",
    "failed": "it waits until action {after} fails",
    "finished": "it waits until action {after} finishes",
}
_UNFINISHED = {
    State.scheduled: "that action is scheduled: ask why it has not finished, or cancel it",
    State.running: "that action is running: ask why it has not finished, or cancel it",
}


def _queue(found: Circumstances) -> Iterator[Reason]:
    if found.pause is not None:
        pause, until = found.pause, found.pause.paused_until
        text = phrase(
            "queue {queue} is paused by {by} since {since}",
            queue=pause.queue,
            by=pause.paused_by,
            since=_shown(pause.paused_at),
        )
        if until is not None:
            text = phrase("{text}, until {until}", text=text, until=_shown(until))
        remedy = phrase("resume it: `duetime queues resume {queue}`", queue=pause.queue)
        yield _reason("queue-paused", text, remedy)


def _place(found: Circumstances) -> Iterator[Reason]:
    """Whether claims can reach its row."""
    if found.lane is not None and readable_lane(found.lane) is None:
        text = phrase("it is in no lane from which workers claim")
        if found.record.error:
            text = phrase("{error}", error=found.record.error)
        yield _reason("damaged", text, phrase("cancel it, and schedule it again"))
    if found.held:
        yield _reason(
            "held-by-transaction",
            phrase("another transaction has locked its row, which claims therefore pass over"),
            phrase("end that transaction: see `duetime doctor`, or pg_stat_activity"),
        )


def _workers(found: Circumstances) -> Iterator[Reason]:
    """Whether a living worker would take it, and has a slot for it."""
    queue, kind = found.record.queue, found.record.kind
    living = [seen.worker for seen in found.workers]
    serving = [(worker, pool) for worker in living if (pool := worker.pool_for(queue))]
    lane = None if found.lane is None else readable_lane(found.lane)
    if not living:
        yield _reason("no-worker", phrase("no worker is alive"), START_WORKER)
    elif not serving:
        text = phrase("no living worker serves queue {queue}", queue=queue)
        remedy = phrase("start a worker with --queue {queue}, or without --queue", queue=queue)
        yield _reason("no-worker", text, remedy)
    elif not (able := [(worker, pool) for worker, pool in serving if kind in worker.kinds]):
        unknown = "no living worker of queue {queue} has a handler for kind {kind}"
        remedy = phrase("deploy a worker with a handler for {kind}", kind=kind)
        yield _reason("unknown-kind", phrase(unknown, queue=queue, kind=kind), remedy)
    elif lane is not None and lane.parked is not None:
        yield _parked(lane.parked)
    elif _is_due(found):
        yield from _slots(able)


def _parked(waits_for: tuple[str, int]) -> Reason:
    kind, version = waits_for
    template = "it is parked until a worker knows version {version} of kind {kind}"
    remedy = phrase("deploy code that knows this version to the workers")
    return _reason("unknown-kind", phrase(template, version=version, kind=kind), remedy)


def _slots(able: Sequence[tuple[WorkerInfo, SlotUse]]) -> Iterator[Reason]:
    if all(pool.full for _, pool in able):
        used = comma_joined(_slots_of(worker, pool) for worker, pool in able)
        text = phrase("at their last sweeps all slots were in use: {used}", used=used)
        yield _reason("slots-full", text, phrase("wait, or add workers or slots"))


def _slots_of(worker: WorkerInfo, pool: SlotUse) -> Phrase:
    return phrase("{worker} {used} of {slots}", worker=worker.id, used=pool.used, slots=pool.slots)


def _is_due(found: Circumstances) -> bool:
    due_at = found.record.due_at
    return due_at is not None and due_at <= found.now


def _reason(code: ReasonCode, text: Phrase, remedy: Phrase) -> Reason:
    """Return a reason that can be said in every language."""
    return Reason(code, text, remedy)


def _shown(micros: int | None) -> Phrase | datetime:
    if micros is None:
        return phrase("an unknown time")
    return from_micros(nearest_micros(micros)).replace(microsecond=0)
