"""The handler of an occurrence's run, with the limits of a job that was created at run time."""

from __future__ import annotations

from duetime.errors import DuetimeError, UnreadableJob
from duetime.logs import get_log
from duetime.model.actions.claim import Claim
from duetime.model.actions.outcome import Released
from duetime.model.jobs.limits import RunLimits, limits_of
from duetime.registry.handlers import Handler
from duetime.registry.runtime import AppRuntime

log = get_log("duetime.worker")

# How long a run is put off whose job cannot be read because the store is away.
PAUSE_SECONDS = 1.0


class JobLimits:
    """Reads a job's limits before each run of its occurrences, so that an edit counts from the
    next run on. A job that code declares has a handler of its own, which has its limits."""

    def __init__(self, runtime: AppRuntime) -> None:
        self._store = runtime.store
        self._declared = runtime.jobs

    def apply_to(self, job: str) -> bool:
        """Return whether a job may have limits for its runs."""
        return self._declared.get(job) is None

    async def limited(self, handler: Handler, claim: Claim) -> Handler | Released:
        """Return the handler with the limits of the claim's job; Released, so that the run is put
        off, if the store cannot tell them now."""
        job = claim.job or ""
        try:
            definition = await self._store.perform(self._store.job_definition(job))
            limits = RunLimits() if definition is None else limits_of(definition)
        except (UnreadableJob, ValueError) as error:
            log.error("the retry and timeout of job %s are the handler's own: %s", job, error)
            return handler
        except DuetimeError as error:
            return Released(f"released: its job {job} could not be read: {error}", PAUSE_SECONDS)
        return handler.with_limits(limits)
