"""A damaged row harms no other: workers run its neighbours, and operators see it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from time import monotonic
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
from duetime.errors import InvalidArgument, UnreadableJob
from duetime.model.actions.claim import Claimed, ClaimOrder, LaneSpan
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from duetime.worker.claiming import evidence
from duetime.worker.claiming.evidence import Evidence
from duetime.worker.claiming.refused_claim import RefusedClaim
from duetime.worker.leases.store_clock import StoreClock
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
    ["tick=-9223372036854775808", "started_at=9223372036854775807, token='{token}'"],
)
async def test_an_occurrence_with_an_instant_out_of_range_hides_no_job(
    durable_url: str, assignments: str
) -> None:
    async with new_app(durable_url) as app:
        await app.jobs.put("shop-mail", Every(hours=1), payload=Note())
        action = await app.jobs.trigger("shop-mail")
        token = "11111111-2222-4333-8444-555555555555"
        damage(durable_url, assignments.replace("{token}", token))
        [occurrence] = await app.jobs.runs("shop-mail")
        assert occurrence.action_id == action.id
        assert [job.name for job in await app.jobs.list()] == ["shop-mail"]
        assert (await app.jobs.get("shop-mail")).name == "shop-mail"


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


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[ClaimOrder]:
    """Let a second refusal count as proof at once, and return the claims that were refused."""
    monkeypatch.setattr(evidence, "PROOF_SECONDS", 0.0)
    refused: list[ClaimOrder] = []
    resolve = RefusedClaim.resolve

    async def counted(
        self: RefusedClaim, order: ClaimOrder, error: Exception, claimed_before: int
    ) -> int:
        refused.append(order)
        return await resolve(self, order, error, claimed_before)

    monkeypatch.setattr(RefusedClaim, "resolve", counted)
    return refused


async def test_where_postgres_refuses_each_claim_of_a_quiet_app_nothing_fails(
    postgres_url: str, refusals: list[ClaimOrder]
) -> None:
    """A single action is refused again and again, and no other is claimed that would prove that
    the action is the cause."""
    execute(postgres_url, REFUSING.format(events="UPDATE", among=CLAIMS, state="22012"))
    async with new_app(postgres_url) as app, app.worker():
        for number in range(1, 3):
            await app.schedule(Note(), correlation_id="bad")
            enough = 3 * number
            await until(lambda: len(refusals) > enough)  # noqa: B023 - awaited before it changes
        execute(postgres_url, "DROP TRIGGER refuse ON duetime_actions")
        await until(lambda: has_ended(app, "succeeded"))
        assert (await app.stats(tenant=ANY)).succeeded == 2


async def test_an_action_is_blamed_only_if_it_was_refused_alone() -> None:
    """Another worker may have ended the damaged action while this one searched for it."""
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    app = Duetime(store=store, clock=clock)
    app.payload(Note, kind="note")
    await app.schedule(Note())
    [head] = (await store.perform(store.look_ahead())).lanes
    found_out, claimed = Evidence(), list[Claimed]()
    search = RefusedClaim(
        store, StoreClock(clock, monotonic), found_out, lambda found, sent: claimed.append(found)
    )
    order = ClaimOrder("w", [LaneSpan(head.lane, 0, 0)], 5, 15_000_000)
    assert await search.resolve(order, InvalidArgument("value", 1, "refused"), 0) == 1
    assert len(claimed) == 1
    assert search._refused_actions == {}


async def test_an_outcome_that_is_refused_in_new_words_each_time_is_given_up(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """First the outcome, then the failure that is stored in its place; not the next one, too."""
    execute(
        postgres_url,
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.correlation_id = 'bad' THEN
                RAISE EXCEPTION '%', clock_timestamp() USING ERRCODE = '22003';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON duetime_history
        FOR EACH ROW EXECUTE FUNCTION refuse()
        """,
    )
    async with new_app(postgres_url) as app, app.worker():
        bad = await app.schedule(Note(), correlation_id="bad")
        await until(lambda: f"the outcome of action {bad.id} cannot be stored" in caplog.text)
        await run_neighbours(app)
        assert "RecursionError" not in caplog.text
        execute(postgres_url, "DROP TRIGGER refuse ON duetime_history")
        assert (await app.wait(bad.id, timeout=15)).state is State.succeeded


async def test_where_postgres_refuses_every_claim_nothing_fails(
    postgres_url: str, refusals: list[ClaimOrder]
) -> None:
    """Not the rows are damaged then: somebody has written a trigger that refuses claims."""
    execute(postgres_url, REFUSING.format(events="UPDATE", among=CLAIMS, state="22003"))
    async with new_app(postgres_url) as app:
        await app.schedule_many([app.request(Note(), correlation_id="bad") for _ in range(5)])
        async with app.worker():
            await until(lambda: len(refusals) > 3)
            execute(postgres_url, "DROP TRIGGER refuse ON duetime_actions")
            await until(lambda: has_ended(app, "succeeded"))
        assert (await app.stats(tenant=ANY)).succeeded == 5
