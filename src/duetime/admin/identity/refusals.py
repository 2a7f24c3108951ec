"""The audit entries of refused requests: some of each address's, so that nobody fills the log."""

from __future__ import annotations

from collections.abc import Callable

from duetime.admin.identity.failed_attempts import FailedAttempts
from duetime.errors import StoreUnavailable
from duetime.logs import get_log
from duetime.model.access.identity import Identity
from duetime.model.access.refusal import Refusal, RefusalReason
from duetime.model.act import Act, Source
from duetime.model.clock import Clock
from duetime.store.base import Store

log = get_log("duetime.admin")

NOBODY = "anonymous"


class Refusals:
    """Writes refusals into the audit log: ten a minute for each address."""

    def __init__(self, store: Callable[[], Store], clock: Clock) -> None:
        self._store = store
        self._written = FailedAttempts(clock)

    async def write(
        self,
        reason: RefusalReason,
        route: str,
        *,
        source: Source,
        address: str | None,
        identity: Identity | None = None,
        permission: str | None = None,
    ) -> None:
        """Write that a request to a route, named by its template, was refused. The refusal stands,
        even if the store is away."""
        if self._written.add(address) is not None:
            return
        user, tenant = (NOBODY, None) if identity is None else (identity.user, identity.tenant)
        refusal = Refusal(reason, route, permission, tenant)
        act = Act(user, None, source, address)
        try:
            await self._store().perform(self._store().add_refusal(refusal, act))
        except StoreUnavailable as error:
            log.warning("a refusal could not be written to the audit log: %s", error)
