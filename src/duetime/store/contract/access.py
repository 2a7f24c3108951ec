"""The verbs of a store for grants, API keys, one-time links and sessions.

Each verb that changes something is audited in its transaction; no entry holds a secret or its hash.
`now` is the store's clock, as in all verbs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from uuid import UUID

from duetime.model.access.api_keys import ApiKeyUse, StoredApiKey
from duetime.model.access.grants import Authority, StoredGrant
from duetime.model.access.refusal import Refusal
from duetime.model.access.sessions import SessionUse, StoredLink, StoredSession
from duetime.model.act import Act
from duetime.model.tenant import Scope
from duetime.store.flow import Flow


class AccessContract(ABC):
    """Who may do what, as the store keeps it."""

    # -- grants ----------------------------------------------------------------------

    @abstractmethod
    def set_grant(
        self, new: StoredGrant, act: Act, authority: Authority | None = None
    ) -> Flow[StoredGrant]:
        """Store a grant, audited, and return it: if there is one for the same role, permission and
        tenant, it keeps its id, and `allowed`, `created_at` and `created_by` are replaced; if
        `allowed` is the same, nothing is changed. `created_at` is now.
        PermissionDenied if it is beyond the authority."""

    @abstractmethod
    def grants(self, roles: Collection[str] | None, tenant: Scope) -> Flow[list[StoredGrant]]:
        """Return the grants of these roles, or of all, within the tenant's scope, by role,
        permission and tenant (None first), as code points order them."""

    @abstractmethod
    def remove_grant(
        self, grant_id: UUID, tenant: Scope, act: Act, authority: Authority | None = None
    ) -> Flow[StoredGrant]:
        """Delete a grant, audited, and return it. GrantNotFound outside the tenant's scope;
        PermissionDenied if it is beyond the authority."""

    # -- API keys --------------------------------------------------------------------

    @abstractmethod
    def add_api_key(
        self, new: StoredApiKey, act: Act, authority: Authority | None = None
    ) -> Flow[StoredApiKey]:
        """Store a new key, audited, with `created_at` now. PermissionDenied if it is beyond the
        authority; InvalidArgument if it has expired already."""

    @abstractmethod
    def api_keys(self, tenant: Scope) -> Flow[list[StoredApiKey]]:
        """Return the keys within the tenant's scope, oldest first by id; expired ones, too."""

    @abstractmethod
    def use_api_key(self, key_id: UUID) -> Flow[ApiKeyUse | None]:
        """Return a key, expired or not, with the grants of its roles; None if there is none. A
        single read."""

    @abstractmethod
    def record_api_key_use(self, key_id: UUID) -> Flow[None]:
        """Set `last_used_at` to now, unless that was done within the last minute."""

    @abstractmethod
    def revoke_api_key(self, key_id: UUID, tenant: Scope, act: Act) -> Flow[StoredApiKey]:
        """Delete a key and the sessions opened with it, audited, and return it. ApiKeyNotFound
        outside the tenant's scope."""

    # -- one-time links and sessions -------------------------------------------------

    @abstractmethod
    def add_link(self, new: StoredLink, act: Act) -> Flow[StoredLink]:
        """Store a new link, audited, with `created_at` now, valid for ten minutes. Delete links
        that have expired by now."""

    @abstractmethod
    def take_link(self, link_id: UUID, secret_hash: str) -> Flow[StoredLink | None]:
        """Delete a link and return it, if it has this hash and has not expired: of several callers,
        one gets it."""

    @abstractmethod
    def add_session(self, new: StoredSession, act: Act) -> Flow[StoredSession]:
        """Store a new session, audited as a sign-in, with `created_at` and `seen_at` now; it ends
        after twelve hours, or with its key if that is sooner. Delete sessions that have ended.
        ApiKeyNotFound if its key is gone by now, or has expired."""

    @abstractmethod
    def use_session(self, session_id: UUID) -> Flow[SessionUse | None]:
        """Return a session, ended or not, with the grants of its roles; None if there is none. A
        single read."""

    @abstractmethod
    def record_session_use(self, session_id: UUID) -> Flow[None]:
        """Set `seen_at` to now, unless the session has ended."""

    @abstractmethod
    def end_session(self, session_id: UUID, act: Act) -> Flow[bool]:
        """Delete a session, audited as a sign-out. Return False if there was none."""

    @abstractmethod
    def end_sessions(self, user: str, act: Act) -> Flow[int]:
        """Delete every session of a user, each audited as a sign-out; return how many."""

    # -- refusals --------------------------------------------------------------------

    @abstractmethod
    def add_refusal(self, refusal: Refusal, act: Act) -> Flow[None]:
        """Write the audit entry of a request that was refused."""

    @abstractmethod
    def prune_audit(self, *, keep: int, limit: int) -> Flow[int]:
        """Delete up to `limit` of the oldest audit entries that are older than `keep`
        microseconds; return how many."""
