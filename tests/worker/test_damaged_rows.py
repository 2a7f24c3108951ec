"""A damaged row harms nobody but itself: workers run its neighbours, and operators see it."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note
from damaged_rows import (
    FAILS,
    RUNS,
    SHOWN_AS_UNREADABLE,
    SQLITE_FAILS,
    SQLITE_RUNS,
    UNREACHABLE,
    damage,
)
from duetime import ANY, Context, Duetime, Retry, State
from duetime.cli.commands import cli
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
