"""A name that no store can keep is refused by every verb, before the store is asked."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from api.apps import Note, with_payloads
from duetime import Duetime
from duetime.errors import InvalidArgument

# Stores that answer nothing: a verb that asked one of the last two would raise another error, and
# one that asked the first would find no job and no action.
SILENT_STORES = ["memory://", "sqlite:////no/such/folder/x.db", "postgresql://127.0.0.1:1/none"]

UNSTORABLE = ["", " ", "a\x00b", "\ud800", "\udc80x", 7, b"bytes"]
START, END = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC)
NAME, ID = "shop-report", uuid4()

Call = Callable[[Duetime, dict[str, Any]], Awaitable[object]]


def put(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
    name, others = given.get("name", NAME), {k: v for k, v in given.items() if k != "name"}
    return app.jobs.put(name, "0 * * * *", payload=Note(), **others)


def on_name(group: str, verb: str, *more: object) -> Call:
    def call(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
        others = {key: value for key, value in given.items() if key != "name"}
        called: Awaitable[object] = getattr(getattr(app, group), verb)(
            given.get("name", NAME), *more, **others
        )
        return called

    return call


def on_job(verb: str, *more: object) -> Call:
    return on_name("jobs", verb, *more)


def on_queue(verb: str) -> Call:
    return on_name("queues", verb)


def jobs_bulk(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
    others = {key: value for key, value in given.items() if key != "names"}
    return app.jobs.bulk("pause", [NAME, given.get("names", NAME)], **others)


def on_action(verb: str, **fixed: Any) -> Call:
    """Name the action by its id, or by kind and key if one of these is given."""

    def call(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
        if given.keys() & {"kind", "key"}:
            called: Awaitable[object] = getattr(app, verb)(**{**BY_KEY, **fixed, **given})
        else:
            called = getattr(app, verb)(ID, **fixed, **given)
        return called

    return call


def on_app(verb: str, **fixed: Any) -> Call:
    return lambda app, given: getattr(app, verb)(**{**fixed, **given})


def bulk(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
    """Give what the verb has no argument for as an argument of its filter."""
    outer = {key: value for key, value in given.items() if key not in FILTERS}
    inner = {key: value for key, value in given.items() if key in FILTERS}
    return app.bulk("cancel", filter={"kind": "note", **inner}, **outer)


def erase(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
    """Erase a tenant if one is given, or else a correlation id."""
    return app.erase(**(given if "tenant" in given else {"correlation_id": "c", **given}))


BY_KEY = {"kind": "note", "key": "k"}
# The arguments of `find` that are names, and of its filter in `bulk`.
FILTERS = ("kind", "queue", "correlation_id", "key", "job", "error_group", "worker", "q")
ACT = ("tenant", "by", "note")

VERBS: dict[str, tuple[Call, tuple[str, ...]]] = {
    "queues.pause": (on_queue("pause"), ("name", "by", "note")),
    "queues.resume": (on_queue("resume"), ("name", "by", "note")),
    "jobs.put": (put, ("name", "queue", *ACT)),
    "jobs.list": (
        lambda app, given: app.jobs.list(**given),
        ("kind", "queue", "q", "tenant", "cursor"),
    ),
    "jobs.get": (on_job("get"), ("name", "tenant")),
    "jobs.runs": (on_job("runs"), ("name", "before", "tenant")),
    "jobs.preview": (on_job("preview"), ("name", "tenant")),
    "jobs.pause": (on_job("pause"), ("name", *ACT)),
    "jobs.resume": (on_job("resume"), ("name", *ACT)),
    "jobs.bulk": (jobs_bulk, ("names", *ACT)),
    "jobs.trigger": (on_job("trigger"), ("name", *ACT)),
    "jobs.remove": (on_job("remove"), ("name", *ACT)),
    "jobs.restore": (on_job("restore"), ("name", *ACT)),
    "jobs.backfill": (on_job("backfill", START, END), ("name", *ACT)),
    "schedule": (on_app("schedule", payload=Note()), ("correlation_id", "key", "queue", *ACT)),
    "schedule_many": (on_app("schedule_many", requests=[(Note(), START)]), ("note",)),
    "cancel": (on_action("cancel"), ("kind", "key", *ACT)),
    "reschedule": (on_action("reschedule", delay=1), ("kind", "key", *ACT)),
    "retry": (on_action("retry"), ("kind", "key", *ACT)),
    "repeat": (on_action("repeat"), ACT),
    "get": (on_action("get"), ("kind", "key", "tenant")),
    "runs": (on_action("runs"), ("before", "tenant")),
    "why": (on_action("why"), ("kind", "key", "tenant")),
    "wait": (on_action("wait", timeout=0), ("tenant",)),
    "cancel_many": (on_app("cancel_many", state="scheduled"), ("correlation_id", "kind", *ACT)),
    "retry_many": (on_app("retry_many", state="failed"), ("correlation_id", "kind", *ACT)),
    "bulk": (bulk, (*FILTERS, "cursor", *ACT)),
    "erase": (erase, ("correlation_id", "cursor", *ACT)),
    "find": (on_app("find"), (*FILTERS, "by", "sort", "tenant", "cursor")),
    "groups": (on_app("groups"), (*FILTERS, "by", "tenant")),
    "stats": (on_app("stats"), ("tenant",)),
    "series": (on_app("series", metric="executed"), ("metric", "by", "tenant")),
    "timeline": (on_app("timeline", start=START, end=END), ("tenant",)),
    "audit.find": (
        lambda app, given: app.audit.find(**given),
        ("subject", "by", "verb", "tenant", "cursor"),
    ),
    "grants.set": (
        lambda app, given: app.grants.set(
            **{"role": "clerk", "permission": "actions.read", **given}
        ),
        ("role", "permission", *ACT),
    ),
    "grants.list": (lambda app, given: app.grants.list(**given), ("role", "tenant")),
    "grants.remove": (lambda app, given: app.grants.remove(ID, **given), ACT),
    "api_keys.create": (on_name("api_keys", "create", ["clerk"]), ("name", *ACT)),
    "api_keys.list": (lambda app, given: app.api_keys.list(**given), ("tenant",)),
    "api_keys.revoke": (lambda app, given: app.api_keys.revoke(ID, **given), ACT),
}
CASES = [(verb, argument) for verb, (_, arguments) in VERBS.items() for argument in arguments]


@pytest.mark.parametrize("url", SILENT_STORES)
@pytest.mark.parametrize(("verb", "argument"), CASES)
async def test_what_cannot_be_stored_is_refused_without_asking_the_store(
    url: str, verb: str, argument: str
) -> None:
    call = VERBS[verb][0]
    async with with_payloads(Duetime(url)) as app:
        for bad in [*UNSTORABLE, "x" * 501]:
            with pytest.raises(InvalidArgument, match=f"^{argument}=") as refused:
                await call(app, {argument: bad})
            assert refused.value.value == bad


@pytest.mark.parametrize("verb", ["get", "runs", "pause", "backfill"])
async def test_the_blocking_verbs_refuse_it_too(memory_app: Duetime, verb: str) -> None:
    more = (START, END) if verb == "backfill" else ()
    with pytest.raises(InvalidArgument, match="NUL"):
        getattr(memory_app.sync.jobs, verb)("a\x00b", *more)


def test_every_verb_is_tried() -> None:
    app = Duetime("memory://")
    verbs = {verb for verb in dir(type(app.sync)) if not verb.startswith("_")}
    for group in ("jobs", "queues", "workers", "audit", "grants", "api_keys"):
        of_group = dir(type(getattr(app, group)))
        verbs |= {f"{group}.{verb}" for verb in of_group if not verb.startswith("_")}
    # These take no names, or, as the export does, pass them to a verb that is tried.
    nameless = {"queues.list", "workers.list", "audit.export"}
    assert {*VERBS} == verbs - nameless - {"close", "transitions", "testing"}
