"""Brings results into a normal form, without what stores may choose freely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from duetime.model.state import State


def by_id(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort records whose order is not specified."""
    return sorted(records, key=lambda record: record["id"])


def whole_ties(keys: Sequence[object], limit: int) -> int:
    """Return a limit that does not split a group of equal keys."""
    while 0 < limit < len(keys) and keys[limit - 1] == keys[limit]:
        limit += 1
    return limit


def normalized_claims(claimed: Any) -> object:
    """Normalise claims: those due at the same time may come in any order."""
    ordered = [(claim["lane"], claim["due_at"]) for claim in claimed["claims"]]
    return claimed["now"], ordered, by_id(claimed["claims"])


def heads(swept: Any) -> object:
    heads = [(head["lane"], head["next_due"]) for head in swept["lanes"]]
    return swept["now"], sorted(heads, key=str), swept["paused"]


def normalized_stats(counted: Any) -> object:
    """Normalise stats: lanes may come in any order; stores may forget workers at any time."""
    lanes = sorted(counted["lanes"], key=lambda record: str(record["lane"]))
    return counted["now"], lanes, counted["finished"], counted["jobs"], counted["paused"]


def normalized_queues(counted: Any) -> object:
    """Normalise queues, which may come in any order; stores may forget workers at any time."""
    counts = sorted(counted["counts"], key=lambda count: str(count["queue"]))
    pauses = sorted(counted["pauses"], key=lambda pause: str(pause["queue"]))
    return counted["now"], counts, pauses


def normalized_circumstances(found: Any) -> object:
    """Leave out the workers, which stores may forget at any time."""
    return {name: value for name, value in found.items() if name != "workers"}


def claimed_lanes(claimed: Any) -> dict[UUID, tuple[str, int]]:
    return {claim["id"]: (claim["lane"], claim["due_at"]) for claim in claimed["claims"]}


def instants(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the instants at which actions are due or leases expire."""
    unfinished = [record for record in records if not record["state"].finished]
    ends = {record[name] for record in unfinished for name in ("due_at", "lease_until")}
    return sorted(ends - {None})


def finish_times_before(
    records: Sequence[Mapping[str, Any]], instant: int, failed_instant: int
) -> list[int]:
    """Return the finish times of the actions to be pruned."""
    limits = {State.failed: failed_instant}
    finished = [record for record in records if record["state"].finished]
    ends = ((record["finished_at"], limits.get(record["state"], instant)) for record in finished)
    return sorted(end for end, limit in ends if end < limit)
