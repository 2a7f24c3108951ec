"""The definition of a job, for all SQL stores."""

from __future__ import annotations

from abc import ABC
from typing import cast

from duetime.errors import UnreadableJob, UnreadableRow
from duetime.model.jobs.job import JobDefinition
from duetime.model.jobs.serialize import of_text
from duetime.store.contract.job_definitions import JobDefinitionContract
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.records import UNREADABLE_ERRORS
from duetime.store.sql.statements.bulk_rows import json_param


class JobDefinitionFlows(JobDefinitionContract, ABC):
    """The flow of `job_definition`."""

    @flow(Mode.read)
    def job_definition(self, name: str) -> Steps[JobDefinition | None]:
        try:
            found = yield Statement("job_records", {"names": json_param([name])})
            return of_text(cast("str", found[0][0])).definition if found else None
        except (UnreadableRow, *UNREADABLE_ERRORS):
            raise UnreadableJob(name) from None
