"""The part of the store contract that workers read of the jobs whose occurrences they run."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.jobs.job import JobDefinition
from duetime.store.flow import Flow


class JobDefinitionContract(ABC):
    """Reads definitions of jobs by name, whatever their tenant and app."""

    @abstractmethod
    def job_definition(self, name: str) -> Flow[JobDefinition | None]:
        """Return the definition of a job, removed or not; None if there is no such job.
        UnreadableJob if this version cannot read it."""
