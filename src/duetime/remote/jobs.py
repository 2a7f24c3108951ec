"""The verbs of jobs over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from duetime.errors import StaleVersion
from duetime.model.actions.action import Page
from duetime.model.actions.retry import Retry
from duetime.model.jobs.bulk import JobBulk
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.jobs.view import Job
from duetime.model.recurrence.parse import to_recurrence
from duetime.model.recurrence.serialize import to_text
from duetime.remote.actions import to_action
from duetime.remote.documents import read, to_instant
from duetime.remote.http import HttpSteps
from duetime.remote.payloads import WrittenPayload
from duetime.remote.problems import PreconditionRequired
from duetime.remote.route import RemoteCall, RemoteVerb, Route

# How often an edit that names no version is tried while others edit the same job.
MAX_PUTS = 5
RETRY_FIELDS = ("attempts", "delay", "factor", "max_delay", "jitter")


def _to_job(call: RemoteCall, document: Any) -> Job:
    job = read(Job, document)
    return replace(job, payload=call.payloads.read(job.kind, job.payload))


def _to_page(call: RemoteCall, document: Any) -> Page[Job]:
    return Page([_to_job(call, item) for item in document["items"]], document["next_cursor"])


def _to_ticks(_: RemoteCall, document: Any) -> list[datetime]:
    return [to_instant(tick) for tick in document["ticks"]]


# -- edits ----------------------------------------------------------------------------------------

PUT = Route(
    method="PUT",
    path="/api/jobs/{name}",
    body=(
        *("kind", "payload", "recurrence", "tz", "starts_at", "ends_at", "misfire"),
        *("misfire_after", "overlap", "jitter", "alert_after", "priority", "queue", "retry"),
        *("timeout", "note"),
    ),
    read=_to_job,
)


def put(call: RemoteCall) -> HttpSteps[Job]:
    """Send the version of which the edit is. An edit of any version creates the job or, if it is
    there, changes it as it is then."""
    wanted = call.given(**_definition(call))
    version = call.arguments["version"]
    if version is None:
        return (yield from _put_any(wanted))
    job: Job = yield from _put_version(wanted, version)
    return job


def _definition(call: RemoteCall) -> dict[str, Any]:
    given = call.arguments
    payload: WrittenPayload = given["payload"]
    rule = to_recurrence(given["recurrence"], given["tz"])
    text = to_text(rule)
    # A rule that is no cron expression has its zones inside.
    is_json = text.startswith("{")
    return {
        "kind": payload.kind,
        "payload": payload.data,
        "recurrence": json.loads(text) if is_json else text,
        "tz": None if is_json else rule.tz,
        "misfire": Misfire.of(given["misfire"]).to_text(),
        "retry": _retry_data(given["retry"]),
    }


def _retry_data(retry: Retry | None) -> dict[str, Any] | None:
    if retry is None:
        return None
    if retry.delays is not None:
        return {"delays": list(retry.delays)}
    return {name: getattr(retry, name) for name in RETRY_FIELDS}


def _put_version(call: RemoteCall, version: int) -> HttpSteps[Job]:
    match = {"If-Match": f'"{version}"'} if version else {}
    try:
        job: Job = yield from call.send(replace(PUT, headers=match))
    except PreconditionRequired as exists:
        raise _stale(call, version, exists.state) from None
    except StaleVersion as stale:
        raise _stale(call, version, stale.state) from None
    return job


def _stale(call: RemoteCall, given: int, state: str | None) -> StaleVersion:
    found = (state or "").removeprefix("version ")
    return StaleVersion(call.arguments["name"], given, int(found) if found.isdecimal() else 0)


def _put_any(call: RemoteCall) -> HttpSteps[Job]:
    for matches in ({}, {"If-Match": "*"}) * MAX_PUTS:
        try:
            job: Job = yield from call.send(replace(PUT, headers=matches))
        except PreconditionRequired:
            continue  # It is there: change it.
        except StaleVersion as error:
            changed = error  # It was changed or removed in between.
        else:
            return job
    raise changed


def _edit(verb: str, *body: str) -> Route:
    """An edit that may be repeated: a job that is so already stays so."""
    return Route(
        method="POST",
        path=f"/api/jobs/{{name}}/{verb}",
        body=(*body, "note"),
        read=_to_job,
        represented=True,
        repeatable=True,
    )


JOBS: Mapping[str, RemoteVerb] = {
    "put": put,
    "get": Route(method="GET", path="/api/jobs/{name}", read=_to_job),
    "list": Route(
        method="GET",
        path="/api/jobs",
        query=(
            *("state", "enabled", "failing", "declared", "kind", "queue", "due_before", "q"),
            *("sort", "removed", "limit", "cursor"),
        ),
        read=_to_page,
    ),
    "runs": Route(
        method="GET",
        path="/api/jobs/{name}/runs",
        query=("limit", "before", "outcome"),
        read=lambda _, document: [read(Occurrence, item) for item in document["items"]],
    ),
    "preview": Route(
        method="GET",
        path="/api/jobs/{name}/preview",
        query=("count",),
        read=lambda _, document: [to_instant(item["tick"]) for item in document["ticks"]],
    ),
    "pause": _edit("pause", "until"),
    "resume": _edit("resume"),
    "restore": _edit("restore"),
    "bulk": Route(
        method="POST",
        path="/api/jobs/bulk",
        body=("verb", "names", "until", "note"),
        read=lambda _, document: read(JobBulk, document),
    ),
    "remove": Route(
        method="DELETE", path="/api/jobs/{name}", query=("note",), read=lambda _, __: None
    ),
    "trigger": Route(
        method="POST",
        path="/api/jobs/{name}/trigger",
        body=("note",),
        read=to_action,
        keyed=True,
    ),
    "backfill": Route(
        method="POST",
        path="/api/jobs/{name}/backfill",
        body=("start", "end", "dry_run", "note"),
        read=_to_ticks,
        keyed=True,
    ),
}
