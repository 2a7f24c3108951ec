"""An app with a mistake planted in the real code: an oracle that does not notice is no use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duetime import Duetime
from duetime.model.actions.outcome import End, Returned
from duetime.registry.handlers import Handler
from duetime.store.flow import Statement
from duetime.store.sql.statements.loader import Bound, Loader
from duetime.worker.claiming.launcher import Starter
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held
from duetime.worker.running.runner import Runner
from faults import plain
from faults.work import Order

BOUND = Loader.bound
START = Starter._start


def unfenced() -> None:
    """Whoever completes an action need not be the one who holds it."""
    right = {
        "AND a.token = e.ending_token": "",
        "(id, token) IN (SELECT e.ending_id, e.ending_token FROM": "id IN (SELECT e.ending_id FROM",
    }

    def bound(self: Loader, statement: Statement, now: int | None) -> Bound:
        text, params = BOUND(self, statement, now)
        if statement.name in ("finish", "finish_history"):
            for guard, without in right.items():
                text = text.replace(guard, without)
        return text, params

    Loader.bound = bound  # type: ignore[method-assign]


def unrun() -> None:
    """A run is recorded as succeeded, and nothing ran."""

    async def attempt(self: Runner, held: Held, handler: Handler) -> End | None:
        return Returned(None)

    Runner._attempt = attempt  # type: ignore[method-assign]


def early() -> None:
    """A pre-claimed action does not wait for its time."""

    def take(self: Starter, pool: Pool, claimed: Sequence[Held]) -> None:
        pool.ready.extend(claimed)
        self._fill(pool)

    Starter.take = take  # type: ignore[method-assign]


def twice() -> None:
    """A run is started twice."""

    def start(self: Starter, held: Held) -> None:
        START(self, held)
        START(self, held)

    Starter._start = start  # type: ignore[method-assign]


MISTAKES: dict[str, Callable[[], None]] = {
    one.__name__: one for one in (unfenced, unrun, early, twice)
}


def make(order: Order) -> Duetime:
    MISTAKES[order.planted]()
    return plain.make(order)
