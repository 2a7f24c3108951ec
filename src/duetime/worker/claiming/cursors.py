"""Lane cursors: the due time before which a lane holds nothing to claim.

A wrong cursor may cost time but never an action: it is a lower bound, stays at least LAG_MICROS
behind the store's clock, and is lowered by every look-ahead and wake.
"""

from __future__ import annotations

from duetime.model.actions.claim import Claimed
from duetime.model.clock import SECOND

LANE_START = -(2**62)
# A row may become visible after a row with a later due time: cursors stay this far behind.
LAG_MICROS = SECOND


class Cursors:
    """The cursors of one worker, which has at most one claim in transit."""

    def __init__(self) -> None:
        self._positions: dict[str, int] = {}
        # Lowered since the claim was sent: the claim may not have seen these rows. None while no
        # claim is in transit.
        self._lowered_since_sent: dict[str, int] | None = None

    def position(self, lane: str) -> int:
        return self._positions.get(lane, LANE_START)

    def claim_sent(self) -> None:
        """A claim is in transit from now on."""
        self._lowered_since_sent = {}

    def claim_answered(self) -> None:
        """No claim is in transit any more."""
        self._lowered_since_sent = None

    def lower(self, lane: str, due_at: int) -> None:
        """Note that the lane holds an action due at `due_at`."""
        lowered = self._lowered_since_sent
        if lowered is not None:
            lowered[lane] = min(due_at, lowered.get(lane, due_at))
        if lane in self._positions:
            self._positions[lane] = min(self._positions[lane], due_at)

    def advance(self, claimed: Claimed) -> None:
        """Move the cursors to the last claimed row of each lane: the claim took every earlier row
        that it saw."""
        newest, lowered = claimed.now - LAG_MICROS, self._lowered_since_sent or {}
        # Claims are sorted by due time within each lane, so this keeps the last of each lane.
        last = {claim.lane: claim.due_at for claim in claimed.claims}
        for lane, due_at in last.items():
            reached = max(min(due_at, newest), self.position(lane))
            self._positions[lane] = min(reached, lowered.get(lane, reached))
