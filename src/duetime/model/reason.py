"""Why an action does not run: what stands in its way, judged from a snapshot of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from duetime.model.actions.action import Record
from duetime.model.actions.claim import SeenWorker, WorkerInfo
from duetime.model.clock import from_micros, nearest_micros, seconds_of
from duetime.model.health.worker import SlotUse
from duetime.model.lane import readable_lane
from duetime.model.pause import QueuePause
from duetime.model.state import State
from duetime.model.validation import amount

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
START_WORKER = "start one with `duetime worker module:app`"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps an action from running: a stable code, and in words what it is and what
    to do about it."""

    code: ReasonCode
    text: str
    remedy: str


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
    text = f"it {_ENDED[record.state]} at {_shown(record.finished_at)}"
    if record.state is State.cancelled and record.cancelled_by:
        text += f", by {record.cancelled_by}"
    if record.error:
        text += f": {record.error}"
    remedy = "retry it" if record.state is State.failed else "schedule a new action"
    return Reason("finished", text, remedy)


_ENDED = {
    State.succeeded: "succeeded",
    State.failed: "failed",
    State.cancelled: "was cancelled",
}


def _running(found: Circumstances) -> Reason:
    record, expired = found.record, (found.record.lease_until or 0) <= found.now
    text = (
        f"attempt {record.attempt} runs on worker {record.worker} since {_shown(record.started_at)}"
    )
    if not expired:
        return Reason("running", text, "wait for its end, or cancel it with running=True")
    text += f"; its lease ran out at {_shown(record.lease_until)}"
    remedy = "the next sweep of a worker frees it"
    return Reason(
        "running", text, remedy if found.workers else f"no worker is alive: {START_WORKER}"
    )


def _time(found: Circumstances) -> Iterator[Reason]:
    """Whether its time has come: a child has none before its parent has finished."""
    record, now = found.record, found.now
    if record.waits:
        yield _waiting(found)
    elif record.due_at is not None and record.due_at > now:
        wait = f"due at {_shown(record.due_at)}, in {amount(seconds_of(record.due_at - now))}"
        if record.attempt > record.base_attempt and record.error:
            text = f"attempt {record.attempt} failed ({record.error}), and the next one is {wait}"
            yield Reason("retrying", text, "wait, or reschedule it to now")
        else:
            yield Reason("not-due", f"it is {wait}", "wait, or reschedule it")


def _waiting(found: Circumstances) -> Reason:
    record, parent = found.record, found.parent
    if parent is None or parent.state.finished:
        state = "is gone" if parent is None else _ENDED[parent.state]
        text = f"it waits for action {record.after}, which {state}"
        return Reason("waiting-for-parent", text, "the next sweep of a worker settles it")
    text = f"it waits until action {record.after} {_NEEDED[record.after_on or 'succeeded']}"
    remedy = f"that action is {parent.state}: ask why it has not finished, or cancel it"
    return Reason("waiting-for-parent", text, remedy)


_NEEDED = {"succeeded": "succeeds", "failed": "fails", "finished": "finishes"}


def _queue(found: Circumstances) -> Iterator[Reason]:
    if found.pause is not None:
        pause, until = found.pause, found.pause.paused_until
        end = "" if until is None else f", until {_shown(until)}"
        text = f"queue {pause.queue} is paused by {pause.paused_by}"
        text += f" since {_shown(pause.paused_at)}{end}"
        yield Reason("queue-paused", text, f"resume it: `duetime queues resume {pause.queue}`")


def _place(found: Circumstances) -> Iterator[Reason]:
    """Whether claims can reach its row."""
    if found.lane is not None and readable_lane(found.lane) is None:
        text = found.record.error or "it is in no lane from which workers claim"
        yield Reason("damaged", text, "cancel it, and schedule it again")
    if found.held:
        yield Reason(
            "held-by-transaction",
            "another transaction has locked its row, which claims therefore pass over",
            "end that transaction: see `duetime doctor`, or pg_stat_activity",
        )


def _workers(found: Circumstances) -> Iterator[Reason]:
    """Whether a living worker would take it, and has a slot for it."""
    queue, kind = found.record.queue, found.record.kind
    living = [seen.worker for seen in found.workers]
    serving = [(worker, pool) for worker in living if (pool := worker.pool_for(queue))]
    lane = None if found.lane is None else readable_lane(found.lane)
    if not living:
        yield Reason("no-worker", "no worker is alive", START_WORKER)
    elif not serving:
        text = f"no living worker serves queue {queue}"
        yield Reason("no-worker", text, f"start a worker with --queue {queue}, or without --queue")
    elif not (able := [(worker, pool) for worker, pool in serving if kind in worker.kinds]):
        text = f"no living worker of queue {queue} has a handler for kind {kind}"
        yield Reason("unknown-kind", text, f"deploy a worker with a handler for {kind}")
    elif lane is not None and lane.parked is not None:
        yield _parked(lane.parked)
    elif _is_due(found):
        yield from _slots(able)


def _parked(waits_for: tuple[str, int]) -> Reason:
    kind, version = waits_for
    text = f"it is parked until a worker knows version {version} of kind {kind}"
    return Reason("unknown-kind", text, "deploy code that knows this version to the workers")


def _slots(able: Sequence[tuple[WorkerInfo, SlotUse]]) -> Iterator[Reason]:
    if all(pool.full for _, pool in able):
        used = ", ".join(f"{worker.id} {pool.used} of {pool.slots}" for worker, pool in able)
        text = f"at their last sweeps all slots were in use: {used}"
        yield Reason("slots-full", text, "wait, or add workers or slots")


def _is_due(found: Circumstances) -> bool:
    due_at = found.record.due_at
    return due_at is not None and due_at <= found.now


def _shown(micros: int | None) -> str:
    if micros is None:
        return "an unknown time"
    return from_micros(nearest_micros(micros)).isoformat(timespec="seconds")
