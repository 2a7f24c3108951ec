"""What users do with a connected app, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from api.apps import url
from duetime import ANY, Duetime, State
from duetime.errors import (
    ActionNotFound,
    ConfigError,
    DuetimeError,
    InvalidArgument,
    JobNameTaken,
    PermissionDenied,
    WaitTimeout,
)
from duetime.testing import FakeClock
from duetime.transitions import transition
from polling import until
from remote.conftest import Served
from remote.scenario import Parcel, declare
from remote.serving import serving

__all__ = ["url"]


@pytest.fixture
def real(url: str) -> Iterator[Served]:
    """A served app in real time, on each store."""
    app = Duetime(url)
    declare(app)
    made = app.sync.api_keys.create("root", ["root"], None)
    with serving(app.admin(admin_roles={"root"})) as address:
        yield Served(app, address, made.key, made.id)
    app.sync.close()


async def test_a_journey_of_an_action(real: Served) -> None:
    async with real.app, real.connect() as app:
        async with real.app.worker():
            action = await app.schedule(Parcel(7), key="order-7")
            done = await app.wait(action, timeout=30)
            failed = await app.wait((await app.schedule(Parcel(-7))).id)
        assert (done.state, done.result, done.payload) == (State.succeeded, {"order": 7}, Parcel(7))
        assert failed.error == "ValueError: no order -7"
        [run] = await app.runs(failed.id)
        assert "ValueError: no order -7" in (run.traceback or "")
        assert [group.value for group in await app.groups()] == ["ValueError: no order -*"]
        entries = [entry async for entry in app.audit.export(verb="schedule")]
        assert [(e.by, e.source) for e in entries] == [(f"key:{real.key_id}", "api")] * 2
        again = await app.repeat(done.id, delay=3600)
        assert await app.cancel(again.id) == await real.app.get(again.id)


async def test_a_wait_without_a_worker_says_so(real: Served) -> None:
    async with real.app, real.connect() as app:
        action = await app.schedule(Parcel())
        with pytest.raises(
            WaitTimeout, match=r"still scheduled after 0\.2 s, and no worker"
        ) as late:
            await app.wait(action, timeout=0.2)
        assert (late.value.action_id, late.value.state) == (action.id, "scheduled")


async def test_a_wait_outlives_its_server(real: Served) -> None:
    """The server is stopped and started while somebody waits."""
    async with real.app, real.connect() as app:
        action = await app.schedule(Parcel(), delay=60)
        with serving(real.app.admin(admin_roles={"root"})) as address:
            port = int(address.rpartition(":")[2])
            waiter = Duetime.connect(address, token=real.key, timeout=60)
            waiting = asyncio.create_task(waiter.wait(action.id, timeout=60))
            # The request is with the server before that one stops.
            await until(lambda: waiting_requests(waiter))
        with serving(real.app.admin(admin_roles={"root"}), port):
            await app.reschedule(action.id, delay=0)
            async with real.app.worker():
                assert (await waiting).state is State.succeeded
        await waiter.aclose()


def waiting_requests(app: Any) -> bool:
    clients = app.runtime.store._clients._open.loops.values()
    return any(each.client._transport._pool.connections for each in clients)


def test_pages_are_walked_to_their_end(real: Served) -> None:
    app = real.connect()
    now = app.clock.now()
    app.sync.schedule_many([(Parcel(n), now + timedelta(days=n)) for n in range(1, 8)])
    found, cursor = [], None
    while True:
        page = app.sync.find(limit=3, sort="due_at", state="scheduled", cursor=cursor)
        found += [action.payload.order for action in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [*range(1, 8)]
    with pytest.raises(InvalidArgument, match="cursor") as refused:
        app.sync.find(limit=3, sort="-due_at", state="scheduled", cursor="AAAA")
    assert (refused.value.argument, refused.value.value) == ("cursor", "AAAA")
    app.sync.close()


def test_a_bulk_of_thousands_goes_on_from_its_cursor(real: Served) -> None:
    app = real.connect(timeout=120)
    actions = app.sync.schedule_many([app.request(Parcel(n), delay=60) for n in range(1000)])
    more = app.sync.schedule_many([app.request(Parcel(n), delay=60) for n in range(500)])
    counted = app.sync.bulk("cancel", filter={"kind": "parcel"}, dry_run=True)
    assert (counted.count, counted.capped, counted.sample[0].payload) == (1500, False, Parcel(499))
    first = app.sync.bulk("cancel", ids=[action.id for action in (*actions, *more)])
    assert first.next_cursor is not None
    last = app.sync.bulk("cancel", cursor=first.next_cursor)
    assert (first.changed + last.changed, last.next_cursor) == (1500, None)
    assert app.sync.bulk("cancel", cursor=first.next_cursor) == last
    app.sync.close()


def test_jobs_of_the_servers_code_are_its_own(served: Served, remote: Duetime) -> None:
    @served.app.job("0 3 * * *", name="shop-coded")
    async def coded() -> None: ...

    with pytest.raises(JobNameTaken) as taken:
        remote.sync.jobs.put("shop-coded", "0 4 * * *", payload=Parcel())
    assert taken.value.name == "shop-coded"


async def test_figures_by_time_are_those_of_the_server(real: Served) -> None:
    async with real.app, real.connect() as app:
        async with real.app.worker():
            for order in (1, 2, -3):
                await app.wait(await app.schedule(Parcel(order)), timeout=30)
        later = await app.schedule(Parcel(4), delay=600)
        await app.jobs.put("shop-hourly", "0 * * * *", payload=Parcel())
        now = app.clock.now()
        since, until_ = now - timedelta(hours=1), now + timedelta(hours=3)
        asked: list[Callable[[Duetime], Awaitable[Any]]] = [
            lambda each: each.series("executed", since=since, until=until_, step=3600),
            lambda each: each.series("lateness_p50", since=since, until=until_, by="kind"),
            lambda each: each.series("failed", since=since, step=timedelta(minutes=5)),
            lambda each: each.series("executed", step=59),
            lambda each: each.series("exploded"),  # type: ignore[arg-type]
        ]
        for ask in asked:
            assert await result_of(ask(app)) == await result_of(ask(real.app))
        there = await app.timeline(since, until_, limit=50)
        here = await real.app.timeline(since, until_, limit=50)
        assert replace(there, at=here.at) == here
        assert [each.id for each in there.scheduled] == [later.id]
        assert (len(there.ran), len(there.ticks[0].ticks)) == (3, 3)
        assert (await app.timeline(since, until_, ticks=False)).ticks == ()


async def result_of(awaitable: Any) -> Any:
    try:
        return await awaitable
    except DuetimeError as error:
        return type(error), str(error)


async def test_ticks_need_a_right_of_their_own(served: Served) -> None:
    served.app.sync.jobs.put("shop-hourly", "0 * * * *", payload=Parcel())
    now = served.app.clock.now()
    async with served.connect(served.key_of("actions.read")) as app:
        seen = await app.timeline(now, now + timedelta(hours=3))
    assert (seen.ticks, seen.ticks_capped) == ((), False)


# -- tenants --------------------------------------------------------------------------------------


def test_the_tenant_is_that_of_the_key(served: Served) -> None:
    served.app.sync.grants.set("clerk", "actions.manage")
    served.app.sync.grants.set("clerk", "payload.read")
    key = served.app.sync.api_keys.create("clerk", ["clerk"], "acme").key
    clerk = served.connect(key)
    mine = clerk.sync.schedule(Parcel(1))
    untenanted = served.app.sync.schedule(Parcel(2))
    assert mine.tenant == "acme"
    assert [action.id for action in clerk.sync.find()] == [mine.id]
    assert [action.id for action in clerk.sync.find(tenant=ANY)] == [mine.id]
    with pytest.raises(ActionNotFound):
        clerk.sync.cancel(untenanted.id)
    with pytest.raises(PermissionDenied):
        clerk.sync.find(tenant="acme")
    with clerk.acting(tenant="other"), pytest.raises(PermissionDenied):
        clerk.sync.schedule(Parcel(3))
    clerk.sync.close()


def test_an_administrator_names_a_tenant(served: Served, remote: Duetime) -> None:
    of_acme = remote.sync.schedule(Parcel(1), key="k", tenant="acme")
    with remote.acting(tenant="other"):
        of_other = remote.sync.schedule_many([remote.request(Parcel(2), key="k", delay=60)])[0]
    without = remote.sync.schedule(Parcel(3))
    assert [of_acme.tenant, of_other.tenant, without.tenant] == ["acme", "other", None]
    assert len(remote.sync.find().items) == 3
    assert [a.id for a in remote.sync.find(tenant=None)] == [without.id]
    assert remote.sync.get(kind="parcel", key="k", tenant="acme").id == of_acme.id
    with pytest.raises(InvalidArgument, match="actions of several tenants"):
        remote.sync.cancel(kind="parcel", key="k")
    counted = remote.sync.bulk("cancel", filter={"kind": "parcel", "tenant": "acme"}, dry_run=True)
    assert counted.count == 1
    key = remote.sync.api_keys.create("till", ["till"], tenant="acme")
    assert key.tenant == "acme"
    with pytest.raises(ConfigError, match="have one tenant"):
        remote.sync.schedule_many([remote.request(Parcel(), tenant=name) for name in ("a", "b")])


def test_actors_are_those_of_keys(remote: Duetime) -> None:
    action = remote.sync.schedule(Parcel(), delay=60)
    for call in (
        lambda: remote.sync.cancel(action.id, by="ann"),
        lambda: remote.sync.schedule(Parcel(), by="ann"),
        lambda: remote.sync.schedule_many([remote.request(Parcel(), by="ann")]),
        lambda: remote.sync.jobs.pause("shop-daily", by="ann"),
        lambda: remote.sync.transitions.retry(by="ann"),
        lambda: remote.sync.transitions.sweep(by="ann"),
        lambda: remote.acting(by="ann"),
    ):
        with pytest.raises(ConfigError, match="by='ann': over HTTP the actor is that of the cred"):
            call()
    assert remote.sync.find(by="ann").items == []
    with pytest.raises(ConfigError, match="authority=: over HTTP it is that of the credential"):
        remote.sync.grants.set("till", "jobs.read", authority=object())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no transaction of yours reaches through HTTP"):
        remote.sync.cancel(action.id, connection=object())
    assert remote.sync.get(action.id).state is State.scheduled


# -- row transitions ------------------------------------------------------------------------------


class Base(DeclarativeBase):
    """The models of these tests."""


class Post(Base):
    """A row that is published at its time."""

    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(
        set_field="state", from_="draft", to="published"
    )


@pytest.fixture
def posts(served: Served, tmp_path: Path, clock: FakeClock) -> Iterator[Any]:
    engine = create_engine(f"sqlite:///{tmp_path / 'posts.db'}")
    Base.metadata.create_all(engine)
    served.app.transitions.register(Post, engine, batch=2)
    with engine.begin() as connection:
        for number in range(5):
            due = (clock.now() - timedelta(days=1)).replace(tzinfo=None)
            values = {"id": number, "due": due}
            connection.execute(
                text("INSERT INTO posts (id, state, publish_at) VALUES (:id, 'draft', :due)"),
                values,
            )
    yield engine
    engine.dispose()


async def test_rows_are_swept_by_the_server(served: Served, posts: Any, remote: Duetime) -> None:
    [view] = remote.sync.transitions.list()
    assert view == served.app.transitions.list()[0]
    async with remote:
        [pending] = await remote.transitions.pending()
        assert pending == (await served.app.transitions.pending())[0]
        first = await remote.transitions.sweep(note="by hand")
        assert (first.updated, first.truncated) == (2, True)
        rest = await remote.transitions.drain()
        assert (rest.updated, rest.per_model["Post"].updated) == (3, 3)
        assert (await remote.transitions.parked(Post, "publish_at")).items == []
        assert await remote.transitions.retry(Post, ids=[1], note="again") == 0
        with pytest.raises(InvalidArgument, match="Pots"):
            await remote.transitions.parked("Pots")
    with pytest.raises(ConfigError, match="parked=True is not carried"):
        remote.sync.transitions.sweep(parked=True)
    assert remote.sync.transitions.pending()[0].due == 0
    assert remote.sync.transitions.drain().updated == 0


async def test_parked_rows_are_tried_again(
    served: Served, posts: Any, remote: Duetime, clock: FakeClock
) -> None:
    with posts.begin() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER broken BEFORE UPDATE OF state ON posts WHEN NEW.id = 3 "
                "BEGIN SELECT RAISE(ABORT, 'no disk'); END"
            )
        )
    for _ in range(6):
        await served.app.transitions.drain()
        clock.advance(hours=2)
    async with remote:
        [row] = await remote.transitions.parked()
        assert (row.id, row.model, "no disk" in row.error) == (3, "Post", True)
        with posts.begin() as connection:
            connection.execute(text("DROP TRIGGER broken"))
        assert await remote.transitions.retry("Post", ids=[3]) == 1
        assert (await remote.transitions.drain()).updated == 1
