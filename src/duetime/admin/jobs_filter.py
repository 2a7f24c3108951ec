"""Which jobs a request is about: the arguments of `jobs.list`, in a query."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from duetime.admin.arguments import Instant
from duetime.api.job_list_arguments import JobSortArgument


class JobsFilter(BaseModel):
    """Matches jobs by every field that is given, and says in which order."""

    state: Literal["scheduled", "running", "paused", "retired"] | None = None
    enabled: bool | None = None
    failing: bool | None = None
    declared: bool | None = None
    kind: str | None = None
    queue: str | None = None
    due_before: Instant | None = None
    q: Annotated[str | None, Field(description="a part of the name")] = None
    sort: JobSortArgument = "name"
