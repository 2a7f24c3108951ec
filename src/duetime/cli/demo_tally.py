"""Counts of the demo's actions and runs, all read from the store through the app."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from duetime.app import Duetime
from duetime.errors import JobNotFound
from duetime.model.actions.action import Action, Run
from duetime.model.jobs.view import Job
from duetime.model.state import Outcome, State

MAX_SHOWN_ACTIONS = 100
MAX_LATENESS_SAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class ActionSnapshot:
    """An action and its runs as last read."""

    action: Action
    runs: tuple[Run, ...]

    @property
    def last(self) -> Run | None:
        """The run that finished last."""
        finished = [run for run in self.runs if run.finished_at is not None]
        return finished[-1] if finished else None

    def differs(self, action: Action) -> bool:
        was = self.action
        return (was.state, was.attempt, was.due_at, was.progress) != (
            action.state,
            action.attempt,
            action.due_at,
            action.progress,
        )


class DemoTally:
    """Reads the actions of one correlation id and the jobs, and counts what changed."""

    def __init__(self, app: Duetime, correlation_id: str, jobs: Sequence[str]) -> None:
        self._app = app
        self.correlation_id = correlation_id
        self._names = jobs
        self.jobs: list[Job] = []
        self._snapshots: dict[UUID, ActionSnapshot] = {}
        self.states: Counter[State] = Counter()
        self.retries = 0
        self._latenesses: deque[timedelta] = deque(maxlen=MAX_LATENESS_SAMPLES)

    async def refresh(self) -> list[ActionSnapshot]:
        """Read the store; return the actions that changed since the last call, oldest first."""
        visits = await self._app.find(correlation_id=self.correlation_id, limit=MAX_SHOWN_ACTIONS)
        found = [*visits, *await self._occurrences()]
        changed = []
        for action in sorted(found, key=lambda action: action.id):
            known = self._snapshots.get(action.id)
            if known is None or known.differs(action):
                changed.append(await self._record(action, known))
        self._forget({action.id for action in found})
        return changed

    async def _occurrences(self) -> list[Action]:
        """Read the jobs and their occurrences. The jobs are created after the first call and
        removed before the last."""
        with suppress(JobNotFound):
            self.jobs = [await self._app.jobs.get(name) for name in self._names]
        pages = [await self._app.find(kind=job.kind, limit=MAX_SHOWN_ACTIONS) for job in self.jobs]
        return [action for page in pages for action in page if action.job in self._names]

    def newest(self, limit: int) -> list[ActionSnapshot]:
        return sorted(self._snapshots.values(), key=lambda s: s.action.id, reverse=True)[:limit]

    @property
    def actions(self) -> int:
        return self.states.total()

    def lateness(self, percent: int) -> timedelta | None:
        """The percentile of how late handlers started; None before the first run."""
        if not self._latenesses:
            return None
        ordered = sorted(self._latenesses)
        return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]

    async def _record(self, action: Action, known: ActionSnapshot | None) -> ActionSnapshot:
        snapshot = ActionSnapshot(action, tuple(await self._app.runs(action.id)))
        seen = set() if known is None else {r.id for r in known.runs if r.finished_at is not None}
        for run in snapshot.runs:
            if run.finished_at is not None and run.id not in seen:
                self._count(run)
        if known is not None:
            self.states[known.action.state] -= 1
        self.states[action.state] += 1
        self._snapshots[action.id] = snapshot
        return snapshot

    def _count(self, run: Run) -> None:
        self.retries += run.outcome is Outcome.retried
        if run.late_by is not None:
            self._latenesses.append(run.late_by)

    def _forget(self, newest: set[UUID]) -> None:
        """Drop finished actions that are no longer shown: a demo may run for days."""
        self._snapshots = {
            id_: snapshot
            for id_, snapshot in self._snapshots.items()
            if id_ in newest or not snapshot.action.state.finished
        }
