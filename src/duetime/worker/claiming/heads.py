"""Lane heads: when the next free action of each lane is due, as far as this worker knows."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Sequence

from duetime.model.actions.claim import Claim, LaneHead
from duetime.model.clock import SECOND
from duetime.model.lane import Lane, readable_lane
from duetime.store.flow import Wake
from duetime.worker.backoff import LaneBackoff
from duetime.worker.claiming.cursors import Cursors

# Wakes may name this many lanes that no look-ahead has listed. A queue has 64 lanes.
MAX_HINTED_LANES = 1000


class LaneHeads:
    """The heads that look-aheads, wakes and full claims have made known.

    A look-ahead lists every lane that has unfinished actions. A wake is a hint, which may come from
    a stranger: the lanes that only wakes name are limited in number, and forgotten by the next
    look-ahead that does not list them. A claim that came back short makes its lanes unknown until
    a look-ahead lists them again.
    """

    def __init__(self) -> None:
        self.cursors = Cursors()
        self._heads: dict[str, int] = {}
        self._wakes: dict[str, int] = {}
        self._wakes_since_look: dict[str, int] = {}
        self._listed: frozenset[str] = frozenset()
        self._hinted: set[str] = set()
        self._missed: set[str] = set()
        self._drained: set[str] = set()
        self._backoff = LaneBackoff()

    def items(self) -> ItemsView[str, int]:
        return self._heads.items()

    # -- wakes -----------------------------------------------------------------------

    def note_wakes(self, wakes: Iterable[Wake]) -> bool:
        """Note lanes in which actions became due. Return False if a wake was not taken over and a
        look-ahead is needed: it names a lane of suspects, or one lane too many."""
        taken_over = True
        for wake in wakes:
            if self._may_hint(wake.lane):
                self._wakes[wake.lane] = min(wake.due_at, self._wakes.get(wake.lane, wake.due_at))
            else:
                taken_over = False
        return taken_over

    def _may_hint(self, lane: str) -> bool:
        parsed = readable_lane(lane)
        # Suspects are claimed before all others, so hints alone must not make a worker try.
        if parsed is None or parsed.suspect:
            return False
        if lane in self._listed or lane in self._hinted:
            return True
        if len(self._hinted) >= MAX_HINTED_LANES:
            return False
        self._hinted.add(lane)
        return True

    def take_wakes(self) -> None:
        """Take the noted wakes over into the heads."""
        wakes, self._wakes = self._wakes, {}
        for lane, due_at in wakes.items():
            self._wakes_since_look[lane] = min(due_at, self._wakes_since_look.get(lane, due_at))
            self._backoff.reset(lane)
            self._lower(lane, due_at)

    def _lower(self, lane: str, due_at: int) -> None:
        self._heads[lane] = min(due_at, self._heads.get(lane, due_at))
        self.cursors.lower(lane, due_at)

    # -- look-aheads -----------------------------------------------------------------

    def look_started(self) -> None:
        """A look-ahead was sent; it may miss wakes that arrive from now on."""
        self._wakes_since_look = {}
        self._drained = set()

    def look_finished(
        self,
        heads: Sequence[LaneHead],
        now: int,
        *,
        full: bool,
        held: frozenset[str] = frozenset(),
    ) -> None:
        """Take over the heads that a look-ahead returned; a full one lists all lanes.

        Lanes that were overdue without our knowing had lost their wake; their claims are counted as
        catch-up. Not so in the `held` queues, which are paused, or were a moment ago.
        """
        if full:
            self._forget_all_but(frozenset(head.lane for head in heads))
        for head in heads:
            if head.next_due is None:
                self._forget(head.lane)
                continue
            if head.lane not in self._heads and head.next_due < now - SECOND:
                self._note_missed(head.lane, held)
            self._heads[head.lane] = self._backoff.retry_at(head.lane, head.next_due)
            self.cursors.lower(head.lane, head.next_due)
        for lane, due_at in self._wakes_since_look.items():
            self._lower(lane, due_at)

    def _note_missed(self, lane: str, held: frozenset[str]) -> None:
        parsed = readable_lane(lane)
        if parsed is None or parsed.queue not in held:
            self._missed.add(lane)

    def _forget_all_but(self, listed: frozenset[str]) -> None:
        self._listed = listed
        self._hinted = set(self._wakes) | set(self._wakes_since_look)
        for lane in self._heads.keys() - listed:
            self._forget(lane)

    def _forget(self, lane: str) -> None:
        self._heads.pop(lane, None)
        self._backoff.reset(lane)

    def forget_everything(self) -> list[str]:
        """Forget all heads and wakes, and return their lanes: claims from them fail each time. A
        look-ahead lists those that exist."""
        lanes = sorted(self._heads.keys() | self._wakes)
        self._heads, self._wakes, self._wakes_since_look = {}, {}, {}
        self._hinted.clear()
        return lanes

    # -- claims ----------------------------------------------------------------------

    def mark_drained(self, lanes: Sequence[Lane]) -> None:
        """Make the heads of these lanes unknown: a claim found nothing more in them."""
        for lane in lanes:
            self._heads.pop(lane.text, None)
            self._missed.discard(lane.text)
            self._drained.add(lane.text)

    def drained_lanes(self) -> dict[str, int]:
        """Return the lanes that claims emptied since the last look-ahead, each with the cursor from
        which unannounced actions may lie."""
        return {lane: self.cursors.position(lane) for lane in self._drained}

    def back_off(self, lane: Lane, now: int) -> None:
        """A claim found a due action locked: the lane is retried after a pause."""
        self._backoff.back_off(lane.text, now)

    def reset_backoff(self, lane: Lane) -> None:
        """A claim took an action from the lane, which needs no pause any more."""
        self._backoff.reset(lane.text)

    def claims_of_missed_lanes(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return those of the claims whose lane had lost its wake; each lane counts once."""
        if not self._missed:
            return []
        caught_up = [claim for claim in claims if claim.lane in self._missed]
        self._missed -= {claim.lane for claim in claims}
        return caught_up
