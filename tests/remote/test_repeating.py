"""Lost replies, servers that are away, and how long a verb is tried."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from duetime import Duetime, State
from duetime.errors import ConfigError, PermissionDenied, StoreUnavailable
from duetime.remote.verbs import CARRIED_VERBS
from polling import in_time
from remote.conftest import Served
from remote.scenario import Parcel
from remote.serving import PROBLEM, Request, Stub, answering, listening, response, serving


@contextmanager
def losing(served: Served, replies: int) -> Iterator[tuple[Duetime, Stub]]:
    """Yield an app whose requests all reach the server, and whose first replies are lost."""

    def forward(request: Request) -> bytes | None:
        method, path, _ = request.line.split(" ")
        origin = served.url.removesuffix("/ops")
        headers = {k: v for k, v in request.headers.items() if k != "host"}
        done = httpx2.request(method, f"{origin}{path}", headers=headers, content=request.body)
        if len(stub.requests) <= replies:
            return None
        kind = done.headers.get("content-type", "")
        return response(done.status_code, done.content, kind=kind)

    with answering(forward) as stub:
        app = Duetime.connect(f"{stub.url}/ops", token=served.key, timeout=20)
        app.payload(Parcel, kind="parcel")
        yield app, stub
        app.sync.close()


def finished(app: Duetime) -> Any:
    action = app.sync.schedule(Parcel())
    app.sync.testing.drain()
    return action.id


def job(app: Duetime) -> str:
    return app.sync.jobs.put("shop-hourly", "0 * * * *", payload=Parcel()).name


def backfill(app: Duetime, server: Duetime) -> Any:
    now = server.clock.now()
    name = job(server)
    return app.sync.jobs.backfill(name, now - timedelta(hours=3), now, dry_run=False)


LATER = datetime(2030, 1, 1, tzinfo=UTC)

# Verbs that create something, and how many actions each makes.
CREATING: dict[str, tuple[Callable[[Duetime, Duetime], Any], int]] = {
    "schedule": (lambda app, _: app.sync.schedule(Parcel(7)), 1),
    "schedule_many": (
        lambda app, server: app.sync.schedule_many(
            [(Parcel(n), server.clock.now()) for n in (1, 2)]
        ),
        2,
    ),
    "repeat": (lambda app, server: app.sync.repeat(finished(server), payload=Parcel(8)), 2),
    "jobs.trigger": (lambda app, server: app.sync.jobs.trigger(job(server)), 1),
    "jobs.backfill": (backfill, 3),
    # The action that sends the link to confirm.
    "notifications.add": (
        lambda app, _: app.sync.notifications.add("*", email="ann@example.org", tenant=None),
        1,
    ),
}


@pytest.mark.parametrize("verb", sorted(CREATING))
def test_nothing_is_created_twice_after_a_lost_reply(served: Served, verb: str) -> None:
    create, count = CREATING[verb]
    with losing(served, replies=2) as (app, stub):
        create(app, served.app)
    assert len(stub.requests) == 3
    assert len({request.headers["idempotency-key"] for request in stub.requests}) == 1
    assert len({request.body for request in stub.requests}) == 1
    assert len(served.app.sync.find().items) == count


def test_each_call_has_a_key_of_its_own(served: Served) -> None:
    with losing(served, replies=0) as (app, stub):
        first, second = app.sync.schedule(Parcel()), app.sync.schedule(Parcel())
    assert first.id != second.id
    assert len({request.headers["idempotency-key"] for request in stub.requests}) == 2


def test_a_bulk_is_done_once_after_a_lost_reply(served: Served) -> None:
    now = served.app.clock.now()
    served.app.sync.schedule_many([(Parcel(n), now + timedelta(days=1)) for n in range(5)])
    with losing(served, replies=1) as (app, stub):
        done = app.sync.bulk("shift", filter={"kind": "parcel"}, seconds=60)
    assert (done.changed, done.next_cursor, len(stub.requests)) == (5, None, 2)
    due = {action.due_at for action in served.app.sync.find()}
    assert due == {now + timedelta(days=1, seconds=60)}


def test_an_act_that_may_have_been_done_is_not_sent_again(served: Served) -> None:
    action = served.app.sync.schedule(Parcel(), delay=60)
    with (
        losing(served, replies=1) as (app, stub),
        pytest.raises(StoreUnavailable, match="look whether it was done") as lost,
    ):
        app.sync.cancel(action.id)
    assert (len(stub.requests), lost.value.__cause__) == (1, None)
    assert served.app.sync.get(action.id).state is State.cancelled


# Verbs that change something, and are sent again after a lost reply: what they make is recognised,
# or they change nothing the second time.
SENT_AGAIN = {
    *("schedule", "schedule_many", "repeat", "bulk", "jobs.trigger", "jobs.backfill"),
    *("jobs.pause", "jobs.resume", "jobs.restore", "queues.pause", "grants.set"),
    *("notifications.add", "notifications.mute"),
}
# Those that are not, since it could be that they were done.
SENT_ONCE = {
    *("cancel", "reschedule", "retry", "jobs.put", "jobs.bulk", "jobs.remove", "queues.resume"),
    *("grants.remove", "api_keys.create", "api_keys.revoke"),
    *(f"notifications.{verb}" for verb in ("change", "remove", "test", "read")),
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "schedule": (Parcel(),),
    "schedule_many": ([(Parcel(), LATER)],),
    "bulk": ("cancel",),
    "groups": ("kind",),
    "series": ("executed",),
    "timeline": (LATER, LATER + timedelta(days=1)),
    "jobs.put": ("shop-daily", "0 6 * * *"),
    "jobs.bulk": ("pause", ["shop-daily"]),
    "jobs.backfill": ("shop-daily", LATER, LATER + timedelta(days=1)),
    "grants.set": ("till", "jobs.read"),
    "grants.remove": (uuid4(),),
    "api_keys.create": ("till", ["till"]),
    "api_keys.revoke": (uuid4(),),
    "queues.pause": ("letters",),
    "queues.resume": ("letters",),
    "notifications.add": ("*",),
}
NAMED: dict[str, dict[str, Any]] = {
    "reschedule": {"delay": 1},
    "bulk": {"filter": {"kind": "parcel"}},
    "jobs.put": {"payload": Parcel(), "version": 1},
    "notifications.add": {"in_app": True},
    "notifications.mute": {"until": LATER},
}
WITHOUT_SUBJECT = {*("find", "stats"), *("jobs.list", "queues.list", "workers.list")}
WITHOUT_SUBJECT |= {"grants.list", "api_keys.list", "audit.find"}
WITHOUT_SUBJECT |= {f"notifications.{verb}" for verb in ("subscriptions", "list", "unread", "read")}
VERBS = sorted(
    f"{noun}.{verb}" if noun else verb for noun, verbs in CARRIED_VERBS.items() for verb in verbs
)


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_sent_again_if_that_is_safe(name: str) -> None:
    denied = json.dumps({"type": "urn:duetime:permission-denied", "permission": "all"})
    answers: Iterator[bytes | None] = iter([None])
    with answering(lambda _: next(answers, response(403, denied, kind=PROBLEM))) as stub:
        app = Duetime.connect(stub.url, timeout=20)
        app.payload(Parcel, kind="parcel")
        noun, _, verb = name.rpartition(".")
        call = getattr(getattr(app.sync, noun) if noun else app.sync, verb)
        subject = "shop-daily" if noun == "jobs" else uuid4()
        given = ARGUMENTS.get(name, () if name in WITHOUT_SUBJECT else (subject,))
        with pytest.raises(StoreUnavailable if name in SENT_ONCE else PermissionDenied):
            call(*given, **NAMED.get(name, {}))
        app.sync.close()
    assert len(stub.requests) == (1 if name in SENT_ONCE else 2)
    reads = stub.requests[0].line.startswith("GET")
    assert reads is (name not in SENT_ONCE | SENT_AGAIN)


def away(status: int, *headers: str, kind: str = PROBLEM) -> Callable[[Request], bytes]:
    """A server that is away at first, and then has no actions."""
    problem = json.dumps({"type": "urn:duetime:store-unavailable", "status": status})
    answers = iter([response(status, problem, headers, kind=kind)])
    page = response(200, json.dumps({"items": [], "next_cursor": None}))
    return lambda request: next(answers, page)


@pytest.mark.parametrize(
    ("status", "kind"),
    # A server that is stopped cuts requests off with a 500 that is not the API's.
    [(502, "text/html"), (503, PROBLEM), (503, "text/html"), (504, ""), (500, "text/plain")],
)
async def test_a_server_that_is_away_is_asked_again(status: int, kind: str) -> None:
    with answering(away(status, "Retry-After: 0", kind=kind)) as stub:
        async with Duetime.connect(stub.url, timeout=20) as app:
            assert (await app.find()).items == []
    assert len(stub.requests) == 2


def test_a_server_is_not_asked_again_before_it_wants_to_be() -> None:
    with answering(away(503, "Retry-After: 30")) as stub, in_time(10):
        app = Duetime.connect(stub.url, timeout=20)
        with pytest.raises(StoreUnavailable, match="answered 503"):
            app.sync.find()
        app.sync.close()
    assert len(stub.requests) == 1


def test_what_fails_is_not_asked_again() -> None:
    with answering(lambda _: response(500, "{}", kind=PROBLEM)) as stub:
        app = Duetime.connect(stub.url, timeout=20)
        with pytest.raises(StoreUnavailable, match="answered 500"):
            app.sync.find()
        app.sync.close()
    assert len(stub.requests) == 1


def test_a_server_that_comes_back_gets_what_was_never_sent(served: Served) -> None:
    """Also acts that are not repeated after a lost reply: nothing of them was sent."""
    action = served.app.sync.schedule(Parcel(), delay=60)
    with listening() as listener:
        port = listener.getsockname()[1]
    app = Duetime.connect(f"http://127.0.0.1:{port}", token=served.key, timeout=30)
    with ThreadPoolExecutor(1) as thread:
        cancelled = thread.submit(app.sync.cancel, action.id)
        with serving(served.app.admin(admin_roles={"root"}), port):
            assert cancelled.result(timeout=30).state is State.cancelled
    app.sync.close()


def test_a_server_that_is_not_there_is_given_up() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
    # Time enough for a first attempt on a busy machine.
    app = Duetime.connect(f"http://127.0.0.1:{port}", timeout=3)
    with in_time(), pytest.raises(StoreUnavailable, match=r"cannot be reached.*nothing was sent"):
        app.sync.get(uuid4())
    with in_time(), pytest.raises(StoreUnavailable, match="cannot be reached"):
        asyncio.run(app.get(uuid4()))


@pytest.mark.parametrize("start", [b"", response(200, b"x" * 100)[:-50]], ids=["none", "half"])
def test_a_server_that_does_not_answer_is_given_up(start: bytes) -> None:
    over = threading.Event()

    def hold(request: Request) -> bytes | None:
        over.wait()
        return start or None

    with answering(hold) as stub:
        app = Duetime.connect(stub.url, timeout=0.5)
        with in_time(), pytest.raises(StoreUnavailable, match="did not answer"):
            app.sync.find()
        with in_time(), pytest.raises(StoreUnavailable, match="did not answer"):
            asyncio.run(app.find())
        over.set()
        app.sync.close()


@pytest.mark.parametrize("ask", [lambda app: app.sync.find(), lambda app: asyncio.run(app.find())])
def test_an_endless_answer_is_not_kept(
    ask: Callable[[Duetime], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetime.remote.clients.MAX_RESPONSE_BYTES", 1000)
    with answering(lambda _: response(200, b"x" * 100_000)) as stub:
        app = Duetime.connect(stub.url, timeout=20)
        with pytest.raises(ConfigError, match="answers with more than"):
            ask(app)
        app.sync.close()
    assert len(stub.requests) == 1


def test_a_put_of_any_version_wins_over_other_edits(served: Served, remote: Duetime) -> None:
    """Others change the job between the attempts."""
    name, seen = "shop-daily", []
    app = served.app.admin(admin_roles={"root"}, prefix="/ops")

    async def busy(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "PUT":
            seen.append(dict(scope["headers"]).get(b"if-match"))
            if len(seen) == 2:
                await served.app.jobs.remove(name)
        await app(scope, receive, send)

    served.app.sync.jobs.put(name, "0 1 * * *", payload=Parcel())
    with serving(busy) as address:
        other = Duetime.connect(f"{address}/ops", token=served.key)
        other.payload(Parcel, kind="parcel")
        job = other.sync.jobs.put(name, "0 2 * * *", payload=Parcel())
        other.sync.close()
    assert (job.recurrence, seen) == ("0 2 * * *", [None, b"*", None])


async def test_many_calls_at_once(served: Served) -> None:
    async with served.connect() as app:
        actions = await asyncio.gather(*(app.schedule(Parcel(n), delay=60) for n in range(60)))
        assert len({action.id for action in actions}) == 60
        done = await asyncio.gather(
            *(app.cancel(actions[0].id) for _ in range(5)), return_exceptions=True
        )
    assert sorted(type(each).__name__ for each in done) == ["Action", *["IllegalState"] * 4]


SCRIPT = """
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from duetime import Duetime

app = Duetime.connect(sys.argv[1], token=sys.argv[2])
app.sync.find()
for _ in range(2):
    asyncio.run(app.find())  # a loop that ends without closing the app
child = os.fork()
app.sync.find()
asyncio.run(app.find())
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with ThreadPoolExecutor(8) as threads:
    list(threads.map(lambda _: app.sync.find(), range(40)))
app.sync.close()
app.sync.find()
app.sync.close()
print("done")
"""


def test_loops_forks_and_threads_leave_nothing_open(served: Served) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, served.url, served.key]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=120)
    assert (done.stdout, done.stderr) == ("done\n", "")
