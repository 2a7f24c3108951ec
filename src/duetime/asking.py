"""From what callers ask to schedule to the new actions that a store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from duetime.arguments import (
    LABEL,
    NAME,
    QUEUE,
    Request,
    to_actor,
    to_parent,
    to_priority,
    to_when,
)
from duetime.model.action import NewAction
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.model.name import check_name, check_optional
from duetime.model.payload import Payloads
from duetime.model.tenant import AMBIENT, current_tenant


class Place(NamedTuple):
    """Where an action waits, whose it is and who asked for it."""

    queue: str
    rank: int
    tenant: str | None
    lane: str
    by: str


class Asking:
    """Checks requests, and makes new actions of them, for one app."""

    def __init__(self, payloads: Payloads, ids: TimeOrderedIds, max_payload: int) -> None:
        self._payloads = payloads
        self._ids = ids
        self._max_payload = max_payload

    def new(self, asked: Sequence[Request]) -> list[NewAction]:
        payloads = [request.payload for request in asked]
        written = self._payloads.encode_many(payloads, self._max_payload)
        ids = self._ids.many(len(asked))
        made: list[NewAction] = []
        known: tuple[object, ...] = ()
        rests = _Rests()
        for action_id, request, (entry, text) in zip(ids, asked, written, strict=True):
            # Most that are asked for at once differ in payload alone: the rest is checked once.
            # A time or a parent is the same only if it is the same object: where clocks go back,
            # two hours are equal, and whoever compares actions asks their payloads. True equals 1.
            _, at, delay, label, key, priority, queue, tenant, by, after, on = request
            when = (id(at), type(delay), delay, id(after), on)
            given = (entry.queue, when, label, key, priority, queue, tenant, by)
            if given != known:
                known, rest = given, rests.of(entry.queue, request)
            made.append(_new((action_id, entry.kind, entry.version, text, *rest)))
        return made


class _Rests:
    """What follows the payload of a new action. Where they differ in time, many still have their
    place in common."""

    def __init__(self) -> None:
        self._known: tuple[object, ...] = ()

    def of(self, queue: str, request: Request) -> tuple[object, ...]:
        given = (queue, request.queue, request.priority, request.tenant, request.by)
        if given != self._known:
            self._known, self._place = given, _place(queue, request)
        return _rest(request, self._place)


def _place(queue: str, request: Request) -> Place:
    if request.queue is not None:
        queue = check_name("queue", request.queue, QUEUE)
    rank = to_priority(request.priority).rank
    given = current_tenant() if request.tenant is AMBIENT else request.tenant
    tenant = check_optional("tenant", given, NAME)
    return Place(queue, rank, tenant, lane_of(queue, rank, tenant), to_actor(request.by))


def _rest(request: Request, place: Place) -> tuple[object, ...]:
    """From `queue` to `on`, in the order of NewAction."""
    queue, rank, tenant, lane, by = place
    _, at, delay, correlation_id, key, _, _, _, _, after, on = request
    due_at, pause = to_when(at, delay)
    parent, needed = to_parent(after, on)
    return (
        queue,
        rank,
        tenant,
        check_optional("correlation_id", correlation_id, LABEL),
        check_optional("key", key, LABEL),
        lane,
        due_at,
        pause,
        by,
        parent,
        needed,
    )


def _new(fields: tuple[object, ...]) -> NewAction:
    """As NewAction(*fields), which takes three times as long."""
    return tuple.__new__(NewAction, fields)
