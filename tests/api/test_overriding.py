"""`app.testing.override`: a module-level app on another store and clock."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest

from api.apps import Note, Other
from duetime import (
    ActionSucceeded,
    Clock,
    Context,
    Depends,
    Duetime,
    JobReader,
)
from duetime.errors import ActionNotFound, ConfigError, JobNotFound
from duetime.model.clock import SystemClock
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from polling import until

START = datetime(2030, 1, 1, tzinfo=UTC)


class Mailer:
    """A dependency."""


@dataclass
class Shop:
    """An app as a module declares it, with what its functions have seen."""

    app: Duetime
    sent: list[tuple[str, datetime, Mailer]] = field(default_factory=list)
    ticks: list[datetime | None] = field(default_factory=list)
    emitted: list[ActionSucceeded] = field(default_factory=list)
    delivered: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        app = self.app
        app.provide(Mailer, Mailer)

        @app.handler(kind="note")
        async def send(
            payload: Note,
            ctx: Context,
            clock: Clock,
            mailer: Mailer,
            other: Annotated[Mailer, Depends(Mailer)],
        ) -> None:
            self.sent.append((payload.text, clock.now(), mailer))
            if payload.text == "first":
                await app.schedule(Note("second"), delay=60)

        @app.job("0 2 * * *", name="shop-close")
        def close(ctx: Context) -> None:
            self.ticks.append(ctx.tick)

        async def archive(event: ActionSucceeded) -> None:
            self.delivered.append(event.action_id)

        app.on(ActionSucceeded, self.emitted.append)
        app.on(ActionSucceeded, archive, durable=True)


@pytest.fixture
def shop(sqlite_path: Path) -> Iterator[Shop]:
    """A shop on the developer's database, in real time."""
    app = Duetime(f"sqlite:///{sqlite_path}", name="shop", lease=7)
    yield Shop(app)
    app.sync.close()


@pytest.fixture
def other_url(url: str, tmp_path: Path) -> str:
    """The URL of an empty store of each kind, never that of the shop."""
    return f"sqlite:///{tmp_path}/other.db" if url.startswith("sqlite") else url


# -- assigning -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clock", FakeClock()),
        ("store", MemoryStore()),
        ("settings", None),
        ("runtime", None),
    ],
)
def test_assigning_names_the_remedy_and_changes_nothing(
    memory_app: Duetime, name: str, value: object
) -> None:
    before = getattr(memory_app, name)
    with pytest.raises(ConfigError, match=rf"app\.{name} cannot .* app\.testing\.override\(clock="):
        setattr(memory_app, name, value)
    assert getattr(memory_app, name) is before


def test_other_attributes_can_be_assigned(memory_app: Duetime) -> None:
    memory_app.note = "mine"  # type: ignore[attr-defined]
    assert vars(memory_app)["note"] == "mine"


# -- every face ----------------------------------------------------------------------


async def test_the_app_lives_in_another_store_and_time(shop: Shop, other_url: str) -> None:
    app = shop.app
    kept = await app.schedule(Note("kept"), delay=3600)
    with app.testing.override(clock=FakeClock(START), url=other_url) as overridden:
        assert overridden is app
        await app.schedule(Note("first"), delay=timedelta(days=29))
        with pytest.raises(ActionNotFound):
            await app.get(kept.id)
        # 29 ticks and two notes, each with its durable subscriber.
        assert await app.testing.advance(days=30) == 2 * (30 + 2)
        inside = app.store
    sent_at = [at - START for _, at, _ in shop.sent]
    assert sent_at == [timedelta(days=29), timedelta(days=29, minutes=1)]
    assert all(isinstance(mailer, Mailer) for _, _, mailer in shop.sent)
    assert shop.ticks == [START + timedelta(days=n, hours=2) for n in range(30)]
    assert len(shop.delivered) == 30 + 2
    assert len(shop.emitted) == 2 * (30 + 2)
    assert app.store is not inside
    assert [action.id for action in await app.find()] == [kept.id]
    with pytest.raises(JobNotFound):
        await app.jobs.get("shop-close")


async def test_faces_that_somebody_kept_see_it_too(shop: Shop) -> None:
    app = shop.app
    jobs: JobReader = app.jobs
    sync, sync_jobs, testing = app.sync, app.sync.jobs, app.testing
    with app.testing.override(clock=FakeClock(START)):
        action = sync.schedule(Note("sync"), delay=60)
        assert action.due_at == START + timedelta(seconds=60)
        assert (await app.get(action.id)).id == action.id
        assert await testing.drain() == 0
        tick = START + timedelta(hours=2)
        assert (await jobs.get("shop-close")).next_due_at == tick
        assert sync_jobs.get("shop-close").next_due_at == tick
        sync_jobs.trigger("shop-close", by="ann")
        assert app.sync.testing.drain() == 2
        assert len((await app.jobs.list()).items) == 1
    assert sync.find().items == []
    assert sync_jobs.list().items == []


async def test_a_worker_made_inside_uses_both(shop: Shop) -> None:
    app, clock = shop.app, FakeClock(START)
    with app.testing.override(clock=clock):
        action = await app.schedule(Note("first"), delay=timedelta(days=3))
        async with app.worker():
            clock.advance(days=3)
            done = await app.wait(action.id, timeout=10)
        assert done.finished_at == START + timedelta(days=3)
        await app.testing.assert_scheduled(Note("second"), at=done.finished_at + timedelta(0, 60))
    assert [(text, at) for text, at, _ in shop.sent] == [("first", START + timedelta(days=3))]


def test_tests_need_no_event_loop(shop: Shop) -> None:
    with shop.app.testing.override(clock=FakeClock(START)) as app:
        app.sync.schedule(Note("first"), delay=60)
        app.sync.testing.assert_scheduled(Note("first"), at=START + timedelta(seconds=60), count=1)
        app.sync.testing.assert_not_scheduled(Note("second"))
        assert app.sync.testing.advance(60) == 2  # with the durable subscriber
        [second] = app.sync.testing.scheduled(Note)
        assert second.payload == Note("second")
        app.sync.testing.reset()
        assert app.sync.testing.scheduled() == []
        assert app.clock.now() == START


async def test_settings_are_kept_except_those_of_the_store(sqlite_path: Path) -> None:
    app = Duetime(
        "postgresql://nowhere/shop", schema="accounts", name="shop", lease=7, migrate=False
    )
    with app.testing.override(url=f"sqlite:///{sqlite_path}"):
        assert app.settings.url == f"sqlite:///{sqlite_path}"
        assert (app.settings.name, app.settings.lease) == ("shop", 7)
        assert app.worker_settings().lease == 7
        app.payload(Note, kind="note")
        await app.schedule(Note())  # creates the tables
    assert (app.settings.url, app.settings.schema) == ("postgresql://nowhere/shop", "accounts")


async def test_the_clock_stays_if_none_is_given(shop: Shop) -> None:
    with shop.app.testing.override() as app:
        assert isinstance(app.clock, SystemClock)
        assert isinstance(app.store, MemoryStore)
        await app.schedule(Note("now"))
        assert await app.testing.drain() == 2
    assert shop.app.sync.find().items == []


async def test_a_store_can_be_given(shop: Shop) -> None:
    clock = FakeClock(START)
    store = MemoryStore(clock=clock)
    with shop.app.testing.override(clock=clock, store=store) as app:
        assert app.store is store
        await app.schedule(Note("x"), delay=5)
        assert await app.testing.advance(5) == 2


# -- what is declared inside ---------------------------------------------------------


async def test_declarations_of_a_module_that_a_test_imports_last(shop: Shop) -> None:
    app, seen = shop.app, list[object]()
    with app.testing.override(clock=FakeClock(START)):

        @app.handler(kind="other")
        async def other(payload: Other) -> None:
            seen.append(payload)

        app.on(ActionSucceeded, seen.append)
        await app.schedule(Other(1))
        await app.testing.drain()
    with app.testing.override(clock=FakeClock(START)):
        await app.schedule(Other(2))
        await app.testing.drain()
    assert [item for item in seen if isinstance(item, Other)] == [Other(1), Other(2)]
    assert len(seen) > 2


# -- leaving -------------------------------------------------------------------------


async def test_the_original_is_back_after_an_exception(shop: Shop) -> None:
    app = shop.app
    before = (app.store, app.clock, app.settings, app.runtime)
    with pytest.raises(KeyError), app.testing.override(clock=FakeClock()):
        raise KeyError
    with pytest.raises(KeyError):
        async with app.testing.override(clock=FakeClock()):
            raise KeyError
    assert all(
        now is then
        for now, then in zip((app.store, app.clock, app.settings, app.runtime), before, strict=True)
    )


async def test_overrides_nest(shop: Shop) -> None:
    app, clock = shop.app, FakeClock(START)
    with app.testing.override(clock=clock):
        outer = app.store
        action = await app.schedule(Note("outer"))
        with app.testing.override():
            assert app.clock is clock
            assert (await app.find()).items == []
            with app.testing.override(clock=FakeClock()):
                assert app.clock is not clock
            assert app.clock is clock
        assert app.store is outer
        assert (await app.get(action.id)).payload == Note("outer")
    assert isinstance(app.clock, SystemClock)


def test_the_wrong_order_is_an_error_and_restores_the_app(shop: Shop) -> None:
    app = shop.app
    before = app.runtime
    first, second = app.testing.override(), app.testing.override()
    first.__enter__()
    second.__enter__()
    with pytest.raises(ConfigError, match="another order"):
        first.__exit__(None, None, None)
    assert app.runtime is before
    with pytest.raises(ConfigError, match="another order"):
        second.__exit__(None, None, None)
    assert app.runtime is before


def exists(url: str) -> bool:
    return Path(url.removeprefix("sqlite:///")).exists()


async def test_async_with_does_the_same(shop: Shop) -> None:
    app = shop.app
    async with app.testing.override(clock=FakeClock(START), url="sqlite://") as overridden:
        assert overridden is app
        await app.schedule(Note("x"), delay=5)
        assert await app.testing.advance(5) == 2
        url = app.settings.url
        assert exists(url)
    assert not exists(url.removesuffix("/test.db"))


def sqlite_threads() -> int:
    return sum(thread.name == "duetime-sqlite" for thread in threading.enumerate())


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
async def test_a_temporary_file_is_removed_with_its_thread(shop: Shop, url: str) -> None:
    app, before = shop.app, sqlite_threads()
    with app.testing.override(url=url):
        await app.schedule(Note())
        url = app.settings.url
        assert exists(url)
        assert sqlite_threads() == before + 1
    assert sqlite_threads() == before
    assert not exists(url.removesuffix("/test.db"))


@pytest.mark.parametrize("is_async", [False, True])
async def test_connections_to_a_server_are_closed(
    shop: Shop, empty_postgres_url: str, is_async: bool
) -> None:
    app = shop.app

    async def use() -> None:
        await app.schedule(Note())
        app.sync.find()

    if is_async:
        async with app.testing.override(url=empty_postgres_url):
            await use()
    else:
        with app.testing.override(url=empty_postgres_url):
            await use()
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        others += " AND application_name = 'duetime' AND backend_type = 'client backend'"
        # A server process ends a moment after its client has left.
        await until(lambda: connection.execute(others).fetchone() == (0,))


# -- refused -------------------------------------------------------------------------


async def test_entering_while_a_worker_runs_is_refused(shop: Shop) -> None:
    app = shop.app
    before = app.runtime
    async with app.worker():
        with (
            pytest.raises(ConfigError, match="while the app runs Worker"),
            app.testing.override(clock=FakeClock()),
        ):
            pass
        assert app.runtime is before
    with app.testing.override(clock=FakeClock()):
        pass


async def test_leaving_while_a_worker_runs_is_an_error(shop: Shop) -> None:
    app = shop.app
    before = app.runtime
    async with AsyncExitStack() as workers:
        with (
            pytest.raises(ConfigError, match=r"leaving .* while the app runs Worker"),
            app.testing.override(),
        ):
            await workers.enter_async_context(app.worker())
        assert app.runtime is before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"clock": 5}, "clock=5 is not a clock"),
        ({"clock": FakeClock}, "is a class: give an instance"),
        ({"url": 5}, "url=5 is not a URL"),
        ({"url": "nonsense"}, "names no store"),
        ({"url": "mysql://x/y"}, "names no store"),
        ({"store": "memory://"}, "is not a store"),
        ({"url": "memory://", "store": MemoryStore()}, "not both"),
        ({"sessions": 5}, "makes no sessions"),
        ({"sessions": lambda: None}, "give url= too"),
    ],
)
def test_bad_arguments_change_nothing(shop: Shop, arguments: dict[str, Any], message: str) -> None:
    before = shop.app.runtime
    with pytest.raises(ConfigError, match=message), shop.app.testing.override(**arguments):
        pass
    assert shop.app.runtime is before


def test_an_override_is_entered_once(shop: Shop) -> None:
    override = shop.app.testing.override()
    with override:
        pass
    with pytest.raises(ConfigError, match=r"call app\.testing\.override\(\) again"):
        override.__enter__()


# -- a clock that cannot be moved ----------------------------------------------------


async def test_advance_needs_a_fake_clock_and_names_the_remedy(shop: Shop) -> None:
    with pytest.raises(ConfigError, match=r"with app\.testing\.override\(clock=FakeClock\(\)\)"):
        await shop.app.testing.advance(5)


@pytest.mark.parametrize("make", [MemoryStore, lambda: MemoryStore(clock=FakeClock(START))])
async def test_advance_refuses_a_store_with_another_clock(
    make: Callable[[], MemoryStore],
) -> None:
    app = Duetime(store=make(), clock=FakeClock(START + timedelta(days=1)))
    app.payload(Note, kind="note")
    await app.schedule(Note(), delay=5)
    with pytest.raises(ConfigError, match="MemoryStore follows another one"):
        await app.testing.advance(10)
