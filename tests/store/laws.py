"""The laws that hold after every step, whatever the specification says:

1. nothing is claimed early;
2. nothing is materialised twice;
3. a completion uses the current token;
4. at most one claimer;
5. output before checkpoint: what left the unfinished is finished, never in neither;
6. nothing due is left behind;
7. no child is settled before its parent has ended, and none waits on after it was settled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from duetime.model.actions.claim import ClaimOrder
from duetime.model.actions.completion import Ending
from duetime.model.state import Outcome, State
from store.pair import Holding

Snapshot = Mapping[UUID, Mapping[str, Any]]


def is_waiting(record: Mapping[str, Any]) -> bool:
    """Whether it is a child whose parent has not ended, as far as it was told."""
    return record["state"] is State.scheduled and record["due_at"] is None


class Laws:
    """Keeps its own account of who holds what, from the answers alone."""

    def __init__(self) -> None:
        self._known: set[UUID] = set()
        self._live: dict[UUID, str] = {}
        self._done: set[tuple[UUID, str, Outcome]] = set()

    # -- what happened ---------------------------------------------------------------

    def added(self, action_id: UUID) -> None:
        self._known.add(action_id)

    def claimed(self, order: ClaimOrder, now: int, claims: Sequence[Mapping[str, Any]]) -> None:
        spans = {span.lane: span for span in order.spans}
        assert len(claims) <= order.limit
        for claim in claims:
            span = spans[claim["lane"]]
            assert span.since <= claim["due_at"] <= now + span.ahead, "law 1"
            assert claim["id"] not in self._live, "law 4"
            self._live[claim["id"]] = claim["token"]

    def ended(
        self,
        sent: Sequence[tuple[Holding, Ending]],
        before: Snapshot,
        after: Snapshot,
        accepted: set[UUID],
        expired_by: int | None,
    ) -> None:
        """`expired_by` is the time by which a rescuer's leases must have run out."""
        effective = {
            held.id: (held, ending)
            for held, ending in reversed(sent)
            if self._is_live(held, before, expired_by)
        }
        # Of two rescuers one is told: the other changed nothing.
        resent = sent if expired_by is None else ()
        earlier = {held.id for held, ending in resent if self._was_done(held, ending)}
        assert accepted == effective.keys() | earlier, "law 3"
        for held, ending in effective.values():
            del self._live[held.id]
            self._done.add((held.id, held.name, ending.outcome))
        for action_id in before.keys() - effective.keys():
            assert after[action_id] == before[action_id], "law 3"

    def _is_live(self, held: Holding, before: Snapshot, expired_by: int | None) -> bool:
        if self._live.get(held.id) != held.name:
            return False
        return expired_by is None or before[held.id]["lease_until"] <= expired_by

    def _was_done(self, held: Holding, ending: Ending) -> bool:
        return (held.id, held.name, ending.outcome) in self._done

    def settled(self, before: Snapshot, after: Snapshot, parents: Collection[UUID]) -> None:
        """All that waited for these was to be settled."""
        for action_id, child in before.items():
            ended = child["after"] not in before or before[child["after"]]["state"].finished
            expected = is_waiting(child) and ended and child["after"] in parents
            assert (after[action_id] != child) == expected, "law 7"
            assert not (expected and is_waiting(after[action_id])), "law 7"

    def pruned(self, before: Snapshot, after: Snapshot) -> None:
        gone = before.keys() - after.keys()
        assert all(before[action_id]["state"].finished for action_id in gone), "law 5"
        self._known -= gone
        self._done = {done for done in self._done if done[0] not in gone}

    # -- how it is -------------------------------------------------------------------

    def check(self, found: Sequence[Mapping[str, Any]]) -> None:
        ids = [record["id"] for record in found]
        assert len(ids) == len(set(ids)), "law 2"
        assert set(ids) == self._known, "law 5"
        for record in found:
            running = record["state"] is State.running
            assert self._live.get(record["id"]) == (record["token"] if running else None), "law 4"
            assert record["state"].finished == (record["finished_at"] is not None), "law 5"

    def check_due(
        self, found: Sequence[Mapping[str, Any]], now: int, within_reach: Collection[UUID]
    ) -> None:
        """`within_reach` is what a claim over every lane of the sweep would take."""
        for record in found:
            due = record["due_at"] is not None and record["due_at"] <= now
            if record["state"] is State.scheduled and due:
                assert record["id"] in within_reach, "law 6"
