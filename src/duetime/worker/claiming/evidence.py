"""Evidence that an action is damaged, which decides whether a worker ends it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from duetime.logs import get_log

log = get_log("duetime.worker")

# An action is refused for at least this long before it counts as damaged.
PROOF_SECONDS = 1.0
# A refusal that did not come again for so long is forgotten.
FORGET_SECONDS = 3600.0


class Evidence:
    """What a worker's claims say about actions that the store refuses to claim.

    An action is damaged if the store refuses it alone, again and again, while it lets others be
    claimed. If it refuses all of them, something else is the cause, such as a constraint or a
    trigger on our tables, and all actions are left as they are.
    """

    def __init__(self) -> None:
        # When each action was first refused, and how many were claimed until then.
        self._refused_since: dict[UUID, tuple[float, int]] = {}

    def proven(self, refused: Mapping[UUID, Exception], now: float, claimed: int) -> list[UUID]:
        """Note the refused actions, and return those that are surely damaged. `claimed` is how many
        actions the worker has ever claimed."""
        recent = now - FORGET_SECONDS
        known = self._refused_since.items()
        self._refused_since = {i: first for i, first in known if first[0] > recent or i in refused}
        for action_id, error in refused.items():
            if action_id not in self._refused_since:
                log.warning("the store refuses a claim of action %s: %s", action_id, error)
                self._refused_since[action_id] = now, claimed
        return [action_id for action_id in refused if self._is_proven(action_id, now, claimed)]

    def _is_proven(self, action_id: UUID, now: float, claimed: int) -> bool:
        since, claimed_then = self._refused_since[action_id]
        return now - since >= PROOF_SECONDS and claimed > claimed_then
