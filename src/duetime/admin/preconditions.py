"""`If-Match`: an act on a job that is done only if the job still is as its sender read it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from duetime.admin.call import AdminCall
from duetime.admin.problems import RequestRefused
from duetime.api.operation import Operation
from duetime.model.jobs.change import FoundJob
from duetime.model.jobs.selectors import ByName
from duetime.model.tenant import sees
from duetime.store.flow import Flow, Mode, Steps

T = TypeVar("T")


def if_matches(call: AdminCall, if_match: str | None, operation: Operation[T]) -> Operation[T]:
    """Return an operation on the job that the path names, which is refused with 412 if `If-Match`
    was sent and names another version. The job is locked before it is looked at."""
    if if_match is None:
        return operation

    def check(found: FoundJob) -> None:
        if found.job is not None and sees(call.scope, found.job.tenant):
            refuse_stale(if_match, found.job.version)

    def steps() -> Steps[object]:
        yield from call.app.store.edit_jobs(ByName((call.job_name,), call.scope), check).start()
        return (yield from operation.flow.start())

    # Not sent again after a lost reply: its own change would make the version another one.
    return replace(operation, flow=Flow(steps, Mode.write))


def refuse_stale(if_match: str, version: int | None) -> None:
    """Raise RequestRefused unless `If-Match` names this version; None: there is no such job."""
    wanted = {tag.strip() for tag in if_match.split(",")}
    if version is None or not wanted & {"*", f'"{version}"'}:
        found = "no job" if version is None else f"version {version}"
        raise RequestRefused(
            412, "stale-version", f"If-Match is {if_match[:80]}, and there is {found}", state=found
        )
