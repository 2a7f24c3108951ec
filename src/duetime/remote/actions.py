"""The verbs of actions over HTTP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID, uuid4

from duetime.api.arguments import to_action_id
from duetime.api.find_arguments import FindArguments
from duetime.api.requests import Request
from duetime.errors import ConfigError, WaitTimeout
from duetime.model.actions.action import Action, Page, Run
from duetime.model.actions.action_key import ActionKey, KeyMatch, KeyStates, named_id
from duetime.model.bulk import BulkResult, to_bulk_cursor
from duetime.model.clock import monotonic
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.groups import Groups
from duetime.model.health.series import Series
from duetime.model.health.stats import Stats
from duetime.model.reason import Reason
from duetime.model.state import FINISHED, State
from duetime.model.timeline import Timeline
from duetime.model.validation import seconds
from duetime.remote.documents import read
from duetime.remote.http import HttpSteps, Pause
from duetime.remote.payloads import PlainPayload, WrittenPayload
from duetime.remote.refusals import refuse_by
from duetime.remote.route import RemoteCall, RemoteVerb, Route

FILTERS = tuple(name for name in FindArguments.__annotations__ if name not in ("tenant", "by"))
WHEN_AND_HOW = (
    *("at", "delay", "correlation_id", "key", "priority", "queue", "after", "on", "expires"),
)
# How long a server waits at most for the end of an action, and when it is asked again.
MAX_WAIT_SECONDS = 30.0
WAIT_PAUSE = Pause(0.05)
# Why an action does not run that no waiting changes.
UNAVAILABLE = frozenset({"no-worker", "unknown-kind"})

# -- what answers say -----------------------------------------------------------------------------


def to_action(call: RemoteCall, document: Any) -> Action:
    """Only `schedule` tells whether the action is new."""
    return replace(_to_scheduled(call, document), created=False)


def _to_scheduled(call: RemoteCall, document: Any) -> Action:
    return _typed(call, read(Action, document))


def to_page(call: RemoteCall, document: Any) -> Page[Action]:
    return Page(_to_actions(call, document), document["next_cursor"])


def _to_actions(call: RemoteCall, document: Any) -> list[Action]:
    return [to_action(call, item) for item in document["items"]]


def _typed(call: RemoteCall, action: Action) -> Action:
    return replace(action, payload=call.payloads.read(action.kind, action.payload))


def _to_bulk_result(call: RemoteCall, document: Any) -> BulkResult:
    result = read(BulkResult, document)
    return replace(result, sample=[_typed(call, action) for action in result.sample])


def _to_timeline(call: RemoteCall, document: Any) -> Timeline:
    timeline = read(Timeline, document)
    return timeline if call.arguments["ticks"] else replace(timeline, ticks=(), ticks_capped=False)


# -- scheduling -----------------------------------------------------------------------------------

SCHEDULE = Route(
    method="POST",
    path="/api/actions",
    body=("kind", "payload", *WHEN_AND_HOW, "if_exists", "note"),
    read=_to_scheduled,
    keyed=True,
)
SCHEDULE_MANY = Route(
    method="POST",
    path="/api/actions/many",
    body=("actions", "if_exists", "note"),
    read=lambda call, document: [_to_scheduled(call, item) for item in document["items"]],
    keyed=True,
)
REPEAT = Route(
    method="POST",
    path="/api/actions/{action_id}/repeat",
    body=("at", "delay", "payload", "note"),
    read=to_action,
    keyed=True,
)


def schedule(call: RemoteCall) -> HttpSteps[Action]:
    payload: WrittenPayload = call.arguments["payload"]
    sent = call.given(kind=payload.kind, payload=payload.data)
    action: Action = yield from sent.send(SCHEDULE)
    return _scheduled(action, payload)


def schedule_many(call: RemoteCall) -> HttpSteps[list[Action]]:
    requests: list[Request] = call.arguments["requests"]
    if not requests:
        return []
    after = {to_action_id(item.after) for item in requests if item.after is not None}
    named = call.given(
        actions=[_item(request) for request in requests],
        tenant=_common_tenant(requests),
        after=after.pop() if len(after) == 1 else None,
    )
    actions: list[Action] = yield from named.send(SCHEDULE_MANY)
    return [
        _scheduled(action, _written(request))
        for action, request in zip(actions, requests, strict=True)
    ]


def _scheduled(action: Action, payload: WrittenPayload) -> Action:
    """Return a new action with the payload that was given, as an app with a store does. Plain data
    come back as the server shows them."""
    if not action.created or isinstance(payload.given, PlainPayload):
        return action
    return replace(action, payload=payload.given)


def _item(request: Request) -> dict[str, Any]:
    refuse_by(request.by)
    payload = _written(request)
    given = {name: getattr(request, name) for name in WHEN_AND_HOW}
    others = {name: value for name, value in given.items() if value is not None}
    return {"kind": payload.kind, "payload": payload.data, **others}


def _written(request: Request) -> WrittenPayload:
    return cast("WrittenPayload", request.payload)


def _common_tenant(requests: Sequence[Request]) -> Any:
    tenants = {request.tenant for request in requests}
    if len(tenants) > 1:
        raise ConfigError(
            "over HTTP all requests of schedule_many have one tenant: make a call for each tenant"
        )
    return tenants.pop()


def repeat(call: RemoteCall) -> HttpSteps[Action]:
    payload: WrittenPayload | None = call.arguments["payload"]
    data = None if payload is None else payload.data
    action: Action = yield from call.given(payload=data).send(REPEAT)
    return action


# -- one action, by its id or by kind and key -----------------------------------------------------

FIND = Route(
    method="GET",
    path="/api/actions",
    query=(*FILTERS, "by", "sort", "limit", "cursor"),
    read=to_page,
)
UNFINISHED = tuple(state for state in State if state not in FINISHED)
# Where an action is looked for, one after the other.
STATES_OF: Mapping[KeyStates, Sequence[Sequence[State]]] = {
    "unfinished": [UNFINISHED],
    "failed": [(State.failed,)],
    "any": [UNFINISHED, tuple(FINISHED)],
}


def on_action(route: Route, among: KeyStates) -> RemoteVerb:
    """Return the verb of a route on one action, which a kind and a key may name. What they name is
    looked for first: a verb that changes it refuses an action that has ended in between."""

    def steps(call: RemoteCall) -> HttpSteps[Any]:
        action_id = call.arguments["action_id"]
        if action_id is None:
            action_id = yield from _named(call, among)
        return (yield from call.given(action_id=action_id).send(route))

    return steps


def _named(call: RemoteCall, among: KeyStates) -> HttpSteps[UUID]:
    kind, key = call.arguments["kind"], call.arguments["key"]
    matches: list[KeyMatch] = []
    for states in STATES_OF[among]:
        wanted = {"kind": [kind], "key": key, "state": states, "limit": MAX_PAGE_SIZE}
        matches = matches or (yield from _matches(call.given(**wanted, cursor=None)))
    return named_id(ActionKey(kind, key, among), matches)


def _matches(call: RemoteCall) -> HttpSteps[list[KeyMatch]]:
    """Return the newest matches. A page may be empty where these are far apart."""
    while True:
        page: Page[Action] = yield from call.send(FIND)
        if page.items or page.next_cursor is None:
            return [KeyMatch(item.id, item.tenant, item.state.finished) for item in page]
        call = call.given(cursor=page.next_cursor)


# -- waiting --------------------------------------------------------------------------------------

GET = Route(method="GET", path="/api/actions/{action_id}", read=to_action)
WAIT = replace(GET, query=("wait",), patience="wait")
WHY = Route(
    method="GET",
    path="/api/actions/{action_id}/why",
    read=lambda _, document: [read(Reason, item) for item in document["reasons"]],
)


def wait(call: RemoteCall) -> HttpSteps[Action]:
    timeout = call.arguments["timeout"]
    limit = math.inf if timeout is None else seconds("timeout", timeout)
    call = call.given(action_id=to_action_id(call.arguments["action"]))
    deadline = monotonic() + limit
    while True:
        left = max(deadline - monotonic(), 0.0)
        found: Action = yield from call.given(wait=min(left, MAX_WAIT_SECONDS)).send(WAIT)
        if found.state.finished:
            return found
        if not left:
            raise WaitTimeout(found.id, limit, found.state, (yield from _unavailable(call)))
        yield WAIT_PAUSE


def _unavailable(call: RemoteCall) -> HttpSteps[str | None]:
    """Return why no worker can run the action, and the remedy; None if one can."""
    reasons: list[Reason] = yield from call.send(WHY)
    found = (f"{each.text}: {each.remedy}" for each in reasons if each.code in UNAVAILABLE)
    return next(found, None)


# -- many actions ---------------------------------------------------------------------------------

BULK = Route(
    method="POST",
    path="/api/actions/bulk",
    body=("verb", "ids", "filter", "at", "seconds", "dry_run", "cursor", "note"),
    read=_to_bulk_result,
    repeatable=True,
)


def bulk(call: RemoteCall) -> HttpSteps[BulkResult]:
    """The first call of a bulk has a cursor, too: so it is done once, even if it is sent again."""
    given, wanted = call.arguments, call.arguments["filter"]
    if wanted is not None:
        call = call.given(filter=_filter(wanted), tenant=wanted.get("tenant", given["tenant"]))
    if given["cursor"] is None and not given["dry_run"]:
        call = call.given(cursor=to_bulk_cursor(uuid4(), 0))
    result: BulkResult = yield from call.send(BULK)
    return result


def _filter(wanted: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in wanted.items() if value is not None}
    lists = {name: [given[name]] for name in ("state", "kind") if isinstance(given.get(name), str)}
    return {name: value for name, value in (given | lists).items() if name != "tenant"}


ACTIONS: Mapping[str, RemoteVerb] = {
    "schedule": schedule,
    "schedule_many": schedule_many,
    "repeat": repeat,
    "get": on_action(GET, "any"),
    "cancel": on_action(
        Route(
            method="DELETE",
            path="/api/actions/{action_id}",
            query=("running", "note"),
            read=to_action,
            represented=True,
        ),
        "unfinished",
    ),
    "reschedule": on_action(
        Route(
            method="PUT",
            path="/api/actions/{action_id}/reschedule",
            body=("at", "delay", "note"),
            read=to_action,
        ),
        "unfinished",
    ),
    "retry": on_action(
        Route(
            method="POST",
            path="/api/actions/{action_id}/retry",
            body=("note",),
            read=to_action,
        ),
        "failed",
    ),
    "why": on_action(WHY, "any"),
    "wait": wait,
    "runs": Route(
        method="GET",
        path="/api/actions/{action_id}/runs",
        query=("limit", "before"),
        read=lambda _, document: [read(Run, item) for item in document["items"]],
    ),
    "find": FIND,
    "groups": Route(
        method="GET",
        path="/api/actions/groups",
        query=("by", "most", *FILTERS),
        read=lambda _, document: read(Groups, document),
    ),
    "bulk": bulk,
    "stats": Route(
        method="GET",
        path="/api/stats",
        query=("most",),
        read=lambda _, document: read(Stats, document),
    ),
    "series": Route(
        method="GET",
        path="/api/series",
        query=("metric", "since", "until", "step", "by"),
        read=lambda _, document: read(Series, document),
    ),
    "timeline": Route(
        method="GET",
        path="/api/timeline",
        query=("start", "end", "limit"),
        read=_to_timeline,
    ),
}
