"""Finds out who sent a request: by an API key, a token, the host's own means, or none."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

from duetime.admin.identity.access import Access
from duetime.admin.identity.failed_attempts import FailedAttempts
from duetime.admin.identity.oidc import Oidc
from duetime.admin.identity.request_facts import RequestFacts, address_of, is_local
from duetime.admin.identity.tokens import Tokens
from duetime.errors import InvalidArgument, NotAuthenticated, RateLimited
from duetime.model.access.api_keys import KEY_PREFIX, ApiKeyUse, is_use_due, opens, read_key
from duetime.model.access.identity import Identity, refuse_credential_name
from duetime.model.clock import Clock
from duetime.model.tenant import ANY
from duetime.store.base import Store

# The host's function: takes its own request, and says who sent it.
Identify = Callable[[Any], Identity | Awaitable[Identity | None] | None]

# The role of a developer on their own machine, and of whoever opened a one-time link: it gives all
# rights, to the access for which it was made and to no other.
LOCAL_ROLE = "local"
DEVELOPER = Identity("development", [LOCAL_ROLE])
LOCAL_ROLES = frozenset({LOCAL_ROLE})

MISSING = "send an API key or a token as `Authorization: Bearer ...`"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationOptions:
    """By what an administration knows people. With nothing given: by API keys only."""

    admin_roles: Collection[str] = ()
    oidc: Oidc | None = None
    identify: Identify | None = field(default=None, repr=False)
    development: bool = False
    trusted_proxies: Sequence[str] = ()


class RequestAuthenticator:
    """Finds out who sent a request. `store` returns the app's store at the time."""

    def __init__(
        self, store: Callable[[], Store], clock: Clock, options: AuthenticationOptions
    ) -> None:
        self._store = store
        self._identify = options.identify
        self._development = options.development
        self._admin_roles = frozenset(options.admin_roles)
        self._trusted = [ip_network(proxy) for proxy in options.trusted_proxies]
        self._tokens = None if options.oidc is None else Tokens(options.oidc, clock)
        self._failures = FailedAttempts(clock)

    async def access(self, facts: RequestFacts) -> Access:
        """Return the access of the sender. NotAuthenticated if it is nobody's; RateLimited if too
        many of this address's failed just before."""
        bearer = self._bearer(facts)
        if bearer is not None:
            return await self._by_bearer(bearer, facts)
        identity = await self._hosts_identity(facts)
        if identity is not None:
            return await self._access(identity, facts)
        if self._development and is_local(facts):
            return Access(DEVELOPER, [], LOCAL_ROLES, self.address(facts))
        raise NotAuthenticated(MISSING)

    def address(self, facts: RequestFacts) -> str | None:
        """Return the address for which the request was sent, as far as proxies are trusted."""
        return address_of(facts, self._trusted)

    async def by_key(self, text: str, facts: RequestFacts) -> ApiKeyUse:
        """Return the API key whose text this is. Raises as `access` does."""
        given = read_key(text)
        use = None
        if given is not None:
            use = await self._store().perform(self._store().use_api_key(given.id))
        if given is None or use is None or not opens(use, given):
            raise self.failed("the API key is not valid", facts)
        if is_use_due(use):
            await self._store().perform(self._store().record_api_key_use(given.id))
        return use

    def failed(self, reason: str, facts: RequestFacts) -> NotAuthenticated | RateLimited:
        """Count a failure, and return what to raise for it."""
        retry_after = self._failures.add(self.address(facts))
        return NotAuthenticated(reason) if retry_after is None else RateLimited(retry_after)

    def _bearer(self, facts: RequestFacts) -> str | None:
        """Return the bearer token that is ours to judge; others are for the host."""
        given = facts.all("authorization")
        if len(given) > 1:
            raise NotAuthenticated("send Authorization once")
        scheme, _, text = (given[0] if given else "").partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer":
            return None
        ours = text.startswith(f"{KEY_PREFIX}_") or self._tokens is not None
        return text if ours or self._identify is None else None

    async def _by_bearer(self, text: str, facts: RequestFacts) -> Access:
        if text.startswith(f"{KEY_PREFIX}_") or self._tokens is None:
            use = await self.by_key(text, facts)
            return Access(use.key.identity, use.grants, self._admin_roles, self.address(facts))
        try:
            identity = await self._tokens.identity(text)
        except NotAuthenticated as error:
            raise self.failed(error.reason, facts) from None
        return await self._access(identity, facts)

    async def _hosts_identity(self, facts: RequestFacts) -> Identity | None:
        if self._identify is None:
            return None
        found = self._identify(facts.request)
        identity = await found if inspect.isawaitable(found) else found
        try:
            return None if identity is None else refuse_credential_name(identity)
        except InvalidArgument as error:
            raise NotAuthenticated(f"the host names no valid {error.argument}") from None

    async def _access(self, identity: Identity, facts: RequestFacts) -> Access:
        grants = await self._store().perform(self._store().grants(identity.roles, ANY))
        return Access(identity, grants, self._admin_roles, self.address(facts))
