"""Pauses of queues: what stores keep of one, when it is in force, what another pause changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from duetime.errors import InvalidArgument
from duetime.model.clock import from_micros

# The paused queues, each with the instant at which its pause ends, or None.
PausedQueues = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class QueuePause:
    """A pause of a queue as stores keep it; instants in microseconds."""

    queue: str
    paused_at: int
    paused_by: str
    pause_note: str | None = None
    paused_until: int | None = None

    def in_force(self, now: int) -> bool:
        """Return whether the queue is paused at the store's time `now`."""
        return self.paused_until is None or now < self.paused_until


def pause_in_force(stored: QueuePause | None, now: int) -> QueuePause | None:
    """Return the stored pause of a queue, unless it has ended by itself."""
    return stored if stored is not None and stored.in_force(now) else None


def paused_queues(stored: Iterable[QueuePause], now: int) -> dict[str, int | None]:
    """Return the queues that are paused at the store's time `now`."""
    return {pause.queue: pause.paused_until for pause in stored if pause.in_force(now)}


def next_pause(before: QueuePause | None, wanted: QueuePause) -> QueuePause:
    """Return what is stored when a queue is paused: the wanted pause, which replaces the one
    before, or that one if nothing of it changes. InvalidArgument if it would be over already."""
    until = wanted.paused_until
    if until is not None and until <= wanted.paused_at:
        raise InvalidArgument("until", from_micros(until), "give an instant in the future")
    current = pause_in_force(before, wanted.paused_at)
    return current if current is not None and _terms(current) == _terms(wanted) else wanted


def pause_snapshot(pause: QueuePause | None) -> dict[str, object]:
    """Return what an audit entry shows of a queue's pause."""
    if pause is None:
        return dict.fromkeys(("paused_by", "pause_note", "paused_until"))
    return {
        "paused_by": pause.paused_by,
        "pause_note": pause.pause_note,
        "paused_until": pause.paused_until,
    }


def _terms(pause: QueuePause) -> tuple[str, str | None, int | None]:
    return pause.paused_by, pause.pause_note, pause.paused_until
