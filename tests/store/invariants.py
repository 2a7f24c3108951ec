"""Invariants that hold after every step, independent of the specification:

1. nothing is claimed early;
2. nothing is materialised twice;
3. a completion uses the current token;
4. at most one claimer;
5. an action that is no longer unfinished is in the history, never in neither table;
6. nothing due is left behind;
7. no child is settled before its parent has finished, and none waits after it was settled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from duetime.model.actions.claim import ClaimOrder
from duetime.model.actions.completion import Completion
from duetime.model.state import Outcome, State
from store.store_pair import NamedClaim

Snapshot = Mapping[UUID, Mapping[str, Any]]


def is_waiting(record: Mapping[str, Any]) -> bool:
    """Whether the action is a child that has not been settled."""
    return record["state"] is State.scheduled and record["due_at"] is None


def _is_blank(records: Snapshot, done: tuple[UUID, str, Outcome]) -> bool:
    record = records[done[0]]
    ended = bool(record["state"].finished and record["token"] != done[1])
    return ended and record["payload"] == "null"


class Invariants:
    """Tracks claims by the results of verbs alone, and checks the invariants."""

    def __init__(self) -> None:
        self._known: set[UUID] = set()
        self._live: dict[UUID, str] = {}
        self._done: set[tuple[UUID, str, Outcome]] = set()

    # -- events ----------------------------------------------------------------------

    def added(self, action_id: UUID) -> None:
        self._known.add(action_id)

    def claimed(self, order: ClaimOrder, now: int, claims: Sequence[Mapping[str, Any]]) -> None:
        spans = {span.lane: span for span in order.spans}
        assert len(claims) <= order.limit
        for claim in claims:
            span = spans[claim["lane"]]
            assert span.since <= claim["due_at"] <= now + span.ahead, "invariant 1"
            assert claim["id"] not in self._live, "invariant 4"
            self._live[claim["id"]] = claim["token"]

    def completed(
        self,
        sent: Sequence[tuple[NamedClaim, Completion]],
        before: Snapshot,
        after: Snapshot,
        accepted: set[UUID],
        expired_by: int | None,
    ) -> None:
        """`expired_by` is the time by which leases must have expired if this is a rescue."""
        effective = {
            named_claim.id: (named_claim, completion)
            for named_claim, completion in reversed(sent)
            if self._is_live(named_claim, before, expired_by)
        }
        # Of two rescues only the first is reported as applied.
        resent = sent if expired_by is None else ()
        earlier = {
            named_claim.id
            for named_claim, completion in resent
            if self._was_done(named_claim, completion)
        }
        assert accepted == effective.keys() | earlier, "invariant 3"
        for named_claim, completion in effective.values():
            del self._live[named_claim.id]
            self._done.add((named_claim.id, named_claim.name, completion.outcome))
        for action_id in before.keys() - effective.keys():
            assert after[action_id] == before[action_id], "invariant 3"

    def _is_live(self, named_claim: NamedClaim, before: Snapshot, expired_by: int | None) -> bool:
        if self._live.get(named_claim.id) != named_claim.name:
            return False
        return expired_by is None or before[named_claim.id]["lease_until"] <= expired_by

    def _was_done(self, named_claim: NamedClaim, completion: Completion) -> bool:
        return (named_claim.id, named_claim.name, completion.outcome) in self._done

    def settled(self, before: Snapshot, after: Snapshot, parents: Collection[UUID]) -> None:
        """Check that all children of these finished parents were settled, and no others."""
        for action_id, child in before.items():
            ended = child["after"] not in before or before[child["after"]]["state"].finished
            expected = is_waiting(child) and ended and child["after"] in parents
            assert (after[action_id] != child) == expected, "invariant 7"
            assert not (expected and is_waiting(after[action_id])), "invariant 7"

    def pruned(self, before: Snapshot, after: Snapshot) -> None:
        gone = before.keys() - after.keys()
        assert all(before[action_id]["state"].finished for action_id in gone), "invariant 5"
        self._known -= gone
        self._done = {done for done in self._done if done[0] not in gone}

    def erased(self, after: Snapshot) -> None:
        """Forget the earlier runs of actions without any data: their completions may be unknown."""
        self._done = {
            done for done in self._done if done[0] not in after or not _is_blank(after, done)
        }

    # -- state -----------------------------------------------------------------------

    def check(self, records: Sequence[Mapping[str, Any]]) -> None:
        ids = [record["id"] for record in records]
        assert len(ids) == len(set(ids)), "invariant 2"
        assert set(ids) == self._known, "invariant 5"
        for record in records:
            running = record["state"] is State.running
            assert self._live.get(record["id"]) == (record["token"] if running else None), (
                "invariant 4"
            )
            assert record["state"].finished == (record["finished_at"] is not None), "invariant 5"

    def check_due(
        self, records: Sequence[Mapping[str, Any]], now: int, claimable: Collection[UUID]
    ) -> None:
        """`claimable` are the actions that a claim over every lane would take."""
        for record in records:
            due = record["due_at"] is not None and record["due_at"] <= now
            if record["state"] is State.scheduled and due:
                assert record["id"] in claimable, "invariant 6"
