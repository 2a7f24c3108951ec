"""An erasure: personal data is wiped from the actions of a correlation id or of a tenant."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.filter import Filter

# How many actions a call erases, and up to how many it counts what is left.
ERASURE_SIZE = 1000
MAX_LEFT = 10_000
# What stands in the place of a wiped payload.
WIPED_PAYLOAD = "null"


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """What a call of `erase` did.

    It `erased` that many actions, of which it `cancelled` some, because they were waiting.
    `left` counts those that are still to be erased, at most 10,000, and `running` the ones among
    them that run: they are left alone until they have finished. `jobs` counts the jobs of an erased
    tenant, which stay. With a `next_cursor`, more can be erased at once.
    """

    erased: int
    cancelled: int
    left: int
    running: int
    jobs: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class ErasureOrder:
    """What to erase: up to `limit` actions that match the filter, of the finished ones those with
    ids below `before`, to which earlier calls came. The jobs of `jobs_of`, a tenant, are
    counted."""

    id: UUID
    act: Act
    wanted: Filter
    jobs_of: str | None
    before: UUID | None = None
    limit: int = ERASURE_SIZE


@dataclass(frozen=True, slots=True)
class Erased:
    """What a store erased: the actions that it cancelled, how many it erased in all, and what is
    left. With `front`, more finished actions with ids below it may be erased at once."""

    cancelled: Sequence[Record]
    erased: int
    left: int
    running: int
    jobs: int
    front: UUID | None


# Above every id of an action.
HIGHEST = UUID(int=2**128 - 1)


def front_after(
    order: ErasureOrder, cancelled: Sequence[Record], finished: Sequence[UUID]
) -> UUID | None:
    """Return below which id the next call goes on, after a call that cancelled those actions and
    wiped these finished ones, the newest first; None if there are no more."""
    if len(cancelled) + len(finished) < order.limit:
        return None
    return finished[-1] if finished else order.before or HIGHEST


def is_wiped(record: Record) -> bool:
    data = (record.result, record.error, record.error_group, record.progress, record.trace)
    return record.payload == WIPED_PAYLOAD and data == (None,) * 5


def wiped(record: Record) -> Record:
    return replace(
        record,
        payload=WIPED_PAYLOAD,
        result=None,
        error=None,
        error_group=None,
        progress=None,
        trace=None,
    )


def erasure_snapshot(order: ErasureOrder, done: Erased) -> dict[str, object]:
    """Return what the audit entry of an erasure says."""
    wanted = order.wanted
    by_tenant = wanted.correlation_id is None
    what = {"tenant": wanted.tenant} if by_tenant else {"correlation_id": wanted.correlation_id}
    counts = {"erased": done.erased, "cancelled": len(done.cancelled), "left": done.left}
    return {**what, **counts, "running": done.running}


# -- the cursor ----------------------------------------------------------------------


def to_erasure_cursor(front: UUID, wanted: Filter) -> str:
    """Return the cursor of the next call. It holds a hash of the filter: with the cursor of another
    erasure, a call would miss actions."""
    return base64.urlsafe_b64encode(front.bytes + _filter_hash(wanted)).decode().rstrip("=")


def from_erasure_cursor(cursor: str, wanted: Filter) -> UUID:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True)
        front = UUID(bytes=data[:16])
    except (ValueError, TypeError):
        raise InvalidArgument(
            "cursor", cursor, "pass the next_cursor of the last call unchanged"
        ) from None
    if data[16:] != _filter_hash(wanted):
        raise InvalidArgument("cursor", cursor, "it belongs to another erasure: leave it out")
    return front


def _filter_hash(wanted: Filter) -> bytes:
    parts = repr((wanted.correlation_id, wanted.tenant))
    return hashlib.sha256(parts.encode()).digest()[:6]
