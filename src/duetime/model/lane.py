"""Lanes: the unit in which due work is ordered and found.

A lane is a string, so that it explains itself in the table and needs no registry:

    2.5.billing      queue billing, priority 2 (high), tenant shard 5
    s.2.5.billing    the same for an action that was lost twice: claimed alone
    p.1.4.mail.2.5.billing    parked: a worker that did not know version 1 of kind mail (a name
                     of 4 characters) put it here, where only workers that know it claim

Shards are visited in rotation and priorities by weight, so that neither a busy tenant
nor a busy priority starves another.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

# One for what belongs to no tenant, the others for all tenants. It has no divisor in common with
# the number of rounds below, so that each shard leads with each priority.
SHARDS = 16


class Priority(StrEnum):
    """How urgently due work is claimed; a weight, never an absolute right of way."""

    low = "low"
    normal = "normal"
    high = "high"
    critical = "critical"

    @property
    def rank(self) -> int:
        """How the store keeps it."""
        return _RANK_OF[self._name_]

    @classmethod
    def of_rank(cls, rank: int) -> Priority:
        return _RANKS[rank]


_RANKS = tuple(Priority)
_RANK_OF = {priority.name: rank for rank, priority in enumerate(_RANKS)}


# Which priority leads in each round: critical 8 times of 15, high 4, normal 2, low once.
_LEADERS = (3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3)


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane taken apart. `text` is what the store holds; `parked` the kind and version that
    its actions wait for."""

    text: str
    queue: str
    priority: int
    shard: int
    suspect: bool
    parked: tuple[str, int] | None = None


def lane_of(queue: str, priority: int, tenant: str | None, *, suspect: bool = False) -> str:
    shard = 0 if tenant is None else 1 + zlib.crc32(tenant.encode()) % (SHARDS - 1)
    return f"{'s.' if suspect else ''}{priority}.{shard}.{queue}"


def job_lane(app: str) -> str:
    """No lane of actions: how workers are told that a job of an app is due anew."""
    return f"jobs.{app}"


def parking_lane(kind: str, version: int, home: str) -> str:
    """Where actions of lane `home` wait for a worker that knows their kind."""
    return home if home.startswith("p.") else f"p.{version}.{len(kind)}.{kind}.{home}"


@lru_cache(maxsize=4096)
def parse_lane(text: str) -> Lane:
    if text.startswith("p."):
        return _parse_parking(text)
    suspect = text.startswith("s.")
    priority, shard, queue = text.removeprefix("s.").split(".", 2)
    return Lane(text, queue, int(priority), int(shard), suspect)


def readable_lane(text: str) -> Lane | None:
    """None for a text that is no lane: whoever wrote it into the store was not us."""
    try:
        return parse_lane(text)
    except ValueError:
        return None


def _parse_parking(text: str) -> Lane:
    _, version, length, rest = text.split(".", 3)
    kind, home = rest[: int(length)], rest[int(length) + 1 :]
    return replace(parse_lane(home), text=text, parked=(kind, int(version)))


def visit_order(lanes: Iterable[Lane], turn: int) -> Sequence[Lane]:
    """The order in which one claim visits the lanes; `turn` counts claims."""
    leader = _LEADERS[turn % len(_LEADERS)]

    def rank(lane: Lane) -> tuple[bool, int, int, str]:
        return (
            lane.priority != leader,
            -lane.priority,
            (lane.shard - turn) % SHARDS,
            lane.text,
        )

    return sorted(lanes, key=rank)
