"""The stored answer of a request that carried an idempotency key: a repeated request gets it again,
instead of acting twice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from duetime.model.clock import SECOND

ANSWER_LIFETIME = 24 * 3600 * SECOND
# How many expired answers a new one deletes.
MAX_ANSWERS_EXPIRED = 100
MAX_ANSWER_KEY_LENGTH = 255


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Which request it was: the key that its sender chose, unique by tenant, actor and route; and a
    digest of all that it asked for."""

    tenant: str | None
    by: str
    route: str
    key: str
    digest: str

    @property
    def id(self) -> str:
        """A text for the tenant, actor, route and key, of one length."""
        parts = json.dumps([self.tenant, self.by, self.route, self.key])
        return hashlib.sha256(parts.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What was answered to the first request, and the digest of what that asked for."""

    digest: str
    status: int
    location: str | None
    document: str = field(repr=False)
