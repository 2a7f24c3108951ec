"""`duetime doctor`: each check on a real store, well and made ill."""

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from api.apps import Note, durable_url
from duetime import Duetime, Retry
from duetime.cli.loading import load_app
from duetime.model.health import checks as health
from duetime.store.sql.postgres import diagnosis as postgres_diagnosis
from duetime.store.sql.sqlite import diagnosis as sqlite_diagnosis
from duetime.store.sql.statements.loader import StatementLoader
from duetime.store.sql.statements.table_names import TableNames
from duetime.testing import FakeClock
from servers import OwnServer
from store.notify_dropping_proxy import NotifyDroppingProxy

from .conftest import SHOP, Answer, Duetimes, Start, read_until
from .test_cli_rolling import execute, is_parked, until

__all__ = ["durable_url"]

KNOWN = StatementLoader("sqlite", TableNames()).migrations()[-1].version
LINE = re.compile(r"^(ok|warning|failure) +(\w+(?: lock)?)  +(.*)$", re.MULTILINE)
WORK = [
    *("clock", "unfinished", "overdue", "queues", "leases", "parked", "unreachable"),
    *("failed", "jobs", "ticks", "failing", "unreadable", "workers", "problems", "wakes"),
    "telemetry",
]

Findings = dict[str, tuple[str, str]]


def findings(answer: Answer) -> Findings:
    assert "Traceback" not in answer.err
    return {check: (level, rest) for level, check, rest in LINE.findall(answer.out)}


@pytest.fixture
def store(duetime: Duetimes, durable_url: str, tmp_path: Path) -> Iterator[Any]:
    """A shop on each store, with one action due later."""
    (tmp_path / "shop.py").write_text(SHOP.format(url=durable_url))
    app = load_app("shop:app")
    from shop import Mail  # type: ignore[import-not-found]

    app.sync.schedule(Mail("ann"), delay=3600)
    yield app
    app.sync.close()


@pytest.fixture
def url(durable_url: str) -> str:
    return durable_url


def test_a_store_that_is_well(duetime: Duetimes, store: Duetime, url: str) -> None:
    duetime.ok("migrate", "--app", "shop:app")
    answer = duetime("doctor", "shop:app")
    found = findings(answer)
    below = (
        ["SQLite", "schema", "file", "journal", "write lock", "disk"]
        if url.startswith("sqlite")
        else ["PostgreSQL", "psycopg", "encoding", "schema", "listen", "snapshots"]
    )
    assert list(found) == ["connection", *below, *WORK]
    assert {level for check, (level, _) in found.items() if check != "workers"} == {"ok"}
    assert found["unfinished"][1] == "1 scheduled, 0 running, 0 waiting, 0 parked"
    assert found["workers"][0] == "warning"
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.endswith("\nhealthy; 1 warning\n")


def test_json_contains_the_same_findings_and_no_password(
    duetime: Duetimes, store: Duetime, url: str
) -> None:
    output = findings(duetime("doctor", "--url", url))
    answer = duetime("doctor", "--url", url, "--json")
    said = json.loads(answer.out)
    assert {item["check"]: item["level"] for item in said["findings"]} == {
        check: level for check, (level, _) in output.items()
    }
    assert (said["healthy"], said["stats"]["scheduled"]) == (True, 1)
    password = re.search(r"//[^:/]+:([^@]+)@", url)
    assert password is None or password[1] not in answer.out


ILL = {
    "overdue": ("due_at = created_at - 7200000000", "overdue", "failure", "start a worker"),
    "an expired lease": ("token = id, lease_until = 1", "leases", "warning", "1 expired"),
    "unreachable": (
        "lane = NULL",
        "unreachable",
        "failure",
        "1 rows that no worker would ever find",
    ),
    "parked": ("lane = 'p.1.3.fax.1.0.default'", "parked", "warning", "1: fax v1"),
}


@pytest.mark.parametrize(("change", "check", "level", "words"), ILL.values(), ids=ILL.keys())
def test_work_that_is_ill(
    duetime: Duetimes, store: Duetime, url: str, change: str, check: str, level: str, words: str
) -> None:
    execute(url, f"UPDATE duetime_actions SET {change}")
    answer = duetime("doctor", "--url", url)
    found = findings(answer)
    assert found[check][0] == level
    assert words in found[check][1]
    assert answer.code == (1 if level == "failure" else 0)


@pytest.fixture
def earlier(url: str) -> Iterator[Duetime]:
    """The shop as it was three hours ago, when a job was put and nobody ticked since."""
    app = Duetime(url, name="shop", clock=FakeClock(datetime.now(UTC) - timedelta(hours=3)))
    app.handler(kind="note")(takes_note)
    app.sync.jobs.put("shop-report", "* * * * *", payload=Note())
    yield app
    app.sync.close()


def test_ticks_without_a_worker_are_reported(duetime: Duetimes, earlier: Duetime, url: str) -> None:
    answer = duetime("doctor", "--url", url)
    level, output = findings(answer)["ticks"]
    assert (answer.code, level) == (1, "failure")
    assert output == "ticks of 1 job are overdue, the oldest for 3 h: start a worker of shop"


def test_a_job_that_is_paused_is_late_for_nothing(
    duetime: Duetimes, earlier: Duetime, url: str
) -> None:
    earlier.sync.jobs.pause("shop-report")
    answer = duetime("doctor", "--url", url)
    assert (answer.code, findings(answer)["ticks"]) == (0, ("ok", "none overdue"))
    assert findings(answer)["jobs"] == ("ok", "0 scheduled, 1 paused, 0 retired")


def test_a_job_that_fails_again_and_again(duetime: Duetimes, url: str) -> None:
    app = Duetime(url, clock=FakeClock(datetime.now(UTC)))
    app.job("0 2 * * *", name="shop-close", retry=Retry.none(), alert_after=2)(refuses)
    asyncio.run(app.testing.advance(days=1))
    assert findings(duetime("doctor", "--url", url))["failing"] == ("ok", "no job")
    asyncio.run(app.testing.advance(days=1))
    answer = duetime("doctor", "--url", url)
    app.sync.close()
    level, output = findings(answer)["failing"]
    assert (answer.code, level) == (0, "warning")
    assert output == "1 job: shop-close: see why with `duetime jobs runs shop-close`"
    assert findings(answer)["failed"][0] == "warning"
    assert findings(answer)["failed"][1].startswith("2 actions: see `duetime actions find")


def test_a_job_that_another_version_wrote(duetime: Duetimes, earlier: Duetime, url: str) -> None:
    execute(url, "UPDATE duetime_jobs SET record = replace(record, '\"skip\"', '\"newer\"')")
    answer = duetime("doctor", "--url", url)
    level, output = findings(answer)["unreadable"]
    assert (answer.code, level, answer.err) == (0, "warning", "")
    assert output.startswith("1 job: shop-report: another version of duetime wrote this; upgrade")


def refuses() -> None:
    raise ConnectionError("the bank does not answer")


async def takes_note(payload: Note) -> None: ...


def test_a_kind_that_no_worker_knows(
    duetime: Duetimes, store: Duetime, url: str, start: Start, tmp_path: Path
) -> None:
    """Parked by a real worker, which is then the one alive."""
    (tmp_path / "faxes.py").write_text(SHOP.format(url=url).replace('"mail"', '"fax"'))
    other = load_app("faxes:app")
    from faxes import Mail  # type: ignore[import-not-found]

    action = other.sync.schedule(Mail("bob"))
    worker = start("worker", "shop:app", together=True)
    read_until(worker, "started")
    until(other, action.id, is_parked)
    found = findings(duetime("doctor", "shop:app"))
    assert found["workers"][0] == "ok"
    assert found["workers"][1].startswith("1 alive: ")
    assert found["parked"][0] == "warning"
    assert "handler for fax (this app has none)" in found["parked"][1]
    assert "start a worker of this app" in findings(duetime("doctor", "faxes:app"))["parked"][1]
    worker.terminate()
    assert worker.wait(30) == 0
    other.sync.close()


@pytest.mark.parametrize(
    ("oldest_code", "code", "level", "words"),
    [(KNOWN, 0, "warning", "and can use it"), (KNOWN + 1, 1, "failure", "upgrade duetime")],
)
def test_a_newer_schema(
    duetime: Duetimes,
    store: Duetime,
    url: str,
    oldest_code: int,
    code: int,
    level: str,
    words: str,
) -> None:
    execute(url, f"INSERT INTO duetime_migrations VALUES ({KNOWN + 1}, 0, {oldest_code})")
    answer = duetime("doctor", "--url", url)
    found = findings(answer)
    assert (answer.code, found["schema"][0]) == (code, level)
    assert words in found["schema"][1]
    assert ("overdue" in found) == (code == 0)


def test_a_table_that_is_missing(duetime: Duetimes, store: Duetime, url: str) -> None:
    execute(url, "DROP TABLE duetime_workers")
    answer = duetime("doctor", "--url", url)
    assert (answer.code, findings(answer)["work"][0]) == (1, "failure")
    assert "duetime_workers" in findings(answer)["work"][1]


def test_no_tables_at_all_and_none_are_made(duetime: Duetimes, url: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP.format(url=url))
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).touch()
    for _ in range(2):
        answer = duetime("doctor", "shop:app")
        assert answer.code == 1
        level, output = findings(answer)["schema"]
        assert (level, "run `duetime migrate --app shop:app`" in output) == ("failure", True)


def test_no_file(duetime: Duetimes, tmp_path: Path) -> None:
    answer = duetime("doctor", "--url", "sqlite:///no.db")
    assert answer.code == 1
    assert findings(answer)["connection"] == ("failure", "there is no file no.db")
    assert "duetime migrate --url sqlite:///no.db" in findings(answer)["schema"][1]
    assert not (tmp_path / "no.db").exists()


def test_a_file_that_is_no_database(duetime: Duetimes, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database, but long enough to look like one\n" * 99)
    answer = duetime("doctor", "--url", "sqlite:///notes.db")
    assert (answer.code, findings(answer)["connection"][0]) == (1, "failure")
    assert "is not a SQLite database" in answer.out


def test_no_server(duetime: Duetimes) -> None:
    answer = duetime("doctor", "--url", "postgresql://me:secret@127.0.0.1:1/x?connect_timeout=1")
    assert answer.code == 1
    assert findings(answer)["connection"][0] == "failure"
    assert answer.out.endswith("\n1 failure\n")
    assert "secret" not in answer.out + answer.err


def test_what_is_not_understood(duetime: Duetimes) -> None:
    assert duetime("doctor", "shop").code == 2
    assert duetime("doctor", "shop:app", "--url", "sqlite:///x.db").code == 2
    memory = duetime("doctor", "--url", "memory://")
    assert (memory.code, memory.out) == (1, "")
    assert "one process" in memory.err


def test_a_write_lock_that_another_process_holds(
    duetime: Duetimes, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_diagnosis, "LOCK_TIMEOUT_SECONDS", 0.05)
    address = f"sqlite:///{sqlite_path}"
    duetime.ok("migrate", "--url", address)
    with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        answer = duetime("doctor", "--url", address)
    assert answer.code == 1
    assert findings(answer)["write lock"][0] == "failure"
    assert findings(answer)["overdue"][0] == "ok"  # reads go on


def test_another_journal_mode(duetime: Duetimes, sqlite_path: Path) -> None:
    address = f"sqlite:///{sqlite_path}"
    duetime.ok("migrate", "--url", address)
    with closing(sqlite3.connect(sqlite_path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    level, output = findings(duetime("doctor", "--url", address))["journal"]
    assert (level, "which this check is" in output) == ("warning", True)
    # It read the actions, and so set it.
    assert findings(duetime("doctor", "--url", address))["journal"] == ("ok", "wal")


def test_a_disk_that_cannot_be_queried(
    duetime: Duetimes, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As below a directory that is closed to us; root would be let in."""

    def refused(folder: str) -> object:
        raise PermissionError(folder)

    monkeypatch.setattr(shutil, "disk_usage", refused)
    app = Duetime(f"sqlite:///{sqlite_path}")
    app.sync.find()
    found = app.store.diagnose()
    assert (found.fault, found.file and found.file.free_bytes) == (None, None)
    app.sync.close()


def test_an_old_snapshot_is_named(
    duetime: Duetimes, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "SNAPSHOT_WARNING", 0.0)
    duetime.ok("migrate", "--url", postgres_url)
    with psycopg.connect(postgres_url, application_name="report") as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM duetime_actions")
        answer = duetime("doctor", "--url", postgres_url)
        level, output = findings(answer)["snapshots"]
        assert (answer.code, level) == (0, "warning")
        assert f"session {reader.info.backend_pid} (report, " in output
    assert findings(duetime("doctor", "--url", postgres_url))["snapshots"][0] == "ok"


def test_a_prepared_transaction_is_named(
    duetime: Duetimes,
    private_postgres: Callable[..., OwnServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "SNAPSHOT_WARNING", 0.0)
    server = private_postgres(max_prepared_transactions="2")
    duetime.ok("migrate", "--url", server.url)
    with psycopg.connect(server.url, autocommit=True) as forgetful:
        forgetful.execute("BEGIN; CREATE TABLE t (x int); PREPARE TRANSACTION 'forgotten'")
    level, output = findings(duetime("doctor", "--url", server.url))["snapshots"]
    assert (level, "prepared transaction forgotten" in output) == ("warning", True)


def test_notices_that_do_not_come_through(
    duetime: Duetimes, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler in transaction mode, where LISTEN is said to a session that goes to
    others: everything works, and no wake arrives."""
    monkeypatch.setattr(postgres_diagnosis, "PING_TIMEOUT_SECONDS", 0.2)
    duetime.ok("migrate", "--url", postgres_url)
    with NotifyDroppingProxy(postgres_url) as proxy:
        answer = duetime("doctor", "--url", proxy.url)
        level, output = findings(answer)["listen"]
        assert (answer.code, level) == (0, "warning")
        assert "listen=False" in output
        monkeypatch.setenv("DUETIME_LISTEN", "false")
        assert findings(duetime("doctor", "--url", proxy.url))["listen"][0] == "ok"
