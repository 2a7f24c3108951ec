"""Cursors: from where on to look for work in each lane, past rows that are done with.

A cursor may cost time, never work: it is a lower bound, never nearer to the store's now than LAG,
and lowered by every look and wake.
"""

from __future__ import annotations

from duetime.model.actions.claim import Claimed
from duetime.model.clock import SECOND

FIRST = -(2**62)
# A row may become visible after a later one: a cursor stays this far behind the store.
LAG = SECOND


class Cursors:
    """Those of one worker, which has one claim on its way at a time."""

    def __init__(self) -> None:
        self._reached: dict[str, int] = {}
        # Since the claim was sent: it may not have seen what we were told of meanwhile.
        self._lowered: dict[str, int] = {}

    def of(self, lane: str) -> int:
        return self._reached.get(lane, FIRST)

    def sent(self) -> None:
        """A claim is on its way."""
        self._lowered = {}

    def lower(self, lane: str, due_at: int) -> None:
        """Something is there, due at that time."""
        self._lowered[lane] = min(due_at, self._lowered.get(lane, due_at))
        if lane in self._reached:
            self._reached[lane] = min(self._reached[lane], due_at)

    def advance(self, claimed: Claimed) -> None:
        """The claim is back, and has taken all that it saw before these."""
        newest = claimed.now - LAG
        # Claims come by due time, lane by lane: so this keeps the last of each lane.
        last = {claim.lane: claim.due_at for claim in claimed.claims}
        for lane, due_at in last.items():
            reached = max(min(due_at, newest), self.of(lane))
            self._reached[lane] = min(reached, self._lowered.get(lane, reached))
