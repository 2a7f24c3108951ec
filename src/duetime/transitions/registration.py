"""A registration: models, the engine they live on, and how their transitions are applied."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from sqlalchemy import Table

from duetime.model.actions.retry import Retry
from duetime.model.clock import Clock
from duetime.transitions.hooks import Hooks
from duetime.transitions.sessions import Bind
from duetime.transitions.target import Target
from duetime.transitions.writes import Statements


@dataclass(frozen=True, kw_only=True, eq=False)
class Registration:
    bind: Bind
    targets: list[Target]
    hooks: Hooks
    interval: float
    batch: int
    bulk: bool
    # None: the database's own clock counts.
    clock: Clock | None
    log: logging.Logger
    retry: Retry
    _statements: dict[tuple[Target, bool, bool], Statements] = field(default_factory=dict)

    def statements(self, target: Target, parked: bool, behind: bool) -> Statements:
        statements = Statements(target, self.bind.dialect, parked, behind, self.bind.schemas)
        return self._statements.setdefault((target, parked, behind), statements)

    @property
    def ledgers(self) -> list[tuple[Target, Table]]:
        """Each once, with a target that it is for."""
        return list({id(one.ledger): (one, one.ledger) for one in self.targets}.values())

    @property
    def schedules(self) -> bool:
        """Whether any of them writes actions into the store."""
        return any(one.declared.action is not None for one in self.targets)
