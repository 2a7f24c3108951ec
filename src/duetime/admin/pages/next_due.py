"""What is due next: actions and ticks of jobs, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import UUID

from duetime.admin.pages.page import FramedPage
from duetime.admin.pages.snapshots import kept_for
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

# So many instants are shown, and so many actions are read to find them.
MAX_SHOWN = 8
MAX_READ = 50
KEPT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NextDue:
    """Actions of a kind that are due in one second, or the next tick of a job."""

    at: datetime
    name: str
    is_job: bool = False
    count: int = 1
    # The action, if it is one.
    id: UUID | None = None


async def soonest(page: FramedPage) -> list[NextDue]:
    """Return what is due next, of what the reader may see."""
    actions = await page.read(read_next_actions) if page.allows("actions.read") else []
    jobs = await page.read(read_next_ticks) if page.allows("jobs.read") else []
    coming = [due for due in (*actions, *jobs) if due.at > page.now]
    return sorted(coming, key=lambda due: (due.at, due.name))[:MAX_SHOWN]


@kept_for(KEPT_SECONDS)
async def read_next_actions(app: Duetime, scope: Scope) -> list[NextDue]:
    """Read the actions that are due next, without their payloads."""
    now = app.runtime.clock.now()
    found = await app.find(
        state="scheduled", due_from=now, sort="due_at", limit=MAX_READ, tenant=scope
    )
    return _folded((action.due_at or now, action.kind, action.id) for action in found)


def _folded(actions: Iterable[tuple[datetime, str, UUID]]) -> list[NextDue]:
    """Return actions of one kind and second together."""
    folded = []
    by_second = sorted(actions, key=_second_and_kind)
    for (_, kind), group in groupby(by_second, key=_second_and_kind):
        same = list(group)
        alone = same[0][2] if len(same) == 1 else None
        folded.append(NextDue(at=same[0][0], name=kind, count=len(same), id=alone))
    return folded


def _second_and_kind(action: tuple[datetime, str, UUID]) -> tuple[datetime, str]:
    at, kind, _ = action
    return at.replace(microsecond=0), kind


@kept_for(KEPT_SECONDS)
async def read_next_ticks(app: Duetime, scope: Scope) -> list[NextDue]:
    """Read the next ticks of jobs, without their payloads."""
    jobs = await app.jobs.list(state="scheduled", sort="next_due_at", limit=MAX_SHOWN, tenant=scope)
    return [
        NextDue(at=job.next_due_at, name=job.name, is_job=True)
        for job in jobs
        if job.next_due_at is not None
    ]
