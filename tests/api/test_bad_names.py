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


def on_job(verb: str, *more: object) -> Call:
    def call(app: Duetime, given: dict[str, Any]) -> Awaitable[object]:
        others = {key: value for key, value in given.items() if key != "name"}
        called: Awaitable[object] = getattr(app.jobs, verb)(
            given.get("name", NAME), *more, **others
        )
        return called

    return call


def on_action(verb: str, **fixed: Any) -> Call:
    return lambda app, given: getattr(app, verb)(ID, **fixed, **given)


def on_app(verb: str, **fixed: Any) -> Call:
    return lambda app, given: getattr(app, verb)(**fixed, **given)


VERBS: dict[str, tuple[Call, tuple[str, ...]]] = {
    "jobs.put": (put, ("name", "queue", "tenant", "by")),
    "jobs.list": (lambda app, given: app.jobs.list(**given), ("tenant", "cursor")),
    "jobs.get": (on_job("get"), ("name", "tenant")),
    "jobs.runs": (on_job("runs"), ("name", "tenant")),
    "jobs.preview": (on_job("preview"), ("name", "tenant")),
    "jobs.pause": (on_job("pause"), ("name", "tenant", "by", "note")),
    "jobs.resume": (on_job("resume"), ("name", "tenant", "by")),
    "jobs.trigger": (on_job("trigger"), ("name", "tenant", "by")),
    "jobs.remove": (on_job("remove"), ("name", "tenant", "by")),
    "jobs.restore": (on_job("restore"), ("name", "tenant", "by")),
    "jobs.backfill": (on_job("backfill", START, END), ("name", "tenant", "by")),
    "schedule": (
        on_app("schedule", payload=Note()),
        ("correlation_id", "key", "queue", "tenant", "by"),
    ),
    "cancel": (on_action("cancel"), ("tenant", "by")),
    "reschedule": (on_action("reschedule", delay=1), ("tenant", "by")),
    "retry": (on_action("retry"), ("tenant", "by")),
    "get": (on_action("get"), ("tenant",)),
    "runs": (on_action("runs"), ("tenant",)),
    "wait": (on_action("wait", timeout=0), ("tenant",)),
    "cancel_many": (
        on_app("cancel_many", state="scheduled"),
        ("correlation_id", "kind", "tenant", "by"),
    ),
    "retry_many": (
        on_app("retry_many", state="failed"),
        ("correlation_id", "kind", "tenant", "by"),
    ),
    "find": (on_app("find"), ("kind", "queue", "correlation_id", "key", "tenant", "cursor")),
    "stats": (on_app("stats"), ("tenant",)),
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
    jobs = {f"jobs.{verb}" for verb in dir(type(app.jobs)) if not verb.startswith("_")}
    actions = {verb for verb in dir(type(app.sync)) if not verb.startswith("_")}
    assert {*VERBS, "schedule_many"} == (jobs | actions) - {"close", "transitions", "jobs"}
