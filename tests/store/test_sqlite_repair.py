"""The repair of damaged rows in a SQLite file changes what cannot be read, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Future
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from api.apps import Note, Other
from damaged_rows import SQLITE_QUEUE_NAMES, SQLITE_QUEUES, execute
from duetime import ANY, Action, Context, Duetime, Every, Retry, State
from duetime.errors import UnreadableRow
from duetime.store.flow import Flow, Mode, Statement, Steps
from duetime.store.sql.sqlite import repair
from duetime.store.sql.sqlite.known_columns import KNOWN_COLUMNS
from duetime.store.sql.sqlite.repair import READERS
from duetime.store.sql.sqlite.store import SqliteStore

# Of these, only the ids are repaired.
KNOWN_BY_ID = ("grants", "api_keys")
# Damages the row that makes each of these tests search.
DAMAGE = "UPDATE duetime_actions SET due_at = 'abc' WHERE correlation_id = 'bad'"


@pytest.fixture
async def app(sqlite_path: Path) -> AsyncIterator[Duetime]:
    async with Duetime(f"sqlite:///{sqlite_path}", lease=2, sweep=0.3, poll=0.3) as app:

        @app.handler(kind="note")
        async def note(payload: Note, ctx: Context) -> str:
            return payload.text

        yield app


async def search(app: Duetime, path: Path) -> Action:
    """Damage a row, let the store search for it, and return its action."""
    bad = await app.schedule(Note(), delay=3600, correlation_id="bad")
    execute(f"sqlite:///{path}", DAMAGE)
    with pytest.raises(LookupError):
        await app.store.perform(Flow(stumble, Mode.read))
    return await app.get(bad.id, tenant=ANY)


def stored(path: Path, columns: str, table: str = "actions") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute(f"SELECT {columns} FROM duetime_{table}").fetchall()


@pytest.mark.parametrize("table", READERS)
def test_a_reader_reads_the_columns_of_the_migrations(sqlite_path: Path, table: str) -> None:
    store = SqliteStore(sqlite_path)
    store.migrate_blocking()
    text = store._loader.sql(Statement(READERS[table], {}))
    with closing(sqlite3.connect(sqlite_path)) as file:
        defined = file.execute(f"PRAGMA table_info(duetime_{table})").fetchall()
        cursor = file.execute(text, {"rowid": 0, "window": 1})
    known = KNOWN_COLUMNS[table]
    if table in KNOWN_BY_ID:
        defined = [column for column in defined if column[1] == "id"]
    assert [column[0] for column in cursor.description] == [
        "seq" if table == "runs" else "rowid",
        *(column.name for column in known),
    ]
    assert {(c.name, c.integer, c.required) for c in known} == {
        (name, type_.lower() == "integer", bool(required))
        for _, name, type_, required, *_ in defined
        if name != "seq"
    }


@pytest.mark.parametrize(
    "column",
    [
        "weight real DEFAULT 1.5",
        "seen boolean DEFAULT 0",
        "stamp blob DEFAULT x'ff'",
        "customer text GENERATED ALWAYS AS (payload ->> 'customer') VIRTUAL",
    ],
)
async def test_a_column_of_somebody_else_is_no_damage(
    app: Duetime, sqlite_path: Path, column: str
) -> None:
    url = f"sqlite:///{sqlite_path}"
    good = await app.schedule(Note(), delay=3600)
    for table in READERS:
        own = {"jobs": "app", "workers": "app", "tracebacks": "run_id", "queues": "paused_by"}
        text = column.replace("payload ->> 'customer'", own.get(table, "id"))
        execute(url, f"ALTER TABLE duetime_{table} ADD COLUMN {text}")
    bad = await search(app, sqlite_path)
    assert (bad.state, (await app.get(good.id)).state) == (State.failed, State.scheduled)
    assert "due_at holds 'abc'" in (bad.error or "")
    name = column.split()[0]
    assert name not in (bad.error or "")


async def test_a_damaged_traceback_is_forgotten(app: Duetime, sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"

    @app.handler(kind="other", retry=Retry.none())
    async def fail(payload: Other) -> None:
        raise ValueError("the error stays")

    action = await app.schedule(Other())
    await app.testing.drain()
    execute(url, "UPDATE duetime_tracebacks SET traceback = CAST(x'ff' AS text)")
    [run] = await app.runs(action.id)
    assert (run.error, run.traceback) == ("ValueError: the error stays", None)
    assert stored(sqlite_path, "action_id", "tracebacks") == []


async def test_a_live_worker_is_no_damage(app: Duetime, sqlite_path: Path) -> None:
    async with app.worker():
        await app.wait((await app.schedule(Note())).id, timeout=15)
        # Until its next sweep, a worker whose row was deleted would be missing.
        before = stored(sqlite_path, "rowid, id, started_at", "workers")
        await search(app, sqlite_path)
        assert stored(sqlite_path, "rowid, id, started_at", "workers") == before != []


async def test_an_outcome_of_a_newer_version_stays(app: Duetime, sqlite_path: Path) -> None:
    async with app.worker():
        done = await app.wait((await app.schedule(Note("x"))).id, timeout=15)
    execute(f"sqlite:///{sqlite_path}", "UPDATE duetime_history SET outcome = 'expired'")
    await search(app, sqlite_path)
    [row] = [
        row
        for row in stored(sqlite_path, "id, outcome, error", "history")
        if row[0] == str(done.id)
    ]
    assert row[1:] == ("expired", None)


SIDE_COLUMNS = [
    *("trace", "error", "progress", "worker", "correlation_id", "key", "created_by"),
    "modified_by",
]


@pytest.mark.parametrize("column", SIDE_COLUMNS)
async def test_a_side_column_is_mended_in_place(
    app: Duetime, sqlite_path: Path, column: str
) -> None:
    action = await app.schedule(Note(), delay=3600)
    execute(f"sqlite:///{sqlite_path}", f"UPDATE duetime_actions SET {column} = x'ff00'")
    await search(app, sqlite_path)
    assert (await app.get(action.id)).state is State.scheduled
    [[value]] = stored(sqlite_path, column)
    assert value in (None, r"\xff\x00")


async def test_a_due_time_with_a_fraction_is_rounded(app: Duetime, sqlite_path: Path) -> None:
    action = await app.schedule(Note(), delay=3600)
    execute(f"sqlite:///{sqlite_path}", "UPDATE duetime_actions SET due_at = due_at + 0.5")
    await search(app, sqlite_path)
    assert abs((await app.get(action.id)).due_at - action.due_at).total_seconds() < 1  # type: ignore[operator]


@pytest.mark.parametrize(
    "assignment", ["trace=x'ff00'", "tenant=x'ff'", "due_at='x'", "kind=x'ff'"]
)
async def test_a_running_action_is_mended_in_place(
    app: Duetime, sqlite_path: Path, assignment: str
) -> None:
    started, end = asyncio.Event(), asyncio.Event()

    @app.handler(kind="other")
    async def other(payload: Other) -> str:
        started.set()
        await end.wait()
        return "done"

    async with app.worker():
        action = await app.schedule(Other())
        await started.wait()
        execute(f"sqlite:///{sqlite_path}", f"UPDATE duetime_actions SET {assignment}")
        await search(app, sqlite_path)
        end.set()
        finished = await app.wait(action.id, tenant=ANY, timeout=15)
    assert (finished.state, finished.result) == (State.succeeded, "done")


async def test_a_clash_of_job_names_is_resolved(app: Duetime, sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"
    await app.jobs.put("nightly-close", Every(hours=1), payload=Note())
    execute(url, "UPDATE duetime_jobs SET name = CAST(name AS blob)")
    execute(
        url,
        "INSERT INTO duetime_jobs SELECT 'nightly-close', app, tenant, declared, next_due_at, "
        "retired_at, removed_at, record FROM duetime_jobs",
    )
    bad = await search(app, sqlite_path)
    assert bad.state is State.failed
    assert stored(sqlite_path, "name, typeof(name)", "jobs") == [("nightly-close", "text")]


async def test_a_row_that_no_statement_can_repair_is_deleted(
    app: Duetime, sqlite_path: Path
) -> None:
    url = f"sqlite:///{sqlite_path}"
    await app.schedule(Note(), delay=3600, correlation_id="other")
    execute(url, "UPDATE duetime_actions SET due_at = 'other'")
    execute(
        url,
        "CREATE TRIGGER refuse BEFORE INSERT ON duetime_history "
        "WHEN NEW.correlation_id = 'other' BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    bad = await search(app, sqlite_path)
    assert bad.state is State.failed
    assert stored(sqlite_path, "id") == []


async def test_an_action_that_cannot_be_mended_fails(app: Duetime, sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"
    action = await app.schedule(Note(), delay=3600)
    execute(url, "UPDATE duetime_actions SET trace = x'ff'")
    execute(
        url,
        "CREATE TRIGGER refuse BEFORE UPDATE OF trace ON duetime_actions "
        "BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    await search(app, sqlite_path)
    failed = await app.get(action.id)
    assert failed.state is State.failed
    assert "trace holds" in (failed.error or "")


def test_a_cancelled_search_is_taken_over() -> None:
    repairs = repair.Repair(uuid4)
    flow = Flow(stumble, Mode.read)
    first, second = (repairs.after(LookupError(), flow) for _ in range(2))
    assert isinstance(next(first), Flow)
    search = next(second)
    assert isinstance(search, Future)
    first.close()
    # It reads the first window itself, instead of performing its own flow again.
    assert second.send(search.result(timeout=0)) is not flow


async def test_callers_share_a_search(
    app: Duetime, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.schedule(Note(), delay=3600)
    windows = count_windows(app, monkeypatch)
    failing = [app.store.perform(Flow(stumble, Mode.read)) for _ in range(30)]
    errors = await asyncio.gather(*failing, return_exceptions=True)
    assert {type(error) for error in errors} == {LookupError}
    assert windows.count("raw_jobs") == 1


async def test_a_search_that_repaired_a_row_is_followed_by_a_pause(
    app: Duetime, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "SEARCH_PAUSE_FACTOR", 1_000_000)
    await search(app, sqlite_path)
    windows = count_windows(app, monkeypatch)
    with pytest.raises(LookupError):
        await app.store.perform(Flow(stumble, Mode.read))
    assert windows == []


async def test_a_window_is_bounded_by_bytes(
    app: Duetime, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetime.store.sql.sqlite.stored_values.WINDOW_BYTES", 1000)
    await app.schedule_many([app.request(Note("x" * 2000), delay=3600) for _ in range(3)])
    windows = count_windows(app, monkeypatch)
    assert (await search(app, sqlite_path)).state is State.failed
    assert windows.count("raw_actions") >= 4


async def test_damaged_queues_stay_paused(app: Duetime, sqlite_path: Path) -> None:
    url = f"sqlite:///{sqlite_path}"
    damages = [*SQLITE_QUEUES, *SQLITE_QUEUE_NAMES]
    for number, damage in enumerate(damages):
        await app.queues.pause(f"q{number:02}", by="ann", note="stock-taking")
        execute(url, f"UPDATE duetime_queues SET {damage} WHERE name = 'q{number:02}'")
    await search(app, sqlite_path)
    queues = {queue.name: queue for queue in await app.queues.list() if queue.paused_at}
    assert len(queues) == len(damages)
    for number in range(len(SQLITE_QUEUES)):
        queue = queues.pop(f"q{number:02}")
        assert (queue.paused_at, queue.paused_until) != (None, None)
        assert queue.paused_by in ("ann", r"\xff")
        assert queue.pause_note in ("stock-taking", r"\xff", r"\xff\x00")
    assert {name[:4] for name in queues} == {r"\xff", r"\xfe", stored_without_name(queues)[:4]}
    for name in [*queues, "q00"]:
        assert await app.queues.resume(name)


def stored_without_name(queues: Iterable[str]) -> str:
    """The name of the queue that got an id for a name, since nothing of its own could be read."""
    [name] = [name for name in queues if not name.startswith("\\")]
    assert UUID(name.strip())
    return name


async def test_a_lost_time_of_a_pause_is_now(app: Duetime, sqlite_path: Path) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    await app.queues.pause("slow", until=datetime.now(UTC) + timedelta(hours=1))
    damage = "paused_at = 'x', paused_until = 'y', paused_by = x'61'"
    execute(f"sqlite:///{sqlite_path}", f"UPDATE duetime_queues SET {damage}")
    [slow] = await app.queues.list()
    assert slow.paused_at is not None
    assert before < slow.paused_at < datetime.now(UTC) + timedelta(seconds=1)
    assert (slow.paused_by, slow.paused_until) == ("a", None)


async def test_a_clash_of_queue_names_ends_no_pause(app: Duetime, sqlite_path: Path) -> None:
    await app.queues.pause("slow", by="ann")
    execute(f"sqlite:///{sqlite_path}", "UPDATE duetime_queues SET name = CAST(name AS blob)")
    await app.queues.pause("slow", by="bob")
    await search(app, sqlite_path)
    slow, other = await app.queues.list()
    assert (slow.name, slow.paused_by, other.paused_by) == ("slow", "bob", "ann")
    assert other.name.startswith("slow ")
    assert other.paused_at is not None


async def test_a_queue_that_no_statement_can_repair_is_not_deleted(
    app: Duetime, sqlite_path: Path
) -> None:
    await app.queues.pause("slow", by="ann")
    execute(f"sqlite:///{sqlite_path}", "UPDATE duetime_queues SET paused_by = x'ff'")
    execute(
        f"sqlite:///{sqlite_path}",
        "CREATE TRIGGER refuse BEFORE UPDATE ON duetime_queues BEGIN SELECT RAISE(IGNORE); END",
    )
    with pytest.raises(UnreadableRow, match="of another type than its column"):
        await app.queues.list()
    assert stored(sqlite_path, "name, paused_at IS NULL", "queues") == [("slow", 0)]


async def test_a_damaged_audit_entry_keeps_what_can_be_read(
    app: Duetime, sqlite_path: Path
) -> None:
    await app.queues.pause("slow", by="ann", note="stock-taking")
    damage = "id = x'00', at = 'x', note = CAST(x'61ff' AS text), before = x'7b7d', after = '[5'"
    execute(f"sqlite:///{sqlite_path}", f"UPDATE duetime_audit SET {damage}")
    [entry] = await app.audit.find()
    assert (entry.by, entry.subject_id, entry.note) == ("ann", "slow", r"a\xff")
    assert (entry.before, entry.after) == ({}, {"unreadable": "[5"})
    assert (await app.audit.find()).items == [entry]


async def test_grants_and_keys_with_damaged_ids_get_new_ones(
    app: Duetime, sqlite_path: Path
) -> None:
    await app.grants.set("till", "actions.read")
    await app.api_keys.create("till", ["till"])
    for table in KNOWN_BY_ID:
        execute(f"sqlite:///{sqlite_path}", f"UPDATE duetime_{table} SET id = 'zz'")
    [grant], [key] = await app.grants.list(), await app.api_keys.list()
    assert (grant.role, grant.allowed, key.name) == ("till", True, "till")
    await app.grants.remove(grant.id)
    await app.api_keys.revoke(key.id)


def stumble() -> Steps[None]:
    """Fail as a verb does that read what it cannot understand."""
    yield from ()
    raise LookupError("of a newer version")


def count_windows(app: Duetime, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the statements by which searches read, as they are performed."""
    names: list[str] = []
    loader = app.store._loader  # type: ignore[attr-defined]
    bind = loader.bind

    def noting(statement: Statement, now: int) -> Any:
        if statement.name.startswith("raw_"):
            names.append(statement.name)
        return bind(statement, now)

    monkeypatch.setattr(loader, "bind", noting)
    return names


def test_a_blocking_call_on_the_loop_of_a_search_does_not_wait_for_it(sqlite_path: Path) -> None:
    """The search could not go on while the call blocks its event loop."""

    async def main() -> None:
        async with Duetime(f"sqlite:///{sqlite_path}") as app:
            app.payload(Note, kind="note")
            await app.schedule(Note(), delay=3600, correlation_id="bad")
            execute(f"sqlite:///{sqlite_path}", DAMAGE)
            store: Any = app.store
            searching = asyncio.create_task(store.perform(Flow(stumble, Mode.read)))
            while not store._repair._searches:  # noqa: ASYNC110 - nothing signals its begin
                await asyncio.sleep(0)
            with pytest.raises(LookupError):
                store.perform_blocking(Flow(stumble, Mode.read))
            with pytest.raises(LookupError):
                await searching
            [bad] = await app.find(correlation_id="bad")
            assert bad.state is State.failed

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
