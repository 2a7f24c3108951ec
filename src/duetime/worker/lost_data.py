"""Work around rows of which the store has lost long values, as a damaged disk loses them."""

from __future__ import annotations

from dataclasses import replace

from duetime.errors import UnreadableRow
from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.actions.claim import Fence
from duetime.model.jobs.change import JobEdit, JobEditResult
from duetime.model.jobs.selectors import JobSearch
from duetime.store.base import Store

log = get_log("duetime.worker")


async def drop_lost_data(store: Store, fence: Fence) -> bool:
    """Drop the data of a running action if the store cannot read its row, so that the row can be
    moved to history. Return False if it can, or if the fence is stale."""
    if await store.perform(store.is_readable(fence.id)):
        return False
    return await store.perform(store.drop_data(fence))


class JobEditor:
    """Edits the jobs that a search finds. One that the store cannot read must not stop the others:
    it is left out, and named in the log once."""

    def __init__(self, store: Store, outbox_store: OutboxStore) -> None:
        self._store = store
        self._outbox_store = outbox_store
        self._logged: frozenset[str] = frozenset()

    async def edit(self, which: JobSearch, decide: JobEdit) -> JobEditResult:
        try:
            return await self._store.perform(self._outbox_store.edit_jobs(which, decide))
        except UnreadableRow as error:
            lost = await self._store.perform(self._store.lost_jobs(which.app))
            if lost <= which.excluded_names:
                raise
            for name in sorted(lost - self._logged):
                log.error("job %s is left out, since its row is damaged: %s", name, error)
            self._logged |= lost
        return await self.edit(replace(which, excluded_names=which.excluded_names | lost), decide)
