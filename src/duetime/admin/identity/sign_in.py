"""Signing in to pages: by an API key or a one-time link, for a session that a cookie names."""

from __future__ import annotations

import os
from collections.abc import Callable
from uuid import UUID

from duetime.admin.identity.access import Access
from duetime.admin.identity.authenticator import LOCAL_ROLE, LOCAL_ROLES, RequestAuthenticator
from duetime.admin.identity.recent_sessions import RecentSessions
from duetime.admin.identity.request_facts import RequestFacts, is_local
from duetime.errors import ApiKeyNotFound, NotAuthenticated, PermissionDenied
from duetime.model.access.identity import LINK_USER, Identity
from duetime.model.access.secret import SecretText, is_secret, make_secret, read_secret
from duetime.model.access.sessions import (
    LINK_PREFIX,
    SESSION_PREFIX,
    SessionUse,
    StoredLink,
    StoredSession,
    has_ended,
    is_sight_due,
)
from duetime.model.act import Act
from duetime.model.ids import NewId
from duetime.store.base import Store

LINK_IS_OVER = "the link was used, has expired, or was opened on another machine: make a new one"


async def make_link(store: Store, new_id: NewId, by: str) -> str:
    """Return the text of a new one-time link, which gives all rights on this machine."""
    secret = make_secret(new_id(), os.urandom)
    link = StoredLink(secret.id, 0, 0, secret.hash)
    await store.perform(store.add_link(link, Act(by, source="cli")))
    return secret.written(LINK_PREFIX)


class SignIns:
    """Opens and ends sessions. The texts of links and sessions are given out once; the store keeps
    their hashes."""

    def __init__(
        self,
        store: Callable[[], Store],
        new_id: NewId,
        authenticator: RequestAuthenticator,
        admin_roles: frozenset[str],
        required_role: str | None = None,
    ) -> None:
        self._store = store
        self._new_id = new_id
        self._authenticator = authenticator
        self._admin_roles = admin_roles
        self._required_role = required_role
        self._recent = RecentSessions(self._use)

    async def by_link(self, text: str, facts: RequestFacts) -> str:
        """Return the text of a new session. NotAuthenticated or RateLimited if the link is not
        valid, or the request not of this machine; PermissionDenied where a role is required, which
        no link gives. Then the link stays."""
        self._refuse_without_role(frozenset({LOCAL_ROLE}))
        given, link = read_secret(LINK_PREFIX, text), None
        if given is not None and is_local(facts):
            link = await self._store().perform(self._store().take_link(given.id, given.hash))
        if link is None:
            raise self._authenticator.failed(LINK_IS_OVER, facts)
        return await self._open(Identity(f"{LINK_USER}{link.id}", [LOCAL_ROLE]), facts, local=True)

    async def by_key(self, text: str, facts: RequestFacts) -> str:
        """Return the text of a new session of an API key. NotAuthenticated or RateLimited as for
        any request with that key; PermissionDenied if it has not the role that is required."""
        key = (await self._authenticator.by_key(text, facts)).key
        self._refuse_without_role(key.identity.roles)
        try:
            return await self._open(key.identity, facts, key=key.id)
        except ApiKeyNotFound:
            raise NotAuthenticated("the API key was revoked just now") from None

    async def access(self, text: str, facts: RequestFacts) -> Access | None:
        """Return the access of the reader whose session a cookie names; None if it is over."""
        given = read_secret(SESSION_PREFIX, text)
        if given is None:
            return None
        use = await self._use(given.id)
        if use is None or not self._is_open(use, given, facts):
            return None
        if is_sight_due(use):
            await self._store().perform(self._store().record_session_use(given.id))
        return self._access(use, text, facts)

    async def polled_access(self, text: str, facts: RequestFacts) -> Access | None:
        """Return the access of a reader whose open page asks what is new, by the session as it was
        up to a second ago. That is no use of the session: it may go idle meanwhile."""
        given = read_secret(SESSION_PREFIX, text)
        use = None if given is None else await self._recent.use(given.id)
        if given is None or use is None or not self._is_open(use, given, facts):
            return None
        return self._access(use, text, facts)

    async def _use(self, session_id: UUID) -> SessionUse | None:
        return await self._store().perform(self._store().use_session(session_id))

    def _access(self, use: SessionUse, text: str, facts: RequestFacts) -> Access:
        address = self._authenticator.address(facts)
        roles = LOCAL_ROLES if use.session.local else self._admin_roles
        return Access(use.session.identity, use.grants, roles, address, text)

    async def sign_out(self, text: str, facts: RequestFacts) -> None:
        """End the session that a cookie names, if it is open."""
        access, given = await self.access(text, facts), read_secret(SESSION_PREFIX, text)
        if access is not None and given is not None:
            act = self._act(access.identity, facts)
            await self._store().perform(self._store().end_session(given.id, act))

    def _refuse_without_role(self, roles: frozenset[str]) -> None:
        """Refuse a session whose reader could do nothing with it, not even end it."""
        if self._required_role is not None and self._required_role not in roles:
            raise PermissionDenied(f"role {self._required_role}")

    def _is_open(self, use: SessionUse, given: SecretText, facts: RequestFacts) -> bool:
        right = is_secret(given, use.session.secret_hash)
        here = not use.session.local or is_local(facts)
        return right and here and not has_ended(use.session, use.now)

    async def _open(
        self,
        identity: Identity,
        facts: RequestFacts,
        *,
        key: UUID | None = None,
        local: bool = False,
    ) -> str:
        secret = make_secret(self._new_id(), os.urandom)
        new = StoredSession(secret.id, identity, key, local, 0, 0, 0, secret.hash)
        act = self._act(identity, facts)
        await self._store().perform(self._store().add_session(new, act))
        return secret.written(SESSION_PREFIX)

    def _act(self, identity: Identity, facts: RequestFacts) -> Act:
        return Act(identity.user, None, "dashboard", self._authenticator.address(facts))
