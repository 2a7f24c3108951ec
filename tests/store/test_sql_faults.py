"""The PostgreSQL store when connections break, servers freeze and data cannot be stored."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from duetime.errors import ConfigError, InvalidArgument, StoreUnavailable, UnreadableRow
from duetime.model.act import Act
from duetime.model.actions.claim import Fence
from duetime.model.audit import AuditFilter
from duetime.model.filter import Filter
from duetime.model.health.checks import judge_database
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql.migrate import render_migrations
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.statements.loader import StatementLoader
from duetime.store.sql.statements.table_names import TableNames
from polling import in_time, until
from servers import OwnServer
from store.postgres_helpers import (
    add,
    another,
    claim,
    count_sessions,
    end_others,
    find,
    finish,
    frozen,
    lock,
    new,
    sessions,
    waiting,
)


def host_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


@pytest.fixture
def ascii_url(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database that keeps any bytes as text."""
    name = f"ascii_{uuid4().hex}"
    made = "ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    with another(postgres_url) as admin:
        admin.execute(f"CREATE DATABASE {name} {made}".encode())
        yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class TestLostConnections:
    async def test_a_connection_that_died_while_idle_is_replaced(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        end_others(postgres_url)
        # A flow that must not be replayed succeeds, too.
        assert await store.perform(store.prune(keep=0, keep_failed=0, limit=1)) == 0
        store.perform_blocking(store.get(only, ANY))
        end_others(postgres_url)
        assert store.perform_blocking(store.prune(keep=0, keep_failed=0, limit=1)) == 0

    @pytest.mark.parametrize("blocking", [False, True])
    @pytest.mark.parametrize("mode", [Mode.read, Mode.write, Mode.single])
    async def test_a_connection_that_dies_in_a_flow_is_replaced_if_a_replay_is_safe(
        self, store: PostgresStore, postgres_url: str, mode: Mode, blocking: bool
    ) -> None:
        await add(store)
        flow, tries = dying(postgres_url, mode)
        call = asyncio.to_thread(store.perform_blocking, flow) if blocking else store.perform(flow)
        if mode is Mode.single:
            with pytest.raises(StoreUnavailable):
                await call
            assert len(tries) == 1
        else:
            assert await call == 2

    async def test_a_flow_that_may_be_replayed_is_replayed(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        await add(store)
        flow, _ = dying(postgres_url, Mode.single, resend=True)
        assert await store.perform(flow) == 2

    async def test_a_restarted_server_is_found_again(
        self, private_postgres: Callable[..., OwnServer]
    ) -> None:
        server = private_postgres()
        store = PostgresStore(server.url, timeout=5)
        [only] = await add(store)
        server.restart("immediate")
        assert (await store.perform(store.get(only, ANY))).id == only
        server.stop()
        with pytest.raises(StoreUnavailable):
            await store.perform(store.get(only, ANY))
        server.start()
        assert (await store.perform(store.get(only, ANY))).id == only
        await store.aclose()

    async def test_a_flow_with_a_deadline_fails_in_time(
        self, private_postgres: Callable[..., OwnServer]
    ) -> None:
        server = private_postgres()
        store = PostgresStore(server.url, timeout=60)
        await add(store)
        [claimed] = await claim(store)
        renewal = replace(store.renew([Fence(claimed.id, claimed.token)], 5_000_000), deadline=1.0)
        await asyncio.to_thread(store.perform_blocking, renewal)
        failure = pytest.raises(StoreUnavailable, match="did not answer in time")
        with frozen(server), in_time(), failure:
            await asyncio.to_thread(store.perform_blocking, renewal)
        await store.aclose()

    async def test_connections_as_old_as_a_silent_connection_are_not_used_again(
        self, private_postgres: Callable[..., OwnServer]
    ) -> None:
        server = private_postgres()
        store = PostgresStore(server.url, timeout=1)
        await asyncio.gather(*(add(store) for _ in range(4)))
        assert sessions(server.url) == 4
        with frozen(server), pytest.raises(StoreUnavailable):
            await store.perform(store.find(Filter()))
        await until(lambda: sessions(server.url) == 0)
        assert await find(store) == 4
        await store.aclose()

    async def test_a_frozen_server_is_given_up_in_time(
        self, private_postgres: Callable[..., OwnServer]
    ) -> None:
        server = private_postgres()
        # A busy machine may take longer than a second to create the tables.
        patient = PostgresStore(server.url)
        [first, _] = await add(patient, 2)
        await patient.aclose()
        store = PostgresStore(server.url, timeout=1)
        assert await find(store) == 2
        await asyncio.to_thread(store.perform_blocking, store.get(first, ANY))
        with frozen(server):
            for call in (
                store.perform(store.find(Filter())),
                asyncio.to_thread(store.perform_blocking, store.find(Filter())),
            ):
                with in_time(), pytest.raises(StoreUnavailable, match="did not answer in time"):
                    await call
        assert await find(store) == 2
        await store.aclose()

    async def test_a_cancelled_call_leaves_no_transaction_behind(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        with another(postgres_url) as caller, caller.transaction():
            lock(caller, only)
            call = asyncio.create_task(
                store.perform(store.cancel(only, ANY, Act("me"), running=False))
            )
            await until(lambda: waiting(postgres_url))
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        assert (await store.perform(store.get(only, ANY))).state is State.scheduled

    async def test_closing_closes_connections_and_performing_opens_new_ones(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        [only] = await add(store)
        store.perform_blocking(store.get(only, ANY))
        assert sessions(postgres_url) == 2
        await store.aclose()
        await until(lambda: sessions(postgres_url) == 0)
        assert (await store.perform(store.get(only, ANY))).id == only


class TestErrors:
    async def test_an_unreachable_server(self) -> None:
        store = PostgresStore("postgresql://me:secret@127.0.0.1:1/shop", timeout=60)
        refusal = pytest.raises(StoreUnavailable, match=r"database shop at 127.0.0.1:1 cannot")
        with in_time(), refusal as caught:
            await store.perform(store.find(Filter()))
        with in_time(), pytest.raises(StoreUnavailable):
            store.perform_blocking(store.find(Filter()))
        assert "secret" not in str(caught.value)

    def test_a_url_that_cannot_be_read_is_not_repeated(self) -> None:
        with pytest.raises(ConfigError) as caught:
            PostgresStore("postgresql://me:s%zzecret@host/x")
        assert "zzecret" not in str(caught.value)

    async def test_a_wrong_password_or_name(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url + "_not_there")
        with pytest.raises(StoreUnavailable, match="does not exist"):
            await store.perform(store.find(Filter()))
        for who in ("nobody", "nobody:wrong"):
            url = urlsplit(postgres_url)._replace(netloc=f"{who}@{host_of(postgres_url)}").geturl()
            with pytest.raises(StoreUnavailable, match="check user and password in the URL"):
                await PostgresStore(url).perform(store.find(Filter()))

    async def test_a_new_database_that_knows_no_encoding_is_refused(self, ascii_url: str) -> None:
        store = PostgresStore(ascii_url)
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"SQL_ASCII.*ENCODING 'UTF8'"):
                await store.perform(store.find(Filter()))
            with pytest.raises(ConfigError, match="SQL_ASCII"):
                store.migrate_blocking()
        assert len(store.pending()) == len(StatementLoader("postgres", TableNames()).migrations())
        store.close()

    async def test_a_database_that_has_our_tables_keeps_text_and_is_named(
        self, ascii_url: str
    ) -> None:
        with another(ascii_url) as admin:
            admin.execute(render_migrations("postgres").encode())
        store = PostgresStore(ascii_url)
        await store.perform(store.add([new(correlation_id="Zoë ☃")], "return"))
        [found] = await store.perform(store.find(Filter(correlation_id="Zoë ☃")))
        assert found.correlation_id == "Zoë ☃"
        diagnosis = store.diagnose()
        assert diagnosis.encoding == "SQL_ASCII"
        checks = {result.check: result for result in judge_database(diagnosis, "migrate")}
        assert checks["encoding"].level == "failure"
        assert "UTF8" in str(checks["encoding"].remedy)
        store.close()

    async def test_its_text_that_is_no_utf_8_is_shown_as_unreadable(self, ascii_url: str) -> None:
        with another(ascii_url) as admin:
            admin.execute(render_migrations("postgres").encode())
            store = PostgresStore(ascii_url)
            bad, good = await add(store, 2)
            admin.execute("UPDATE duetime_actions SET payload = E'\\xff' WHERE id = %s", (bad,))
            found = {record.id: record for record in await store.perform(store.find(Filter()))}
            assert (found[bad].payload, found[good].payload) == ("null", "{}")
            assert "invalid byte sequence" in str(found[bad].error)
            assert found[good].error is None
            admin.execute("UPDATE duetime_actions SET kind = E'\\xff' WHERE id = %s", (bad,))
            with pytest.raises(UnreadableRow, match="invalid byte sequence"):
                await store.perform(store.get(bad, ANY))
            assert (await store.perform(store.get(good, ANY))).kind == "mail"
            store.close()

    async def test_data_that_cannot_be_stored(self, store: PostgresStore) -> None:
        for bad in ("a\x00b", "\ud800"):
            with pytest.raises(InvalidArgument):
                await store.perform(store.add([new(correlation_id=bad)], "return"))
            with pytest.raises(InvalidArgument):
                await store.perform(store.audit(AuditFilter(subject_id=bad, limit=1)))
        with pytest.raises(InvalidArgument):
            await store.perform(store.add([new(due_at=2**70)], "return"))

    async def test_an_ending_that_cannot_be_stored(self, store: PostgresStore) -> None:
        await add(store)
        [claimed] = await claim(store)
        with pytest.raises(InvalidArgument, match="error"):
            await store.perform(store.complete([finish(claimed, error="a\x00b")]))
        assert (await store.perform(store.complete([finish(claimed)]))).applied == {claimed.id}

    async def test_a_read_only_server(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        store.migrate_blocking()
        store.close()
        with another(postgres_url) as admin:
            name = admin.info.dbname
            admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        store = PostgresStore(postgres_url)
        with pytest.raises(StoreUnavailable, match="read-only"):
            await store.perform(store.add([new()], "return"))
        # As after a failover: connections to the old primary are closed.
        await until(lambda: sessions(postgres_url) == 0)
        await store.aclose()

    async def test_tables_that_vanished(self, store: PostgresStore, postgres_url: str) -> None:
        await add(store)
        with another(postgres_url) as admin:
            admin.execute("DROP TABLE duetime_actions")
        with pytest.raises(ConfigError, match="duetime migrate"):
            await store.perform(store.add([new()], "return"))


SLOW = """
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(1.5); RETURN new; END $$;
    CREATE TRIGGER slow BEFORE UPDATE ON duetime_actions FOR EACH ROW EXECUTE FUNCTION slow()
"""


async def test_a_claim_that_took_too_long_is_rolled_back(postgres_url: str) -> None:
    """Otherwise the action would not run until its lease expires."""
    store = PostgresStore(postgres_url, timeout=1, listen=False)
    [only] = await add(store)
    with another(postgres_url) as admin:
        admin.execute(SLOW)
    with pytest.raises(StoreUnavailable):
        await claim(store)
    await until(lambda: not count_sessions(postgres_url, "state = 'active'"))
    assert (await store.perform(store.get(only, ANY))).state is State.scheduled
    await store.aclose()


def dying(url: str, mode: Mode, resend: bool = False) -> tuple[Flow[int], list[object]]:
    """Return a flow whose first attempt loses its connection after a statement."""
    tries: list[object] = []

    def steps() -> Steps[int]:
        yield Statement("get", {"id": str(uuid4())})
        tries.append(None)
        if len(tries) == 1:
            end_others(url)
        yield Statement("get", {"id": str(uuid4())})
        return len(tries)

    return Flow(steps, mode, resend), tries
