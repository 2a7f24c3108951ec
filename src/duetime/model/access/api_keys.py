"""API keys: an identity with a secret, of which the store keeps a hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from duetime.errors import ApiKeyNotFound, InvalidArgument
from duetime.model.access.grants import StoredGrant
from duetime.model.access.identity import KEY_USER, Identity
from duetime.model.access.secret import SecretText, is_secret, read_secret
from duetime.model.clock import SECOND, from_micros

KEY_PREFIX = "dt"
# How long the store may not know that a key was used.
USE_RECORDED_EVERY = 60 * SECOND
MAX_KEY_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class StoredApiKey:
    """A key as a store keeps it. With damaged columns, it opens nothing."""

    id: UUID
    name: str
    roles: tuple[str, ...]
    tenant: str | None
    created_at: int
    created_by: str
    expires_at: int | None
    last_used_at: int | None
    secret_hash: str = field(repr=False)
    damaged: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        return Identity(f"{KEY_USER}{self.id}", self.roles, self.tenant)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as users see it, without its secret. The name of a key whose row is damaged says so;
    the key is refused."""

    id: UUID
    name: str
    roles: tuple[str, ...]
    tenant: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """A new key. `key` is the text to send as `Authorization: Bearer`; it is not shown again."""

    id: UUID
    key: str = field(repr=False)
    name: str
    roles: tuple[str, ...]
    tenant: str | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class ApiKeyUse:
    """A stored key that a request named, with the grants of its roles and the store's time."""

    key: StoredApiKey
    grants: Sequence[StoredGrant]
    now: int


def as_api_key(stored: StoredApiKey) -> ApiKey:
    return ApiKey(
        stored.id,
        _shown_name(stored),
        stored.roles,
        stored.tenant,
        from_micros(stored.created_at),
        stored.created_by,
        _instant(stored.expires_at),
        _instant(stored.last_used_at),
    )


def _shown_name(stored: StoredApiKey) -> str:
    if not stored.damaged:
        return stored.name
    return f"{stored.name} (damaged: {', '.join(stored.damaged)})"


def as_created(stored: StoredApiKey, key: str) -> CreatedApiKey:
    expires_at = _instant(stored.expires_at)
    return CreatedApiKey(stored.id, key, stored.name, stored.roles, stored.tenant, expires_at)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def read_key(text: str) -> SecretText | None:
    """Return the id and secret of a key's text; None if it is not the text of a key."""
    return read_secret(KEY_PREFIX, text)


def opens(use: ApiKeyUse | None, given: SecretText) -> bool:
    """Return whether the secret is that of the key, and the key is neither damaged nor expired. It
    takes as long if there is no such key."""
    right = is_secret(given, None if use is None else use.key.secret_hash)
    return right and use is not None and not is_over(use.key, use.now)


def is_over(key: StoredApiKey, now: int) -> bool:
    return bool(key.damaged) or has_expired(key.expires_at, now)


def has_expired(expires_at: int | None, now: int) -> bool:
    return expires_at is not None and expires_at <= now


def is_use_due(use: ApiKeyUse) -> bool:
    """Return whether it is time to record that the key was used."""
    last = use.key.last_used_at
    return last is None or use.now - last >= USE_RECORDED_EVERY


def refuse_expired_key(new: StoredApiKey, now: int) -> None:
    """Raise InvalidArgument for a new key that nobody could use."""
    if has_expired(new.expires_at, now):
        expired = from_micros(new.expires_at or 0)
        raise InvalidArgument("expires_at", expired, "give an instant in the future")


def refuse_ended_key(key: StoredApiKey, now: int) -> None:
    """Raise ApiKeyNotFound for a key that has expired or is damaged: nobody signs in with it."""
    if is_over(key, now):
        raise ApiKeyNotFound(key.id)


def key_snapshot(key: StoredApiKey) -> dict[str, object]:
    """Return what an audit entry says of a key: nothing of its secret."""
    owner = {"name": key.name, "roles": sorted(key.roles), "tenant": key.tenant}
    return owner | {"expires_at": key.expires_at}
