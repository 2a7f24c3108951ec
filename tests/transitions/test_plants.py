"""That these tests can fail: each planted mistake is found by the test that is there for it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import ColumnElement, false

from duetime import Duetime
from duetime.testing import FakeClock
from duetime.transitions import apply as changing
from duetime.transitions import selects as finding
from duetime.transitions.batch import Row
from duetime.transitions.selects import Finding
from planting import Patch, planted
from transitions import test_applying, test_races
from transitions.models import Base
from transitions.places import Place

both = pytest.mark.parametrize("kind", ["pysqlite", "psycopg"])


def claims_all(session: Any, work: Any, now: Any, rows: Sequence[Row]) -> dict[str, int]:
    return {row.text: 0 for row in rows}


def never_blocked(self: Finding, now: Any) -> ColumnElement[bool]:
    return false()


def strictly_before(real: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    def due(self: Finding, now: Any) -> list[Any]:
        _, *others = real(self, now)
        return [self.target.column < self._in_zone(now), *others]

    return due


FORGETFUL: list[Patch] = [
    (changing, "claim", claims_all),
    (Finding, "_blocked", never_blocked),
]
UNFENCED: list[Patch] = [(changing, "claim", claims_all)]
UNGUARDED: list[Patch] = [(finding, "in_words", lambda terms: [])]
TOO_LATE: list[Patch] = [(Finding, "_due", strictly_before(Finding._due))]


@both
async def test_forgetting_what_was_applied(app: Duetime, place: Place, clock: FakeClock) -> None:
    app.transitions.register(Base, place.engine)
    with planted(FORGETFUL), pytest.raises(AssertionError):
        await test_applying.test_an_undo_is_respected(app, place, clock)


@both
async def test_leaving_out_the_instant_itself(app: Duetime, place: Place, clock: FakeClock) -> None:
    app.transitions.register(Base, place.engine)
    with planted(TOO_LATE), pytest.raises(AssertionError):
        await test_applying.test_the_boundary_is_due(app, place, clock)


@both
async def test_not_checking_again(app: Duetime, place: Place, clock: FakeClock) -> None:
    with planted(UNGUARDED), pytest.raises(AssertionError):
        await test_races.test_what_changed_meanwhile_is_left_alone(
            app, place, clock, "edited", False
        )


@pytest.mark.parametrize("kind", ["psycopg"])
async def test_trusting_the_lock_alone(app: Duetime, place: Place, clock: FakeClock) -> None:
    with planted(UNFENCED), pytest.raises(AssertionError):
        await test_races.test_a_sweep_that_read_before_another_committed_applies_nothing_again(
            app, place, clock
        )


@both
async def test_committing_each_row(place: Place) -> None:
    with pytest.raises(AssertionError):
        test_races.kill_in_mid_batch(place, "commit each row")
