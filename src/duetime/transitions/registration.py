"""A registration: models, the engine they live on, and how their transitions are applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Table

from duetime.logs import Log
from duetime.model.actions.retry import Retry
from duetime.model.clock import Clock, SystemClock
from duetime.transitions.hooks import Hooks
from duetime.transitions.sessions import Sessions
from duetime.transitions.target import Target
from duetime.transitions.writes import TargetStatements


@dataclass(frozen=True, kw_only=True, eq=False)
class Registration:
    sessions: Sessions
    targets: list[Target]
    hooks: Hooks
    interval: float
    batch: int
    bulk: bool
    # The clock that was registered, or that of the app.
    registered_clock: Clock | None
    app_clock: Callable[[], Clock]
    log: Log
    retry: Retry
    _statements: dict[tuple[Target, bool, bool], TargetStatements] = field(default_factory=dict)

    def statements(self, target: Target, parked: bool, after_cursor: bool) -> TargetStatements:
        dialect, schema_map = self.sessions.dialect, self.sessions.schema_map
        statements = TargetStatements(target, dialect, parked, after_cursor, schema_map)
        return self._statements.setdefault((target, parked, after_cursor), statements)

    @property
    def clock(self) -> Clock | None:
        """The clock that decides what is due; None if it is the database's own."""
        clock = self.registered_clock or self.app_clock()
        return None if isinstance(clock, SystemClock) else clock

    @property
    def ledgers(self) -> list[tuple[Target, Table]]:
        """Each ledger once, with one of its targets."""
        by_id = {id(target.ledger): (target, target.ledger) for target in self.targets}
        return list(by_id.values())

    @property
    def schedules_actions(self) -> bool:
        """Whether any target schedules actions."""
        return any(target.declared.action is not None for target in self.targets)
