"""What the demo has seen so far. All of it was read from the store through the app."""

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

NEWEST = 100
LATENESSES = 10_000


@dataclass(frozen=True, slots=True)
class Story:
    """An action and its runs at the last look."""

    action: Action
    runs: tuple[Run, ...]

    @property
    def last(self) -> Run | None:
        """The run that ended last."""
        ended = [run for run in self.runs if run.finished_at is not None]
        return ended[-1] if ended else None

    def differs(self, action: Action) -> bool:
        was = self.action
        return (was.state, was.attempt, was.due_at, was.progress) != (
            action.state,
            action.attempt,
            action.due_at,
            action.progress,
        )


class Tally:
    """Looks at the actions of one correlation id and at jobs, and counts what changed."""

    def __init__(self, app: Duetime, correlation_id: str, jobs: Sequence[str]) -> None:
        self._app = app
        self.correlation_id = correlation_id
        self._names = jobs
        self.jobs: list[Job] = []
        self._stories: dict[UUID, Story] = {}
        self.states: Counter[State] = Counter()
        self.retries = 0
        self._late: deque[timedelta] = deque(maxlen=LATENESSES)

    async def look(self) -> list[Story]:
        """The stories that changed since the last look, oldest first."""
        visits = await self._app.find(correlation_id=self.correlation_id, limit=NEWEST)
        found = [*visits, *await self._occurrences()]
        changed = []
        for action in sorted(found, key=lambda action: action.id):
            known = self._stories.get(action.id)
            if known is None or known.differs(action):
                changed.append(await self._learn(action, known))
        self._forget({action.id for action in found})
        return changed

    async def _occurrences(self) -> list[Action]:
        """Those of the jobs, which are looked at, too: they come later and leave earlier."""
        with suppress(JobNotFound):
            self.jobs = [await self._app.jobs.get(name) for name in self._names]
        pages = [await self._app.find(kind=job.kind, limit=NEWEST) for job in self.jobs]
        return [action for page in pages for action in page if action.job in self._names]

    def newest(self, limit: int) -> list[Story]:
        return sorted(self._stories.values(), key=lambda s: s.action.id, reverse=True)[:limit]

    @property
    def actions(self) -> int:
        return self.states.total()

    def lateness(self, percent: int) -> timedelta | None:
        """How late handlers started, of `percent` in a hundred runs at most."""
        if not self._late:
            return None
        ordered = sorted(self._late)
        return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]

    async def _learn(self, action: Action, known: Story | None) -> Story:
        story = Story(action, tuple(await self._app.runs(action.id)))
        seen = set() if known is None else {r.id for r in known.runs if r.finished_at is not None}
        for run in story.runs:
            if run.finished_at is not None and run.id not in seen:
                self._count(run)
        if known is not None:
            self.states[known.action.state] -= 1
        self.states[action.state] += 1
        self._stories[action.id] = story
        return story

    def _count(self, run: Run) -> None:
        self.retries += run.outcome is Outcome.retried
        if run.late_by is not None:
            self._late.append(run.late_by)

    def _forget(self, newest: set[UUID]) -> None:
        """Counted and finished long ago: a demo may run for days."""
        self._stories = {
            id_: story
            for id_, story in self._stories.items()
            if id_ in newest or not story.action.state.finished
        }
