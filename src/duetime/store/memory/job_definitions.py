"""The definition of a job of a MemoryStore."""

from __future__ import annotations

from abc import ABC

from duetime.model.jobs.job import JobDefinition
from duetime.store.contract.job_definitions import JobDefinitionContract
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryJobDefinitions(JobDefinitionContract, ABC):
    """`job_definition`."""

    _tables: Tables

    @immediate
    def job_definition(self, name: str) -> JobDefinition | None:
        job = self._tables.jobs.get(name)
        return None if job is None else job.definition
