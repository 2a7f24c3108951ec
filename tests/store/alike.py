"""Answers in a form in which equal ones are equal, whatever a store is free to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from duetime.model.state import State


def by_id(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For answers whose order means nothing."""
    return sorted(records, key=lambda record: record["id"])


def whole_ties(keys: Sequence[object], limit: int) -> int:
    """A limit that does not cut through equals."""
    while 0 < limit < len(keys) and keys[limit - 1] == keys[limit]:
        limit += 1
    return limit


def claims_alike(claimed: Any) -> object:
    """Equals in any order."""
    ordered = [(claim["lane"], claim["due_at"]) for claim in claimed["claims"]]
    return claimed["now"], ordered, by_id(claimed["claims"])


def heads(swept: Any) -> object:
    heads = [(head["lane"], head["next_due"]) for head in swept["lanes"]]
    return swept["now"], sorted(heads, key=str)


def figures(counted: Any) -> object:
    """Lanes in any order. Workers are forgotten when a store likes."""
    lanes = sorted(counted["lanes"], key=lambda one: str(one["lane"]))
    return counted["now"], lanes, counted["finished"], counted["jobs"]


def places(claimed: Any) -> dict[UUID, tuple[str, int]]:
    return {claim["id"]: (claim["lane"], claim["due_at"]) for claim in claimed["claims"]}


def instants(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """When something falls due or a lease runs out."""
    unfinished = [record for record in records if not record["state"].finished]
    ends = {record[name] for record in unfinished for name in ("due_at", "lease_until")}
    return sorted(ends - {None})


def ends_before(
    records: Sequence[Mapping[str, Any]], instant: int, failed_instant: int
) -> list[int]:
    """When those finished that are to be pruned."""
    limits = {State.failed: failed_instant}
    finished = [record for record in records if record["state"].finished]
    ends = ((one["finished_at"], limits.get(one["state"], instant)) for one in finished)
    return sorted(end for end, limit in ends if end < limit)
