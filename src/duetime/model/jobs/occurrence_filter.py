"""Which occurrences of a job a read shows."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.state import Outcome, State

# How many of the newest finished occurrences are examined for an outcome.
MOST_EXAMINED = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceFilter:
    """The newest `limit` occurrences of a job, by creation time, then by id: those before the
    position `follows`, and of an outcome if one is given."""

    job: str
    limit: int
    outcome: Outcome | None = None
    follows: tuple[int, UUID] | None = None


def final_outcome(record: Record) -> Outcome | None:
    """Return how an occurrence ended; None while it is unfinished."""
    if record.outcome is None and record.state is State.cancelled:
        return Outcome.cancelled
    return record.outcome if record.state.finished else None


def newest_of(records: list[Record], wanted: OccurrenceFilter) -> list[Record]:
    """Return the occurrences of these records, as every store does."""
    ordered = sorted(records, key=lambda o: (o.created_at, o.id), reverse=True)
    follows = wanted.follows
    older = [o for o in ordered if follows is None or (o.created_at, o.id) < follows]
    if wanted.outcome is not None:
        finished = [o for o in older if o.state.finished][:MOST_EXAMINED]
        older = [o for o in finished if final_outcome(o) is wanted.outcome]
    return older[: wanted.limit]
