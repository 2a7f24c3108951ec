"""An app with a fault patched into the real code, which the oracle must detect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duetime import Duetime
from duetime.model.actions.outcome import HandlerResult, Returned
from duetime.registry.handlers import Handler
from duetime.store.flow import Statement
from duetime.store.sql.statements.loader import BoundStatement, StatementLoader
from duetime.worker.claiming.launcher import Launcher
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun
from duetime.worker.running.runner import Runner
from faults import plain_app
from faults.work_order import WorkOrder

BOUND = StatementLoader.bind
START = Launcher._start


def unfenced() -> None:
    """Complete actions without checking the token."""
    guards = {
        "AND a.token = e.ending_token": "",
        "(id, token) IN (SELECT e.ending_id, e.ending_token FROM": "id IN (SELECT e.ending_id FROM",
    }

    def bound(self: StatementLoader, statement: Statement, now: int | None) -> BoundStatement:
        text, params = BOUND(self, statement, now)
        if statement.name in ("finish", "finish_history"):
            for guard, without in guards.items():
                text = text.replace(guard, without)
        return text, params

    StatementLoader.bind = bound  # type: ignore[method-assign]


def unrun() -> None:
    """Record runs as succeeded without calling the handler."""

    async def attempt(self: Runner, run: InFlightRun, handler: Handler) -> HandlerResult | None:
        return Returned(None)

    Runner._attempt = attempt  # type: ignore[method-assign]


def early() -> None:
    """Start pre-claimed actions before they are due."""

    def take(self: Launcher, pool: Pool, claimed: Sequence[InFlightRun]) -> None:
        pool.ready.extend(claimed)
        self._fill_slots(pool)

    Launcher.accept = take  # type: ignore[method-assign]


def twice() -> None:
    """Start each run twice."""

    def start(self: Launcher, run: InFlightRun) -> None:
        START(self, run)
        START(self, run)

    Launcher._start = start  # type: ignore[method-assign]


MUTATIONS: dict[str, Callable[[], None]] = {
    mutation.__name__: mutation for mutation in (unfenced, unrun, early, twice)
}


def make(order: WorkOrder) -> Duetime:
    MUTATIONS[order.planted]()
    return plain_app.make(order)
