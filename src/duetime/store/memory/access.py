"""Grants, API keys, one-time links, sessions and refusals in a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar
from uuid import UUID

from duetime.errors import ApiKeyNotFound, GrantNotFound
from duetime.model.access.api_keys import (
    ApiKeyUse,
    StoredApiKey,
    is_use_due,
    key_snapshot,
    refuse_ended_key,
    refuse_expired_key,
)
from duetime.model.access.grants import Authority, StoredGrant, grant_order, grant_snapshot
from duetime.model.access.refusal import Refusal, refusal_snapshot
from duetime.model.access.sessions import (
    LINK_LIFETIME,
    SessionUse,
    StoredLink,
    StoredSession,
    has_ended,
    session_end,
    session_snapshot,
)
from duetime.model.act import Act
from duetime.model.tenant import ANY, Scope, sees
from duetime.store.flow import immediate
from duetime.store.memory.audit import MemoryAudit
from duetime.store.memory.tables import Tables


class Owned(Protocol):
    """A row that belongs to a tenant, or to none."""

    @property
    def tenant(self) -> str | None: ...


R = TypeVar("R", bound=Owned)


class MemoryAccess(MemoryAudit, ABC):
    """Who may do what."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    # -- grants ----------------------------------------------------------------------

    @immediate
    def set_grant(
        self, new: StoredGrant, act: Act, authority: Authority | None = None
    ) -> StoredGrant:
        known = self._tables.grants.values()
        if authority is not None:
            authority.refuse_grant(new.permission, new.tenant, [*known])
        place = (new.role, new.permission, new.tenant)
        before = next((g for g in known if (g.role, g.permission, g.tenant) == place), None)
        if before is not None and before.allowed == new.allowed:
            return before
        grant_id = new.id if before is None else before.id
        after = replace(new, id=grant_id, created_at=self._now(), created_by=act.by)
        self._tables.set_grant(grant_id, after)
        self._audit_grant("set", act, before, after)
        return after

    @immediate
    def grants(self, roles: Collection[str] | None, tenant: Scope) -> list[StoredGrant]:
        found = _visible_to(tenant, [*self._tables.grants.values()])
        ours = (grant for grant in found if roles is None or grant.role in roles)
        return sorted(ours, key=grant_order)

    @immediate
    def remove_grant(
        self, grant_id: UUID, tenant: Scope, act: Act, authority: Authority | None = None
    ) -> StoredGrant:
        before = self._tables.grants.get(grant_id)
        if before is None or not sees(tenant, before.tenant):
            raise GrantNotFound(grant_id)
        if authority is not None:
            known = [*self._tables.grants.values()]
            authority.refuse_grant(before.permission, before.tenant, known)
        self._tables.set_grant(grant_id, None)
        self._audit_grant("remove", act, before, None)
        return before

    def _audit_grant(
        self, verb: str, act: Act, before: StoredGrant | None, after: StoredGrant | None
    ) -> None:
        of = after or before
        if of is not None:
            snapshots = grant_snapshot(before), grant_snapshot(after)
            self._audit(verb, act, ("grant", str(of.id)), of.tenant, *snapshots)

    def _grants_of(self, roles: Collection[str]) -> list[StoredGrant]:
        ours = (grant for grant in self._tables.grants.values() if grant.role in roles)
        return sorted(ours, key=grant_order)

    # -- API keys --------------------------------------------------------------------

    @immediate
    def add_api_key(
        self, new: StoredApiKey, act: Act, authority: Authority | None = None
    ) -> StoredApiKey:
        refuse_expired_key(new, self._now())
        if authority is not None:
            authority.refuse_key(new.identity, [*self._tables.grants.values()])
        roles = tuple(sorted(new.roles))
        key = replace(new, roles=roles, created_at=self._now(), created_by=act.by)
        self._tables.set_api_key(key.id, key)
        self._audit("create", act, ("api-key", str(key.id)), key.tenant, {}, key_snapshot(key))
        return key

    @immediate
    def api_keys(self, tenant: Scope) -> list[StoredApiKey]:
        found = _visible_to(tenant, [*self._tables.api_keys.values()])
        return sorted(found, key=lambda key: key.id)

    @immediate
    def use_api_key(self, key_id: UUID) -> ApiKeyUse | None:
        key = self._tables.api_keys.get(key_id)
        return None if key is None else ApiKeyUse(key, self._grants_of(key.roles), self._now())

    @immediate
    def record_api_key_use(self, key_id: UUID) -> None:
        key = self._tables.api_keys.get(key_id)
        if key is not None and is_use_due(ApiKeyUse(key, (), self._now())):
            self._tables.set_api_key(key_id, replace(key, last_used_at=self._now()))

    @immediate
    def revoke_api_key(self, key_id: UUID, tenant: Scope, act: Act) -> StoredApiKey:
        key = self._api_key(key_id, tenant)
        for session in [*self._tables.sessions.values()]:
            if session.api_key == key_id:
                self._tables.set_session(session.id, None)
        self._tables.set_api_key(key_id, None)
        self._audit("revoke", act, ("api-key", str(key.id)), key.tenant, key_snapshot(key), {})
        return key

    def _api_key(self, key_id: UUID, tenant: Scope) -> StoredApiKey:
        key = self._tables.api_keys.get(key_id)
        if key is None or not sees(tenant, key.tenant):
            raise ApiKeyNotFound(key_id)
        return key

    # -- one-time links and sessions -------------------------------------------------

    @immediate
    def add_link(self, new: StoredLink, act: Act) -> StoredLink:
        now = self._now()
        for old in [*self._tables.links.values()]:
            if old.expires_at <= now:
                self._tables.set_link(old.id, None)
        link = replace(new, created_at=now, expires_at=now + LINK_LIFETIME)
        self._tables.set_link(link.id, link)
        after = {"expires_at": link.expires_at}
        self._audit("create", act, ("link", str(link.id)), None, {}, after)
        return link

    @immediate
    def take_link(self, link_id: UUID, secret_hash: str) -> StoredLink | None:
        link = self._tables.links.get(link_id)
        if link is None or link.secret_hash != secret_hash or link.expires_at <= self._now():
            return None
        self._tables.set_link(link_id, None)
        return link

    @immediate
    def add_session(self, new: StoredSession, act: Act) -> StoredSession:
        now = self._now()
        key = None if new.api_key is None else self._api_key(new.api_key, ANY)
        if key is not None:
            refuse_ended_key(key, now)
        for old in [*self._tables.sessions.values()]:
            if has_ended(old, now):
                self._tables.set_session(old.id, None)
        end = session_end(now, None if key is None else key.expires_at)
        session = replace(new, created_at=now, seen_at=now, expires_at=end)
        self._tables.set_session(session.id, session)
        subject, tenant = ("session", str(session.id)), session.identity.tenant
        self._audit("sign-in", act, subject, tenant, {}, session_snapshot(session))
        return session

    @immediate
    def use_session(self, session_id: UUID) -> SessionUse | None:
        session = self._tables.sessions.get(session_id)
        if session is None:
            return None
        return SessionUse(session, self._grants_of(session.identity.roles), self._now())

    @immediate
    def record_session_use(self, session_id: UUID) -> None:
        session = self._tables.sessions.get(session_id)
        if session is not None and not has_ended(session, self._now()):
            self._tables.set_session(session_id, replace(session, seen_at=self._now()))

    @immediate
    def end_session(self, session_id: UUID, act: Act) -> bool:
        session = self._tables.sessions.get(session_id)
        return bool(self._end([] if session is None else [session], act))

    @immediate
    def end_sessions(self, user: str, act: Act) -> int:
        sessions = self._tables.sessions.values()
        return self._end([s for s in sessions if s.identity.user == user], act)

    def _end(self, sessions: Sequence[StoredSession], act: Act) -> int:
        for session in sessions:
            self._tables.set_session(session.id, None)
            subject, identity = ("session", str(session.id)), session.identity
            self._audit("sign-out", act, subject, identity.tenant, {"user": identity.user}, {})
        return len(sessions)

    # -- refusals --------------------------------------------------------------------

    @immediate
    def add_refusal(self, refusal: Refusal, act: Act) -> None:
        subject, after = ("request", refusal.route), refusal_snapshot(refusal)
        self._audit("refuse", act, subject, refusal.tenant, {}, after)

    @immediate
    def prune_audit(self, *, keep: int, limit: int) -> int:
        old = self._tables.audit_before(self._now() - keep)[:limit]
        for entry in old:
            self._tables.delete_audit(entry)
        return len(old)


def _visible_to(tenant: Scope, rows: Sequence[R]) -> list[R]:
    return [row for row in rows if sees(tenant, row.tenant)]
