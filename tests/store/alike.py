"""Answers in a form in which equal ones are equal, whatever a store is free to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from duetime.model.claim import Claimed


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


def places(claimed: Claimed) -> dict[UUID, tuple[str, int]]:
    return {claim.id: (claim.lane, claim.due_at) for claim in claimed.claims}
