"""The stored answer of a request that carried an idempotency key: a repeated request gets it again,
instead of acting twice."""

from __future__ import annotations

import hashlib
import json
import re
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
    """What was answered to the first request, and the digest of what that asked for. With a damaged
    value, nothing can be answered again."""

    digest: str
    status: int
    location: str | None
    document: str = field(repr=False)

    @property
    def damaged(self) -> bool:
        """Return whether a value is none that an answer has: its row may hold anything."""
        return not (
            _is_text(_DIGEST, self.digest)
            and type(self.status) is int
            and 200 <= self.status < 300
            and (self.location is None or _is_text(_LOCATION, self.location))
            and _is_json(self.document)
        )


_DIGEST = re.compile("[0-9a-f]{64}")
# A header takes no other characters.
_LOCATION = re.compile("[!-~\xa1-\xff]+")


def _is_text(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


def _is_json(document: object) -> bool:
    try:
        json.loads(document) if isinstance(document, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(document, str)
