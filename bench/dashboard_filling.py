"""Fills a PostgreSQL store for the trials of pages: a few actions are scheduled and run as ever,
and their rows are copied, each to an id and times of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

import psycopg
from ballast import columns
from psycopg import sql

from duetime.app import Duetime
from duetime.bench.work import Large, Noop, make_app
from duetime.model.actions.retry import Retry
from duetime.model.tenant import ANY

JOBS, JOB = 200, "bench-job-{}"
TENANTS, QUEUES = (None, "acme", "other"), ("default", "mail", "reports")
# Of all actions, those that have finished; of the others, those that are overdue.
FINISHED, OVERDUE = 0.6, 0.05
RUNNING, WORKERS, AUDIT_ENTRIES = 200, 4, 100_000
SECOND, MINUTE, DAY = 1_000_000, 60_000_000, 86_400_000_000
HISTORY_SPAN, FUTURE_SPAN, FIGURE_MINUTES = 7 * DAY, 30 * DAY, 1_440
COPIED_AT_ONCE = 100_000
NO_ID = str(UUID(int=0))
# Ids are in the order in which actions were created.
ID_AT = (
    "CAST(lpad(to_hex(({at}) / 1000), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0') AS uuid)"
)


@dataclass(frozen=True)
class Broken:
    n: int


async def fill(app: Duetime, url: str, count: int) -> None:
    """Fill the empty store of an app with so many actions, jobs, figures, workers and audit
    entries; then no statistics of the database are stale."""
    finished = round(count * FINISHED)
    overdue = round((count - finished) * OVERDUE)
    await _run_some(url)
    with psycopg.connect(url, autocommit=True) as connection:
        filling = Filling(connection)
        filling.copy_history(finished)
        filling.copy_figures()
        await _schedule_some(app, delay=0)
        filling.copy_actions(overdue, -1, DAY)
        filling.start(RUNNING)
        before = filling.newest_action()
        await _schedule_some(app, delay=3600)
        filling.copy_actions(count - finished - overdue, 1, FUTURE_SPAN, before)
    await _put_jobs(app)
    with psycopg.connect(url, autocommit=True) as connection:
        Filling(connection).copy_audit(AUDIT_ENTRIES)
        await app.store.build_indexes(by_operator=True)
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


async def names_of(app: Duetime) -> dict[str, str]:
    """Return the id of an action and the name of a job."""
    [failed] = await app.find(state="failed", limit=1, tenant=ANY)
    return {"id": str(failed.id), "name": JOB.format(0)}


async def _run_some(url: str) -> None:
    """Run a few actions of each kind, queue and tenant, and leave a row of some workers."""
    async with make_app(url=url) as app:

        @app.handler(kind="broken", retry=Retry(attempts=1))
        async def broken(payload: Broken) -> None:
            raise ValueError(f"row {payload.n} of the bench")

        ids = await _schedule_some(app, delay=0)
        ids += [
            (await app.schedule(Broken(n), queue=queue)).id for n in range(5) for queue in QUEUES
        ]
        async with app.worker(queues=list(QUEUES)):
            for id_ in ids:
                await app.wait(id_, timeout=60, tenant=ANY)
            with psycopg.connect(url, autocommit=True) as connection:
                Filling(connection).copy_worker(WORKERS)


async def _schedule_some(app: Duetime, *, delay: float) -> list[UUID]:
    payloads: list[Noop | Large] = [Noop(0), Noop(1), Noop(2), Large("x" * 500)]
    return [
        (await app.schedule(payload, delay=delay, queue=queue, tenant=tenant)).id
        for tenant in TENANTS
        for queue in QUEUES
        for payload in payloads
    ]


async def _put_jobs(app: Duetime) -> None:
    for number in range(JOBS):
        await app.jobs.put(JOB.format(number), f"{number % 60} * * * *", payload=Noop(number))


class Filling:
    """Copies rows of a store that is otherwise at rest."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def copy_history(self, count: int) -> None:
        """Every twentieth copy is an occurrence of a job."""
        back = f"CAST(n * {HISTORY_SPAN / count} AS bigint)"
        times = ("created_at", "due_at", "started_at", "finished_at")
        job = f"CASE WHEN n % 20 = 0 THEN '{JOB.format('')}' || (n / 20 % {JOBS}) END"
        changed = {name: f"t.{name} - {back}" for name in times}
        ids = {"id": ID_AT.format(at=f"(t.created_at - {back})"), "job": job}
        occurrence = {"tick": "CASE WHEN n % 20 = 0 THEN t.due_at END"}
        self._copy("duetime_history", "true", count, changed | ids | occurrence)

    def copy_figures(self) -> None:
        """As if in every minute of a day there had been what was counted in one."""
        self._copy(
            "duetime_figures",
            "f.minute = (SELECT max(minute) FROM duetime_figures)",
            FIGURE_MINUTES,
            {"minute": f"t.minute - n * {MINUTE}"},
            each=True,
        )

    def copy_actions(self, count: int, way: int, span: int, after: str = NO_ID) -> None:
        """Copy the unfinished actions of later ids, to due times `way` and up to `span` away."""
        at = f"CAST(n * {span / max(count, 1)} AS bigint)"
        later = {
            "id": ID_AT.format(at=f"(t.created_at - {at})"),
            "due_at": f"t.due_at + {way} * {at}",
        }
        created = {"created_at": f"t.created_at - {at}"}
        self._copy("duetime_actions", f"f.id > '{after}'", count, later | created)

    def newest_action(self) -> str:
        found = self._connection.execute("SELECT max(CAST(id AS text)) FROM duetime_actions")
        return str(found.fetchall()[0][0])

    def start(self, count: int) -> None:
        """Let as many actions run, as if claimed by a worker that renews their leases."""
        self._connection.execute(
            "UPDATE duetime_actions SET token = gen_random_uuid(), worker = 'bench-1', "
            "attempt = 1, started_at = due_at, lease_until = due_at + %s "
            "WHERE id IN (SELECT id FROM duetime_actions ORDER BY id LIMIT %s)",
            (365 * DAY, count),
        )

    def copy_worker(self, count: int) -> None:
        """The copies stay alive for the time of the trial."""
        seen = {"id": "'bench-' || n", "seen_at": f"t.seen_at + {DAY}"}
        self._copy("duetime_workers", "true", count, seen)

    def copy_audit(self, count: int) -> None:
        back = f"n * {SECOND}"
        moved = {"id": ID_AT.format(at=f"(t.at - {back})"), "at": f"t.at - {back}"}
        self._copy("duetime_audit", "true", count, moved)

    def _copy(
        self, table: str, which: str, count: int, changed: dict[str, str], *, each: bool = False
    ) -> None:
        """Insert copies numbered `n`: so many of all rows `f` in turn, or so many of each."""
        self._execute("DROP TABLE IF EXISTS templates")
        self._execute(
            "CREATE TEMP TABLE templates AS SELECT f.*, row_number() OVER () - 1 AS place, "
            "count(*) OVER () AS places FROM {table} AS f WHERE {which}",
            table=table,
            which=which,
        )
        names = columns(self._connection, table)
        for first in range(1, count + 1, COPIED_AT_ONCE):
            self._execute(
                "INSERT INTO {table} ({names}) SELECT {values} "
                "FROM generate_series(CAST({first} AS bigint), {last}) AS n "
                "JOIN templates AS t ON {pairing}",
                table=table,
                names=", ".join(f'"{name}"' for name in names),
                values=", ".join(changed.get(name, f't."{name}"') for name in names),
                first=str(first),
                last=str(min(first + COPIED_AT_ONCE - 1, count)),
                pairing="true" if each else "t.place = n % t.places",
            )

    def _execute(self, text: LiteralString, **parts: LiteralString) -> None:
        """All parts are written above: nothing comes from elsewhere."""
        made = {name: sql.SQL(part) for name, part in parts.items()}
        self._connection.execute(sql.SQL(text).format(**made))
