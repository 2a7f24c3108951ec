"""One try to perform a flow on PostgreSQL, told without I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from duetime.errors import StoreUnavailable
from duetime.store.flow import Flow, Mode, Statement, Wake
from duetime.store.sql.drive import Driven, statements
from duetime.store.sql.postgres_faults import FAULTS, explain, is_conflict, is_lost

T = TypeVar("T")

# How often two transactions may meet before we give up, and the pause after the first time.
MOST_CONFLICTS = 4
PAUSE = 0.005

# A planner that was misled by statistics of an empty table must not choose otherwise; and
# switching ways off inflates the costs at which it would begin to compile the query.
_WRITE = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off"
_HOT = (
    f"{_WRITE}; SET LOCAL enable_bitmapscan = off; "
    "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)
_PINNED = {
    Mode.write: _WRITE,
    Mode.hot: _HOT,
    # A claim that a crash of the server forgets is made again: nothing ran yet that counts.
    Mode.claim: f"{_HOT}; SET LOCAL synchronous_commit = off",
}

Notify = Callable[[Sequence[Wake]], Statement | None]


@dataclass(frozen=True, slots=True)
class Command:
    """Text for the server as it is."""

    text: str


COMMIT, ROLLBACK = Command("COMMIT"), Command("ROLLBACK")


def openings(lock_timeout: float) -> Mapping[Mode, Command]:
    """How each mode opens its transaction, in one message. The others need none."""
    wait = f"SET LOCAL lock_timeout = {max(1, round(lock_timeout * 1000))}"
    return {mode: Command(f"BEGIN; {wait}; {pinned}") for mode, pinned in _PINNED.items()}


class Attempt(Generic[T]):
    """The messages to send for a flow, and what to do if one of them fails."""

    def __init__(self, flow: Flow[T], opening: Command | None, notify: Notify) -> None:
        self._flow = flow
        self._opening = opening
        self._notify = notify
        self._uncertain = False
        self._overdue = False

    def is_overdue(self) -> None:
        """Its deadline has passed, and its connection was cut."""
        self._overdue = True

    def steps(self) -> Driven[Statement | Command, T]:
        if self._opening is None:
            self._uncertain = self._flow.mode is not Mode.read
            value, wakes = yield from statements(self._flow.start())
        else:
            value, wakes = yield from self._transaction(self._opening)
        self._uncertain = True
        notice = self._notify(wakes)
        if notice is not None:
            # It is committed: that others could not be told of it must not look like failure.
            with suppress(*FAULTS):
                yield notice
        return value

    def _transaction(self, opening: Command) -> Driven[Statement | Command, tuple[T, list[Wake]]]:
        yield opening
        try:
            result = yield from statements(self._flow.start())
        except Exception:
            with suppress(*FAULTS):
                yield ROLLBACK
            raise
        self._uncertain = True
        yield COMMIT
        return result

    def pause(self, error: Exception, tries: int, where: str) -> float:
        """Seconds until it is worth trying again, or what to raise instead."""
        if self._overdue:
            raise _overdue(where) from error
        if is_conflict(error) and tries < MOST_CONFLICTS:
            return random.uniform(0, PAUSE * 2**tries)  # noqa: S311 - it keeps nothing secret
        settled = self._flow.resend or self._flow.mode is Mode.read or not self._uncertain
        if is_lost(error) and settled and tries == 1:
            return 0.0
        raise explain(error, where) from error


def _overdue(where: str) -> StoreUnavailable:
    return StoreUnavailable(f"{where} did not answer in time; what was asked may have happened")
