"""Lanes: the unit in which due work is ordered and found.

A lane is a string, so that it explains itself in the table and needs no registry:

    2.5.billing      queue billing, priority 2 (high), tenant shard 5
    s.2.5.billing    the same for an action that was lost twice: claimed alone
    p.1.send-mail    parked: no worker met so far knows version 1 of kind send-mail

Shards are visited in rotation and priorities by weight, so that neither a busy tenant
nor a busy priority starves another.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

SHARDS = 8


class Priority(StrEnum):
    """How urgently due work is claimed; a weight, never an absolute right of way."""

    low = "low"
    normal = "normal"
    high = "high"
    critical = "critical"

    @property
    def rank(self) -> int:
        """How the store keeps it."""
        return _RANKS.index(self)

    @classmethod
    def of_rank(cls, rank: int) -> Priority:
        return _RANKS[rank]


_RANKS = tuple(Priority)


# Which priority leads in each round: critical 8 times of 15, high 4, normal 2, low once.
_LEADERS = (3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3)


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane taken apart. `text` is what the store holds."""

    text: str
    queue: str
    priority: int
    shard: int
    suspect: bool


def lane_of(queue: str, priority: int, tenant: str | None, *, suspect: bool = False) -> str:
    shard = 0 if tenant is None else zlib.crc32(tenant.encode()) % SHARDS
    return f"{'s.' if suspect else ''}{priority}.{shard}.{queue}"


def parking_lane(kind: str, version: int) -> str:
    return f"p.{version}.{kind}"


def parse_parking(text: str) -> tuple[str, int] | None:
    """The kind and version that a parking lane waits for; None for any other lane."""
    if not text.startswith("p."):
        return None
    _, version, kind = text.split(".", 2)
    return kind, int(version)


def parse_lane(text: str) -> Lane | None:
    """None for a parking lane: nothing in it is due."""
    if text.startswith("p."):
        return None
    suspect = text.startswith("s.")
    priority, shard, queue = text.removeprefix("s.").split(".", 2)
    return Lane(text, queue, int(priority), int(shard), suspect)


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
