"""Secrets of keys, links and sessions: `<prefix>_<id>_<secret>`, of which stores keep a hash."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

# 32 random bytes, which nobody guesses: a plain hash of them need not be slow.
SECRET_BYTES = 32
MAX_SECRET_LENGTH = 200
_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class SecretText:
    """The id and the secret that a text names."""

    id: UUID
    secret: str = field(repr=False)

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def written(self, prefix: str) -> str:
        return f"{prefix}_{self.id}_{self.secret}"


def make_secret(new_id: UUID, random: Callable[[int], bytes]) -> SecretText:
    return SecretText(new_id, random(SECRET_BYTES).hex())


def read_secret(prefix: str, text: str) -> SecretText | None:
    """Return what a text names; None if it is of another form."""
    if len(text) > MAX_SECRET_LENGTH or not text.isascii():
        return None
    start, _, rest = text.partition("_")
    identifier, _, secret = rest.partition("_")
    try:
        return SecretText(UUID(identifier), secret) if start == prefix and secret else None
    except ValueError:
        return None


def is_secret(given: SecretText, stored_hash: str | None) -> bool:
    """Return whether the secret is the stored one, in a time that does not tell how much of it is
    right, nor whether one is stored."""
    same = hmac.compare_digest(given.hash, stored_hash or _NO_HASH)
    return same and stored_hash is not None
