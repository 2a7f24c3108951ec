"""A damaged row harms no other: workers run its neighbours, and operators see it."""

from __future__ import annotations

import io
import json
import random
import string
from contextlib import redirect_stdout
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note
from damaged_rows import (
    DEEP,
    FAILS,
    JOB_DEFINITIONS,
    JOB_FIELDS,
    JOB_RECORDS,
    READABLE_JOB_DEFINITIONS,
    RUNS,
    SHOWN_AS_UNREADABLE,
    SQLITE_FAILS,
    SQLITE_RUNS,
    UNREACHABLE,
    damage,
    execute,
)
from duetime import ANY, Context, Duetime, Every, Retry, State
from duetime.cli.commands import cli
from duetime.errors import UnreadableJob, UnreadableRow
from polling import until

SETTINGS: dict[str, Any] = {"lease": 2, "sweep": 0.3, "poll": 0.3}
# Each is of another tenant, priority and queue than the damaged row.
NEIGHBOURS: list[dict[str, Any]] = [
    {"tenant": None},
    {"tenant": "acme", "priority": "low"},
    {"priority": "critical", "queue": "other"},
]


def new_app(url: str) -> Duetime:
    app = Duetime(url, **SETTINGS)

    @app.handler(kind="note", retry=Retry.none())
    async def note(payload: Note, ctx: Context) -> str:
        return payload.text

    return app


@pytest.fixture
def sqlite_url(sqlite_path: object) -> str:
    return f"sqlite:///{sqlite_path}"


@pytest.mark.parametrize("assignments", [*FAILS, *SQLITE_FAILS])
async def test_a_damaged_row_fails_alone_on_sqlite(sqlite_url: str, assignments: str) -> None:
    await run_beside(sqlite_url, assignments, "failed")


@pytest.mark.parametrize("assignments", FAILS)
async def test_a_damaged_row_fails_alone_on_postgres(postgres_url: str, assignments: str) -> None:
    await run_beside(postgres_url, assignments, "failed")


@pytest.mark.parametrize("assignments", [*RUNS, *SQLITE_RUNS])
async def test_a_full_counter_stops_nothing_on_sqlite(sqlite_url: str, assignments: str) -> None:
    await run_beside(sqlite_url, assignments, "succeeded")


@pytest.mark.parametrize("assignments", RUNS)
async def test_a_full_counter_stops_nothing_on_postgres(
    postgres_url: str, assignments: str
) -> None:
    await run_beside(postgres_url, assignments, "succeeded")


@pytest.mark.parametrize("assignments", UNREACHABLE)
async def test_an_unreadable_lane_is_counted(durable_url: str, assignments: str) -> None:
    await run_beside(durable_url, assignments, "unreachable")


@pytest.mark.parametrize("assignments", SHOWN_AS_UNREADABLE)
async def test_a_value_out_of_range_is_shown_as_unreadable(
    durable_url: str, assignments: str
) -> None:
    action = await run_beside(durable_url, assignments, "succeeded")
    assert action.error.startswith("unreadable: ")


async def run_beside(url: str, assignments: str, end: str) -> Any:
    """Run neighbours beside a damaged row with a worker, and again with a fresh one."""
    async with new_app(url) as app:
        bad = await app.schedule(Note(), delay=3600, correlation_id="bad")
        damage(url, assignments)
        for _ in range(2):
            async with app.worker():
                await run_neighbours(app)
                await until(lambda: has_ended(app, end))
        action = await found(app, bad.id)
        assert action.state == ("scheduled" if end == "unreachable" else end)
        assert action.error or end != "failed"
        look_at_everything(url, action.id)
        return action


async def run_neighbours(app: Duetime) -> None:
    neighbours = [await app.schedule(Note(), **options) for options in NEIGHBOURS]
    for neighbour in neighbours:
        finished = await app.wait(neighbour.id, tenant=ANY, timeout=15)
        assert (finished.state, finished.losses) == (State.succeeded, 0)


async def has_ended(app: Duetime, end: str) -> bool:
    stats = await app.stats(tenant=ANY)
    if end == "unreachable":
        return stats.unreachable == 1
    return stats.scheduled + stats.running + stats.waiting == 0


async def found(app: Duetime, action_id: UUID) -> Any:
    """Return the damaged action; its id may have been damaged, too."""
    page = await app.find(tenant=ANY, limit=50)
    [bad] = [action for action in page if action.id == action_id or action.error]
    assert (await app.get(bad.id, tenant=ANY)).state == bad.state
    await app.runs(bad.id, tenant=ANY)
    return bad


def look_at_everything(url: str, action_id: UUID) -> None:
    """Run an operator's commands: none of them may stumble over the row."""
    listed = ["actions", "list", "--any-tenant", "--url", url]
    shown = ["actions", "show", str(action_id), "--any-tenant", "--url", url]
    for command in (listed, [*listed, "--json"], shown, [*shown, "--json"]):
        assert str(action_id) in printed(command)
    assert "failed" in printed(["doctor", "--url", url])


def printed(command: list[str]) -> str:
    output = io.StringIO()
    with redirect_stdout(output):
        # Not standalone: a SystemExit inside a test would end one of several test processes.
        code = cli(command, standalone_mode=False)
    # Doctor ends with 1 if anything needs attention.
    assert not code or command[0] == "doctor", output.getvalue()
    return output.getvalue()


# PostgreSQL refuses to claim a row that it cannot read. A trigger refuses as its storage would.
REFUSING = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.correlation_id = 'bad' {among} THEN
            RAISE EXCEPTION 'invalid page' USING ERRCODE = '{state}';
        END IF;
        RETURN coalesce(NEW, OLD);
    END $$;
    CREATE TRIGGER refuse BEFORE {events} ON duetime_actions
    FOR EACH ROW EXECUTE FUNCTION refuse()
"""
CLAIMS = "AND NEW.token IS NOT NULL"


@pytest.mark.parametrize("state", ["22003", "XX001"])
async def test_a_row_that_postgres_cannot_claim_fails_alone(postgres_url: str, state: str) -> None:
    execute(postgres_url, REFUSING.format(events="UPDATE", among=CLAIMS, state=state))
    action = await run_beside(postgres_url, "losses = 0", "failed")
    assert "invalid page" in action.error
    assert "schedule the action again" in action.error


async def test_a_row_that_postgres_cannot_move_is_parked(postgres_url: str) -> None:
    events = "DELETE OR UPDATE OF token"
    execute(postgres_url, REFUSING.format(events=events, among="", state="XX001"))
    action = await run_beside(postgres_url, "losses = 0", "unreachable")
    assert "its row is damaged" in action.error


async def test_a_row_that_postgres_cannot_change_at_all_harms_no_neighbour(
    postgres_url: str,
) -> None:
    execute(postgres_url, REFUSING.format(events="DELETE OR UPDATE", among="", state="XX001"))
    execute(postgres_url, "ALTER TABLE duetime_actions DISABLE TRIGGER refuse")
    async with new_app(postgres_url) as app:
        await app.schedule(Note(), correlation_id="bad")
        execute(postgres_url, "ALTER TABLE duetime_actions ENABLE TRIGGER refuse")
        async with app.worker():
            for _ in range(3):
                await run_neighbours(app)


async def test_many_neighbours_in_the_lane_of_a_damaged_row_run_once(postgres_url: str) -> None:
    execute(postgres_url, REFUSING.format(events="UPDATE", among=CLAIMS, state="22003"))
    async with new_app(postgres_url) as app:
        await app.schedule_many([app.request(Note()) for _ in range(150)])
        for _ in range(3):
            await app.schedule(Note(), correlation_id="bad")
        await app.schedule_many([app.request(Note()) for _ in range(150)])
        async with app.worker(), app.worker():
            await until(lambda: has_ended(app, "failed"))
        stats = await app.stats(tenant=ANY)
        assert (stats.succeeded, stats.failed) == (300, 3)


# Deletes the parts of all long texts, as a disk may lose them.
LOSE_LONG_TEXTS = """
    SET allow_system_table_mods = on;
    DO $$
    DECLARE parts regclass;
    BEGIN
        SELECT reltoastrelid INTO parts FROM pg_class WHERE oid = 'duetime_actions'::regclass;
        UPDATE pg_class SET relkind = 'r' WHERE oid = parts;
        EXECUTE 'DELETE FROM ' || parts;
        UPDATE pg_class SET relkind = 't' WHERE oid = parts;
    END $$
"""


async def test_a_payload_that_postgres_has_lost_fails_its_action_alone(postgres_url: str) -> None:
    long = "".join(random.Random(1).choices(string.ascii_letters, k=50_000))
    async with new_app(postgres_url) as app:
        bad = await app.schedule(Note(long), tenant="acme")
        execute(postgres_url, LOSE_LONG_TEXTS)
        # Until then the deleted parts could still be read.
        execute(postgres_url, "VACUUM duetime_actions")
        with pytest.raises(UnreadableRow, match="missing chunk"):
            await app.get(bad.id, tenant=ANY)
        async with app.worker():
            await run_neighbours(app)
            await until(lambda: has_ended(app, "failed"))
        action = await found(app, bad.id)
        assert (action.state, action.tenant, action.payload) == (State.failed, "acme", None)
        assert "missing chunk" in action.error


async def test_damaged_jobs_stop_no_other_and_are_listed(durable_url: str) -> None:
    """Each is due; the tick of another job must still come, and no verb may stumble over one."""
    async with new_app(durable_url) as app:
        names = await put_jobs(app, len(damaged_records("{}")))
        for number, name in enumerate(names):
            damage_job(durable_url, name, number)
        async with app.worker():
            await until(lambda: has_run_twice(app, "good-job"))
        listed = await app.jobs.list(limit=100)
        assert [job.name for job in listed] == sorted([*names, "good-job"])
        readable = names[-len(READABLE_JOB_DEFINITIONS) :]
        unreadable = names[: -len(READABLE_JOB_DEFINITIONS)]
        shown = [job.name for job in listed if (job.last_error or "").startswith("unreadable: ")]
        assert sorted(shown) == unreadable
        for verb in (app.jobs.get, app.jobs.runs, app.jobs.preview, app.jobs.pause):
            for name in unreadable:
                with pytest.raises(UnreadableJob, match=name):
                    await verb(name)
        for name in readable:
            for verb in (app.jobs.get, app.jobs.runs, app.jobs.pause):
                await verb(name)
        await app.stats(tenant=ANY)
    printed(["jobs", "list", "--any-tenant", "--url", durable_url])
    printed(["doctor", "--url", durable_url])


def damage_job(url: str, name: str, number: int) -> None:
    """Give the job that damaged form of its own record, and let it be due."""
    [[record]] = execute(url, f"SELECT record FROM duetime_jobs WHERE name='{name}'")
    text = record.decode() if isinstance(record, bytes) else record
    damaged = damaged_records(text)[number].replace("'", "''")
    execute(url, f"UPDATE duetime_jobs SET record='{damaged}', next_due_at=1 WHERE name='{name}'")


async def put_jobs(app: Duetime, count: int) -> list[str]:
    names = [f"bad-{number:02}" for number in range(count)]
    for name in names:
        await app.jobs.put(name, Every(hours=1), payload=Note())
    await app.jobs.put("good-job", Every(seconds=1), payload=Note())
    return names


async def has_run_twice(app: Duetime, name: str) -> bool:
    return len([o for o in await app.jobs.runs(name) if o.state is State.succeeded]) > 1


def damaged_records(text: str) -> list[str]:
    """Return damaged forms of the text of a job; those that can be read come last."""
    job = json.loads(text)
    definition = job.get("definition", {})
    return [
        *(record.replace("{deep}", DEEP) for record in JOB_RECORDS),
        *(json.dumps({**job, **fields}) for fields in JOB_FIELDS),
        *(
            json.dumps({**job, "definition": {**definition, **part}})
            for part in (*JOB_DEFINITIONS, *READABLE_JOB_DEFINITIONS)
        ),
    ]


@pytest.mark.parametrize(
    "assignments",
    [
        "kinds='{bad'",
        "queues='{deep}'",
        "jobs='5'",
        "seen_at=9223372036854775807",
        "concurrency=-5",
    ],
)
async def test_the_row_of_a_damaged_worker_hides_no_other(
    durable_url: str, assignments: str
) -> None:
    async with new_app(durable_url) as app, app.worker():
        await until(lambda: has_workers(app, 1))
        execute(
            durable_url,
            "INSERT INTO duetime_workers (id, app, host, pid, kinds, queues, concurrency, "
            "started_at, seen_at, jobs) SELECT 'damaged', app, host, pid, kinds, queues, "
            "concurrency, started_at, seen_at, jobs FROM duetime_workers",
        )
        damaged = assignments.replace("{deep}", DEEP)
        execute(durable_url, f"UPDATE duetime_workers SET {damaged} WHERE id = 'damaged'")
        stats = await app.stats(tenant=ANY)
        assert "damaged" in [worker.id for worker in stats.workers]
        assert "damaged" in printed(["doctor", "--url", durable_url])
        await run_neighbours(app)


async def has_workers(app: Duetime, count: int) -> bool:
    return len((await app.stats()).workers) == count


async def test_where_postgres_refuses_every_claim_nothing_fails(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not the rows are damaged then: somebody has written a trigger that refuses claims."""
    execute(postgres_url, REFUSING.format(events="UPDATE", among=CLAIMS, state="22003"))
    async with new_app(postgres_url) as app:
        await app.schedule_many([app.request(Note(), correlation_id="bad") for _ in range(5)])
        async with app.worker():
            await until(lambda: "refuses to claim any of 5 actions" in caplog.text)
            execute(postgres_url, "DROP TRIGGER refuse ON duetime_actions")
            await until(lambda: has_ended(app, "succeeded"))
        assert (await app.stats(tenant=ANY)).succeeded == 5
