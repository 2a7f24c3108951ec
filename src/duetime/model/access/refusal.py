"""A refused request, as the audit log names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Why a request was refused: its credential, its rights, or too many failures before it.
RefusalReason = Literal["credential", "permission", "rate"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why and what was refused. `route` is the template of the route, never a path that was sent;
    `tenant` that of the identity."""

    reason: RefusalReason
    route: str
    permission: str | None = None
    tenant: str | None = None


def refusal_snapshot(refusal: Refusal) -> dict[str, object]:
    """Return what an audit entry says of a refused request."""
    return {"reason": refusal.reason, "permission": refusal.permission}
