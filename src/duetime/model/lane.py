"""Lanes: the unit in which due work is ordered and found.

A lane is a string, so that it explains itself in the table and needs no registry:

    2.5.billing      queue billing, priority 2 (high), tenant shard 5
    s.2.5.billing    suspect: the same lane for actions that were lost twice, claimed alone
    p.1.4.mail.2.5.billing    parked: a worker that did not know version 1 of kind mail (a name
                     of 4 characters) put it here, where only workers that know it claim
    damaged          the database refuses to claim these actions, and to move them to history

Three more names are sent in wakes only, and are lanes of no action: `jobs.shop`, the jobs of an
app; `rows.0123456789abcdef`, the rows of a table with transitions, by a hash of the table's name;
and `queues`, the pauses of queues.

Shards are visited in rotation and priorities by weight, so that neither a busy tenant
nor a busy priority starves another.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

# One shard for actions without a tenant, the others for all tenants. The number has no divisor in
# common with the number of rounds below, so that each shard leads with each priority.
SHARDS = 16


class Priority(StrEnum):
    """How urgently due actions are claimed: a weight, not a strict order."""

    low = "low"
    normal = "normal"
    high = "high"
    critical = "critical"

    @property
    def rank(self) -> int:
        """The number by which stores keep the priority."""
        return _RANK_OF[self._name_]

    @classmethod
    def of_rank(cls, rank: int) -> Priority:
        """Return the priority of a rank. LookupError if there is none."""
        return PRIORITY_OF_RANK[rank]


PRIORITY_OF_RANK = dict(enumerate(Priority))
_RANK_OF = {priority.name: rank for rank, priority in PRIORITY_OF_RANK.items()}


# The priority that leads in each round: critical 8 times of 15, high 4, normal 2, low once.
_LEADERS = (3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3)


# No worker can parse it, so none claims from it; its actions are counted as unreachable.
DAMAGED_LANE = "damaged"
PARKING_PREFIX = "p."
ROW_LANE_PREFIX = "rows."
# In a message to other processes, its wake becomes one that names no lanes: code that does not know
# this name understands that, too.
PAUSES_LANE = "queues"
# Wakes the notifier of this process only; those of others learn of events by their sweeps.
EVENTS_LANE = "events"


@dataclass(frozen=True, slots=True)
class Lane:
    """A parsed lane. `text` is its form in the store; `parked` the kind and version for which its
    actions wait."""

    text: str
    queue: str
    priority: int
    shard: int
    suspect: bool
    parked: tuple[str, int] | None = None

    @property
    def shared(self) -> bool:
        """Return whether claims take actions of several tenants from the lane. Actions without a
        tenant have lanes of their own, and suspects are claimed one at a time."""
        return self.shard > 0 and not self.suspect


def lane_of(queue: str, priority: int, tenant: str | None, *, suspect: bool = False) -> str:
    shard = 0 if tenant is None else 1 + zlib.crc32(tenant.encode()) % (SHARDS - 1)
    return f"{'s.' if suspect else ''}{priority}.{shard}.{queue}"


def job_lane(app: str) -> str:
    """Return the lane name of wakes for an app's jobs. No actions are in it."""
    return f"jobs.{app}"


def row_lane(table: str) -> str:
    """Return the lane name of wakes for rows of a table with transitions. No actions are in it."""
    return ROW_LANE_PREFIX + hashlib.sha256(table.encode()).hexdigest()[:16]


def is_row_lane(lane: str) -> bool:
    return lane.startswith(ROW_LANE_PREFIX)


def parking_lane(kind: str, version: int, home: str) -> str:
    """Return the lane in which actions of lane `home` wait for a worker that knows their kind."""
    return home if home.startswith(PARKING_PREFIX) else f"p.{version}.{len(kind)}.{kind}.{home}"


@lru_cache(maxsize=4096)
def parse_lane(text: str) -> Lane:
    if text.startswith(PARKING_PREFIX):
        return _parse_parking(text)
    suspect = text.startswith("s.")
    priority, shard, queue = text.removeprefix("s.").split(".", 2)
    return Lane(text, queue, int(priority), int(shard), suspect)


def readable_lane(text: str) -> Lane | None:
    """Return the parsed lane; None for a text that duetime did not write."""
    try:
        return parse_lane(text)
    except ValueError:
        return None


# Any text that stores can keep: no NUL and no lone surrogates.
_STORABLE = r"[^\x00\ud800-\udfff]"
_HOME = re.compile(rf"(s\.)?[0-3]\.([0-9]|1[0-5])\.{_STORABLE}{{1,200}}", re.DOTALL)
_JOBS = re.compile(rf"jobs\.{_STORABLE}{{1,450}}", re.DOTALL)
_ROWS = re.compile(r"rows\.[0-9a-f]{16}")
_PARKING = re.compile(
    rf"p\.[1-9][0-9]{{0,9}}\.([1-9][0-9]{{0,2}})\.({_STORABLE}{{1,450}})", re.DOTALL
)


def is_lane(text: str) -> bool:
    """Return whether duetime could have written this as a lane of actions, jobs or rows. Only such
    a lane is taken from a message that any user of the database may have sent."""
    parking = _PARKING.fullmatch(text)
    if parking is None:
        return any(shape.fullmatch(text) for shape in (_HOME, _JOBS, _ROWS))
    length, rest = int(parking[1]), parking[2]
    return rest[length : length + 1] == "." and bool(_HOME.fullmatch(rest[length + 1 :]))


def _parse_parking(text: str) -> Lane:
    _, version, length, rest = text.split(".", 3)
    kind, home = rest[: int(length)], rest[int(length) + 1 :]
    return replace(parse_lane(home), text=text, parked=(kind, int(version)))


def visit_order(lanes: Iterable[Lane], turn: int) -> Sequence[Lane]:
    """Return the lanes in the order in which a claim visits them; `turn` counts claims."""
    leader = _LEADERS[turn % len(_LEADERS)]

    def rank(lane: Lane) -> tuple[bool, int, int, str]:
        return (
            lane.priority != leader,
            -lane.priority,
            (lane.shard - turn) % SHARDS,
            lane.text,
        )

    return sorted(lanes, key=rank)
