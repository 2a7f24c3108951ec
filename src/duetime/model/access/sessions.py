"""One-time links and sessions of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from duetime.model.access.grants import StoredGrant
from duetime.model.access.identity import Identity
from duetime.model.clock import SECOND

LINK_PREFIX, SESSION_PREFIX = "dtl", "dts"
LINK_LIFETIME = 10 * 60 * SECOND
SESSION_LIFETIME = 12 * 3600 * SECOND
SESSION_IDLE = 3600 * SECOND
# How long the store may not know that a session is in use.
SESSION_SEEN_EVERY = 60 * SECOND


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A one-time link: it opens one session, with all rights, on this machine only."""

    id: UUID
    created_at: int
    expires_at: int
    secret_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A reader of pages who has signed in. One by a key ends with the key; one by a one-time link
    (`local`) counts on this machine only."""

    id: UUID
    identity: Identity
    api_key: UUID | None
    local: bool
    created_at: int
    expires_at: int
    seen_at: int
    secret_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SessionUse:
    """A stored session that a request named, with the grants of its roles and the store's time."""

    session: StoredSession
    grants: Sequence[StoredGrant]
    now: int


def has_ended(session: StoredSession, now: int) -> bool:
    return session.expires_at <= now or session.seen_at + SESSION_IDLE <= now


def is_sight_due(use: SessionUse) -> bool:
    """Return whether it is time to record that the session is in use."""
    return use.now - use.session.seen_at >= SESSION_SEEN_EVERY


def session_end(now: int, key_expires_at: int | None) -> int:
    """Return when a session that begins now ends, whatever its use."""
    latest = now + SESSION_LIFETIME
    return latest if key_expires_at is None else min(latest, key_expires_at)


def session_snapshot(session: StoredSession) -> dict[str, object]:
    """Return what an audit entry says of a session: nothing of its secret."""
    return {"user": session.identity.user, "expires_at": session.expires_at}
