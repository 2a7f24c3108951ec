"""`app.testing.reset`: an empty store between two tests, and never one with real data."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.apps import STORES, Note, store_url
from duetime import ANY, Context, Duetime
from duetime.errors import ActionNotFound, ConfigError, JobNotFound
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock

START = datetime(2030, 1, 1, tzinfo=UTC)
ticks_seen: list[datetime | None] = []


def declare(app: Duetime) -> Duetime:
    @app.handler(kind="note")
    async def note(payload: Note) -> None: ...

    @app.job("0 2 * * *", name="shop-close")
    def close(ctx: Context) -> None:
        ticks_seen.append(ctx.tick)

    ticks_seen.clear()
    return app


@pytest.fixture
def shop() -> Duetime:
    return declare(Duetime("postgresql://nowhere/shop"))


@pytest.fixture(params=[*STORES, "temporary"])
def test_url(request: pytest.FixtureRequest) -> str:
    return "sqlite://" if request.param == "temporary" else store_url(request)


async def test_everything_is_gone_and_the_clock_is_back(shop: Duetime, test_url: str) -> None:
    with shop.testing.override(clock=FakeClock(START), url=test_url) as app:
        for _ in range(2):
            waiting = await app.schedule(Note("x"), delay=timedelta(days=9), key="k", by="ann")
            assert waiting.created
            assert await app.testing.advance(days=3) == 3
            await app.jobs.pause("shop-close", by="bob")
            await app.cancel(waiting.id, by="bob")
            assert len(await app.jobs.runs("shop-close")) == 3
            await app.testing.reset()
            assert app.clock.now() == START
            with pytest.raises(ActionNotFound):
                await app.get(waiting.id)
            with pytest.raises(JobNotFound):
                await app.jobs.get("shop-close")
            assert (await app.find()).items == []
            assert (await app.audit.find(tenant=ANY)).items == []
    # The ticks of the second round are those of the first.
    assert ticks_seen == [START + timedelta(days=n, hours=2) for n in range(3)] * 2


async def test_a_worker_that_runs_is_refused(shop: Duetime) -> None:
    with shop.testing.override(clock=FakeClock(START)) as app:
        action = await app.schedule(Note(), delay=60)
        async with app.worker():
            with pytest.raises(ConfigError, match=r"reset\(\) while the app runs Worker"):
                await app.testing.reset()
        assert (await app.get(action.id)).id == action.id


# -- stores that may hold more than a test's data ------------------------------------


async def test_an_app_s_own_database_is_not_wiped_without_its_name(sqlite_path: Path) -> None:
    async with declare(Duetime(f"sqlite:///{sqlite_path}")) as app:
        action = await app.schedule(Note(), delay=60)
        with pytest.raises(ConfigError, match=r"confirm with reset\(wipe='duetime\.db'\)"):
            await app.testing.reset()
        for wrong in ("other.db", "", str(sqlite_path)):
            with pytest.raises(ConfigError, match="is not the name of the app's store now"):
                await app.testing.reset(wipe=wrong)
        assert (await app.get(action.id)).id == action.id
        await app.testing.reset(wipe="duetime.db")
        assert (await app.find()).items == []


async def test_an_override_on_the_same_database_is_as_careful(sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"
    app = declare(Duetime(url))
    with app.testing.override(clock=FakeClock(START), url=url):
        action = await app.schedule(Note(), delay=60)
        with pytest.raises(ConfigError, match=r"reset\(wipe='duetime\.db'\)"):
            await app.testing.reset()
        assert (await app.get(action.id)).id == action.id
        await app.testing.reset(wipe="duetime.db")
        assert (await app.find()).items == []


async def test_a_server_s_database_is_known_by_its_name(postgres_url: str) -> None:
    """Another name of the server is no other database."""
    own = postgres_url.replace("127.0.0.1", "localhost")
    app = declare(Duetime(own))
    name = own.rpartition("/")[2].partition("?")[0]
    with app.testing.override(clock=FakeClock(START), url=postgres_url):
        await app.schedule(Note(), delay=60)
        with pytest.raises(ConfigError, match=rf"reset\(wipe='{name}'\)"):
            await app.testing.reset()
        await app.testing.reset(wipe=name)
        assert (await app.find()).items == []


async def test_a_url_that_names_no_database_is_refused(shop: Duetime) -> None:
    for wipe in (None, ""):
        with (
            pytest.raises(ConfigError, match="names no database"),
            shop.testing.override(url="postgresql://nowhere") as app,
        ):
            await app.testing.reset(wipe=wipe)


async def test_a_store_that_was_given_is_confirmed_by_its_class(
    shop: Duetime, sqlite_path: Path
) -> None:
    clock = FakeClock(START)
    store = SqliteStore(sqlite_path, clock=clock)
    with shop.testing.override(clock=clock, store=store) as app:
        await app.schedule(Note(), delay=60)
        with pytest.raises(ConfigError, match=r"reset\(wipe='SqliteStore'\)"):
            await app.testing.reset()
        await app.testing.reset(wipe="SqliteStore")
        assert (await app.find()).items == []


@pytest.mark.parametrize("store", [None, MemoryStore()])
async def test_memory_needs_no_confirmation(store: MemoryStore | None) -> None:
    app = declare(Duetime(None if store else "memory://", store=store))
    await app.schedule(Note(), delay=60)
    await app.testing.reset()
    assert (await app.find()).items == []
