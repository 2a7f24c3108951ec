"""How the last runs of jobs ended, as their charts take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from duetime.admin.pages.charts.outcome_strip import StripOutcome
from duetime.admin.pages.snapshots import kept_for
from duetime.errors import JobNotFound, UnreadableJob
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

MAX_ROW_OUTCOMES = 10
KEPT_SECONDS = 10.0

LastOutcomes = dict[str, list[StripOutcome]]


@kept_for(KEPT_SECONDS)
async def read_last_outcomes(app: Duetime, scope: Scope, names: tuple[str, ...]) -> LastOutcomes:
    """Read how the last runs of these jobs ended, without their errors."""
    return {name: await _outcomes(app, scope, name) for name in names}


async def _outcomes(app: Duetime, scope: Scope, name: str) -> list[StripOutcome]:
    try:
        # The newest may be unfinished.
        runs = await app.jobs.runs(name, limit=MAX_ROW_OUTCOMES + 1, tenant=scope)
    except (JobNotFound, UnreadableJob):
        # Removed since its name was read, or written by a newer version.
        return []
    return ended(runs)


def ended(
    runs: Sequence[Occurrence], path: Callable[[UUID], str] | None = None
) -> list[StripOutcome]:
    """Return the outcomes of occurrences that have ended, the newest last. `path` gives the address
    of an action."""
    return [
        StripOutcome(
            outcome=run.outcome,
            at=run.finished_at,
            took=run.duration,
            href=None if path is None else path(run.action_id),
        )
        for run in reversed(runs)
        if run.outcome is not None and run.finished_at is not None
    ]
