"""From what callers ask to schedule to the new actions that a store keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any

from duetime.api.arguments import (
    LABEL,
    NAME,
    QUEUE,
    Pair,
    Request,
    to_actor,
    to_parent,
    to_priority,
    to_request,
    to_when,
)
from duetime.model.actions.action import NewAction
from duetime.model.actions.new_actions import FIELDS, NewActions
from duetime.model.columns import each, unzipped
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority, lane_of
from duetime.model.payloads.registry import Payloads
from duetime.model.tenant import AMBIENT, Ambient, current_tenant
from duetime.model.validation import check_name, check_optional

# So many requests are alive at once.
AT_ONCE = 100
# What a pair of payload and time says nothing about.
UNSAID = Request(None)[2:]

PLACE = ("queue", "priority", "tenant", "lane", "by")
WHEN = ("due_at", "delay")
PARENT = ("after", "on")

_KIND, _VERSION, _OWN_QUEUE = map(attrgetter, ("kind", "version", "queue"))


class Asking:
    """Checks requests, and makes new actions of them, for one app."""

    def __init__(self, payloads: Payloads, ids: TimeOrderedIds, max_payload: int) -> None:
        self._payloads = payloads
        self._ids = ids
        self._max_payload = max_payload

    def new(self, asked: Iterable[Pair | Request]) -> NewActions:
        """Most that are asked for at once differ in payload alone: the rest is checked once."""
        payloads, at, delay, label, key, priority, queue, tenant, by, after, on = _columns(asked)
        entries, texts = self._payloads.encode_many(payloads, self._max_payload)
        own_queues = each(_OWN_QUEUE, entries)
        made: dict[str, Sequence[Any]] = {
            "id": self._ids.many(len(payloads)),
            "kind": each(_KIND, entries),
            "version": each(_VERSION, entries),
            "payload": texts,
            "correlation_id": each(partial(_label, "correlation_id"), label),
            "key": each(partial(_label, "key"), key),
            **unzipped(PLACE, each(_place, own_queues, queue, priority, tenant, by)),
            **unzipped(WHEN, each(to_when, at, delay)),
            **unzipped(PARENT, each(to_parent, after, on)),
        }
        return NewActions({name: made[name] for name in FIELDS}, payloads, fresh=True)

    def one(self, request: Request) -> NewActions:
        """The same for a lone request, in half the time."""
        payload, at, delay, label, key, priority, queue, tenant, by, after, on = request
        entry, text = self._payloads.encode(payload, self._max_payload)
        queue, rank, tenant, lane, by = _place(entry.queue, queue, priority, tenant, by)
        new = NewAction(
            self._ids(),
            entry.kind,
            entry.version,
            text,
            queue,
            rank,
            tenant,
            _label("correlation_id", label),
            _label("key", key),
            lane,
            *to_when(at, delay),
            by,
            *to_parent(after, on),
        )
        return NewActions(unzipped(FIELDS, [new]), [payload], fresh=True)


def _columns(asked: Iterable[Pair | Request]) -> Sequence[list[Any]]:
    """Some at a time: a request that nobody keeps is gone before the garbage collector sees it."""
    columns: Sequence[list[Any]] = [[] for _ in Request._fields]
    waiting = iter(asked)
    while some := list(islice(waiting, AT_ONCE)):
        for column, values in zip(columns, _some_columns(some), strict=True):
            column += values
    return columns


def _some_columns(some: Sequence[Pair | Request]) -> Iterable[Iterable[Any]]:
    """Of pairs alone nobody makes requests: that took a quarter of the time here."""
    kinds = {*map(type, some)}
    if kinds == {tuple} and {*map(len, some)} == {2}:
        return [*zip(*some, strict=True), *([value] * len(some) for value in UNSAID)]
    return zip(*(some if kinds == {Request} else map(to_request, some)), strict=True)


def _label(name: str, given: str | None) -> str | None:
    return check_optional(name, given, LABEL)


def _place(
    own_queue: str,
    queue: str | None,
    priority: Priority | str,
    tenant: str | Ambient | None,
    by: str | None,
) -> tuple[str, int, str | None, str, str]:
    """Where it waits, whose it is and who asked for it."""
    chosen = own_queue if queue is None else check_name("queue", queue, QUEUE)
    rank = to_priority(priority).rank
    given = current_tenant() if tenant is AMBIENT else tenant
    checked = check_optional("tenant", given, NAME)
    return chosen, rank, checked, lane_of(chosen, rank, checked), to_actor(by)
