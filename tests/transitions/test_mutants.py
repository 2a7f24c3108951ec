"""Mutation tests: each planted bug makes the test that covers it fail."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import ColumnElement, false

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import change_rows, selects
from duetime.transitions.batch import DueRow
from duetime.transitions.selects import TargetSelects
from patching import Patch, planted
from transitions import test_applying, test_races
from transitions.engines import ModelDatabase
from transitions.models import Base

both = pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])


def claims_all(session: Any, batch: Any, now: Any, rows: Sequence[DueRow]) -> dict[str, int]:
    return {row.row_key: 0 for row in rows}


def never_blocked(self: TargetSelects, now: Any) -> ColumnElement[bool]:
    return false()


def strictly_before(real: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    def due(self: TargetSelects, now: Any) -> list[Any]:
        _, *others = real(self, now)
        return [self.target.column < self._in_zone(now), *others]

    return due


FORGETFUL: list[Patch] = [
    (change_rows, "claim", claims_all),
    (TargetSelects, "_blocked_by_ledger", never_blocked),
]
UNFENCED: list[Patch] = [(change_rows, "claim", claims_all)]
UNGUARDED: list[Patch] = [(selects, "with_literals", lambda terms: [])]
TOO_LATE: list[Patch] = [(TargetSelects, "_due_terms", strictly_before(TargetSelects._due_terms))]


@both
async def test_forgetting_what_was_applied(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Base, database.engine)
    with planted(FORGETFUL), pytest.raises(AssertionError):
        await test_applying.test_an_undo_is_respected(app, database, clock)


@both
async def test_leaving_out_the_instant_itself(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    app.transitions.register(Base, database.engine)
    with planted(TOO_LATE), pytest.raises(AssertionError):
        await test_applying.test_the_boundary_is_due(app, database, clock)


@both
async def test_not_checking_again(app: Duetime, database: ModelDatabase, clock: FakeClock) -> None:
    with planted(UNGUARDED), pytest.raises(AssertionError):
        await test_races.test_what_changed_meanwhile_is_left_alone(
            app, database, clock, "edited", False
        )


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_trusting_the_lock_alone(
    app: Duetime, database: ModelDatabase, clock: FakeClock
) -> None:
    with planted(UNFENCED), pytest.raises(AssertionError):
        await test_races.test_a_sweep_that_read_before_another_committed_applies_nothing_again(
            app, database, clock
        )


@both
async def test_committing_each_row(database: ModelDatabase) -> None:
    with pytest.raises(AssertionError):
        test_races.kill_in_mid_batch(database, "commit each row")
