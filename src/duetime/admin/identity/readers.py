"""Who reads a page: by a session, or by whatever else the administration knows people by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from duetime.admin.identity.access import Access
from duetime.admin.identity.authenticator import RequestAuthenticator
from duetime.admin.identity.cookies import SESSION_COOKIE, Cookies, connection_of
from duetime.admin.identity.request_facts import RequestFacts
from duetime.admin.identity.sign_in import SignIns

# Mount points rarely lie deeper within each other; each session is a read of the store.
MAX_SESSIONS_TRIED = 3

FindBySession = Callable[[str, RequestFacts], Awaitable[Access | None]]


class Readers:
    """Finds the readers of the pages of one administration. Only pages ask here: under /api no
    cookie counts."""

    def __init__(
        self, authenticator: RequestAuthenticator, sign_ins: SignIns, base_url: str | None
    ) -> None:
        self._authenticator = authenticator
        self._sign_ins = sign_ins
        self._base_url = base_url

    async def access(self, facts: RequestFacts) -> Access:
        """Return the access of the reader: of the first session that is open, or as for requests
        to the API."""
        return await self._by_session(facts, self._sign_ins.access)

    async def _by_session(self, facts: RequestFacts, find: FindBySession) -> Access:
        for text in self._session_texts(facts):
            access = await find(text, facts)
            if access is not None:
                return access
        return await self._authenticator.access(facts)

    def address(self, facts: RequestFacts) -> str | None:
        return self._authenticator.address(facts)

    def _session_texts(self, facts: RequestFacts) -> list[str]:
        cookies = Cookies(connection_of(facts, self._base_url), "")
        if not cookies.carry_sessions:
            return []
        return cookies.found(facts, SESSION_COOKIE)[:MAX_SESSIONS_TRIED]


class PollingReaders(Readers):
    """Finds the readers of pages that are open and ask what is new."""

    async def access(self, facts: RequestFacts) -> Access:
        """Return the access of the reader, whose session was looked up in the last second."""
        return await self._by_session(facts, self._sign_ins.polled_access)
