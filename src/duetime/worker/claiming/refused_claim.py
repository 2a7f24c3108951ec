"""A claim that the store refuses because of one of its rows: finds the row by halving, claims the
others, and ends its action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from duetime.errors import InvalidArgument, UnreadableRow
from duetime.logs import get_log
from duetime.model.actions.claim import Claimed, ClaimOrder
from duetime.model.actions.outcome import truncate_error
from duetime.store.base import Store
from duetime.worker.claiming.evidence import Evidence
from duetime.worker.leases.store_clock import StoreClock

T = TypeVar("T")

log = get_log("duetime.worker")

# A claim holds no values of users: what the store refuses is one of its own rows.
CLAIM_REFUSALS = (InvalidArgument, UnreadableRow)

# Takes over a claim and the monotonic time at which it was sent.
Accept = Callable[[Claimed, float], None]


class RefusedClaim:
    """Claims what is not damaged of a refused order, then ends the actions that no claim can take.

    Each part is accepted at once, so that its leases are renewed while the others are claimed.
    """

    def __init__(self, store: Store, clock: StoreClock, evidence: Evidence, accept: Accept) -> None:
        self._store = store
        self._clock = clock
        self._evidence = evidence
        self._accept = accept
        self._refused_actions: dict[UUID, Exception] = {}

    async def resolve(self, order: ClaimOrder, error: Exception, claimed_before: int) -> int:
        """Return how many actions were claimed; `claimed_before` is how many the worker had claimed
        until now."""
        claimed = await self._claim_parts(order, error)
        # What was claimed just now proves nothing: the cause may have ended in the meantime.
        now = self._clock.monotonic()
        proven = self._evidence.proven(self._refused_actions, now, claimed_before)
        for action_id in proven:
            await self._end(action_id, self._refused_actions[action_id])
        return claimed

    async def _claim_parts(self, order: ClaimOrder, error: Exception) -> int:
        claimed = 0
        for part in await self._halve(order, error):
            if claimed < order.limit:
                rest = replace(part, limit=order.limit - claimed)
                claimed += await self._claim(rest)
        return claimed

    async def _halve(self, order: ClaimOrder, error: Exception) -> list[ClaimOrder]:
        """Return the halves of an order: of its lanes, then of the actions of its lane. Only an
        action that was asked for alone is refused for itself."""
        if len(order.spans) > 1:
            return [replace(order, spans=half) for half in _halves(order.spans)]
        if order.only is None:
            ids = await self._claimable_ids(order)
            return [replace(order, only=ids)] if ids else []
        if len(order.only) > 1:
            return [replace(order, only=half) for half in _halves(order.only)]
        self._refused_actions[order.only[0]] = error
        return []

    async def _claimable_ids(self, order: ClaimOrder) -> Sequence[UUID]:
        """Return the ids of the order's only lane; none if the store cannot even name the lane, as
        where a stranger's wake named it in characters that the database cannot encode."""
        lane = order.spans[0]
        try:
            return await self._store.perform(self._store.claimable_ids(lane, order.limit))
        except CLAIM_REFUSALS as error:
            log.error("the store refuses to read lane %r: %s", lane.lane, error)
            return []

    async def _claim(self, order: ClaimOrder) -> int:
        sent = self._clock.monotonic()
        try:
            claimed = await self._store.perform(self._store.claim(order))
        except CLAIM_REFUSALS as error:
            return await self._claim_parts(order, error)
        self._accept(claimed, sent)
        return len(claimed.claims)

    async def _end(self, action_id: UUID, error: Exception) -> None:
        """Fail the action, if need be without its data; withdraw it from claims if the store cannot
        even move it to history."""
        reason = truncate_error(
            f"its row is damaged, and no worker can claim it: {error}; schedule the action again"
        )
        for without_data in (False, True):
            flow = self._store.fail_damaged(action_id, reason, without_data=without_data)
            try:
                await self._store.perform(flow)
            except CLAIM_REFUSALS as refused:
                log.warning("action %s cannot be moved to history: %s", action_id, refused)
            else:
                log.error("action %s failed: %s", action_id, reason)
                return
        await self._withdraw(action_id, reason)

    async def _withdraw(self, action_id: UUID, reason: str) -> None:
        """Withdraw the action from claims. If the store refuses that, too, each claim goes around
        the row."""
        try:
            await self._store.perform(self._store.withdraw_damaged(action_id, reason))
            log.error("action %s is withdrawn from claims: %s", action_id, reason)
        except CLAIM_REFUSALS as refused:
            log.error(
                "action %s cannot be withdrawn, and delays all claims: delete its row; %s",
                action_id,
                refused,
            )


def _halves(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    half = len(items) // 2
    return items[:half], items[half:]
