"""Which actions a request is about: the arguments of `find`, in a query or in a body."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from duetime.admin.arguments import Instant, RequestModel, ScopeQuery
from duetime.api.find_arguments import SortArgument
from duetime.model.groups import MAX_GROUPED, GroupField

State = Literal["scheduled", "running", "succeeded", "failed", "cancelled"]
Priority = Literal["low", "normal", "high", "critical"]
Names = Annotated[list[str] | None, Field(max_length=100)]


class ActionFilter(BaseModel):
    """Matches actions by every field that is given."""

    state: Annotated[list[State] | None, Field(max_length=5)] = None
    kind: Names = None
    queue: str | None = None
    correlation_id: str | None = None
    key: str | None = None
    job: str | None = None
    error_group: str | None = None
    worker: str | None = None
    priority: Priority | None = None
    after: UUID | None = None
    parked: bool | None = None
    waiting: bool | None = None
    retrying: bool | None = None
    overdue: bool | None = None
    due_from: Instant | None = None
    due_before: Instant | None = None
    created_from: Instant | None = None
    created_before: Instant | None = None
    finished_from: Instant | None = None
    finished_before: Instant | None = None
    q: Annotated[
        str | None,
        Field(description="an id, correlation id, key or job; or 8 leading digits of an id"),
    ] = None

    def given(self) -> dict[str, Any]:
        """The arguments that were given, except the tenant."""
        return self.model_dump(exclude={"tenant"}, exclude_unset=True)


class ExportActions(ActionFilter, ScopeQuery):
    """The filter of an export."""

    by: Annotated[str | None, Field(description="who scheduled it")] = None


class FindActions(ExportActions):
    """The filter of a page of actions."""

    sort: SortArgument | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


class GroupActions(ActionFilter, ScopeQuery):
    """What to count, among which actions."""

    by: GroupField = "error"
    most: Annotated[int, Field(ge=1, le=MAX_GROUPED)] = MAX_GROUPED


class BulkFilter(ActionFilter, RequestModel):
    """The actions of a bulk."""

    by: str | None = None
