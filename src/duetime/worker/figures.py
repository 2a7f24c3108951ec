"""Counts runs by minute, and adds the counts to the store's figures beside each sweep."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from duetime.errors import DuetimeError, StoreUnavailable
from duetime.logs import get_log
from duetime.model.actions.claim import Claim, Expired
from duetime.model.health.buckets import BOUNDS_MICROS, BUCKETS, UNMEASURED_PLACE
from duetime.model.health.figures import MINUTE, REST, FigureBatch, FigureKey
from duetime.model.lane import lane_of, parse_lane
from duetime.model.state import Outcome
from duetime.store.base import Store
from duetime.worker.service import UNTIL_WOKEN, Service

log = get_log("duetime.worker")

# Different keys in a batch: a store must not grow without bound where there are very many kinds or
# tenants.
MAX_KEYS = 500
# How runs end. A claim that is given back is none.
COUNTED = frozenset(
    outcome.value
    for outcome in (
        *(Outcome.succeeded, Outcome.failed, Outcome.retried, Outcome.snoozed),
        *(Outcome.cancelled, Outcome.lost),
    )
)


class RawKey(NamedTuple):
    """What runs are counted by at first, since it takes no time to compute for each run: the lane
    in place of its queue, and places of buckets."""

    minute: int
    lane: str
    kind: str
    tenant: str | None
    outcome: str
    lateness: int
    duration: int


OUTCOME = RawKey._fields.index("outcome")


class FigureCounter:
    """Counts in this process. What was not added to the store when the process dies is lost: what
    ended since its last sweep. A batch whose reply was lost is sent again under the same number, so
    that it counts once."""

    def __init__(self, worker: str, store: Store) -> None:
        self._worker = worker
        self._store = store
        self._counts: defaultdict[RawKey, int] = defaultdict(int)
        # On its way to the store; nothing is counted in it any more.
        self._batch: FigureBatch | None = None
        # The batch that was sent without an answer, or that the store did not take.
        self._sent_before: FigureBatch | None = None
        self._number = 0
        self.service = Service("figures", self._step)

    def count(self, claim: Claim, outcome: Outcome, started_at: int, finished_at: int) -> None:
        """Count a run whose completion is stored."""
        key = (
            finished_at // MINUTE,
            claim.lane,
            claim.kind,
            claim.tenant,
            outcome._value_,  # hashed in half the time that the outcome takes
            bisect_left(BOUNDS_MICROS, started_at - claim.due_at),
            bisect_left(BOUNDS_MICROS, finished_at - started_at),
        )
        self._counts[key] += 1  # type: ignore[index]

    def count_lost(self, expired: Expired, now: int) -> None:
        """Count a run that another worker lost; nothing is known of its times."""
        lane = lane_of(expired.queue, expired.priority, expired.tenant)
        key = (now // MINUTE, lane, expired.kind, expired.tenant, Outcome.lost.value)
        self._counts[RawKey(*key, UNMEASURED_PLACE, UNMEASURED_PLACE)] += 1

    async def _step(self) -> float:
        await self.flush()
        return UNTIL_WOKEN

    async def flush(self) -> None:
        """Add to the store what was counted until now."""
        if self._batch is not None:
            await self._send(self._batch)
        if self._batch is None and (batch := self._next_batch()).runs:
            await self._send(batch)

    async def flush_last(self) -> None:
        """Add what is left when the worker stops, if the store takes it."""
        try:
            await self.flush()
        except DuetimeError as error:
            log.warning("worker %s could not add its last figures: %s", self._worker, error)

    async def _send(self, batch: FigureBatch) -> None:
        """Add a batch. One that the store refuses is dropped: it must not hold up the others. One
        that it does not take is kept once: it may know this worker again after the next sweep."""
        self._batch = batch
        try:
            added = await self._store.perform(self._store.add_figures(batch))
        except StoreUnavailable:
            self._sent_before = batch
            raise
        except Exception:
            self._batch = None
            raise
        if added or batch is self._sent_before:
            self._batch = None
        else:
            self._sent_before = batch

    def _next_batch(self) -> FigureBatch:
        counts, self._counts = self._counts, defaultdict(int)
        self._number += 1
        return FigureBatch(self._worker, self._number, [*bounded(counts).items()])


def bounded(counts: Mapping[RawKey, int]) -> Mapping[FigureKey, int]:
    """Return counts by the keys of figures: the largest ones, and all others in REST."""
    runs: Counter[FigureKey] = Counter()
    for key, count in counts.items():
        if key[OUTCOME] in COUNTED:
            runs[_figure_key(*key)] += count
    kept: Counter[FigureKey] = Counter()
    for place, (figure, count) in enumerate(runs.most_common()):
        rest = figure._replace(queue=REST, kind=REST, tenant=None)
        kept[figure if place < MAX_KEYS else rest] += count
    return kept


def _figure_key(
    minute: int,
    lane: str,
    kind: str,
    tenant: str | None,
    outcome: str,
    lateness: int,
    duration: int,
) -> FigureKey:
    buckets = BUCKETS[lateness], BUCKETS[duration]
    return FigureKey(minute * MINUTE, parse_lane(lane).queue, kind, tenant, outcome, *buckets)
