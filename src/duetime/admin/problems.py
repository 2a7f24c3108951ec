"""Problem documents (RFC 9457): what an error of duetime, or a refused request, is over HTTP."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from duetime import errors
from duetime.errors import DuetimeError
from duetime.model.problem import PROBLEM_TYPE, problem_members, problem_name

RETRY_AFTER_SECONDS = "5"

# The status of each error, found by its class or the nearest base class. An error that is not
# here is a fault of the server.
STATUS_OF_ERROR: Mapping[type[DuetimeError], int] = {
    errors.ActionNotFound: 404,
    errors.JobNotFound: 404,
    errors.ApiKeyNotFound: 404,
    errors.GrantNotFound: 404,
    errors.SubscriptionNotFound: 404,
    errors.NotAuthenticated: 401,
    errors.PermissionDenied: 403,
    errors.RateLimited: 429,
    errors.IllegalState: 409,
    errors.StaleVersion: 412,
    errors.UnreadableJob: 409,
    errors.DuplicateKey: 409,
    errors.JobNameTaken: 409,
    errors.LeaseLost: 409,
    errors.UnknownKind: 422,
    errors.InvalidPayload: 422,
    errors.InvalidArgument: 422,
    errors.StoreUnavailable: 503,
}

# Texts of errors that speak of Python's arguments, as a client of the API should read them.
ABSENT_ACTION = (
    "no such action is visible to you: it was never scheduled, was pruned after its retention, or "
    "belongs to another tenant"
)
ABSENT_JOB = (
    "no such job is visible to you: it was never put, no worker that declares it has run yet, it "
    "was removed (restore it), or it belongs to another tenant"
)
UNAVAILABLE_STORE = "the store does not answer; what was committed stays committed: try again"

InvalidPart = dict[str, str]


@dataclass(frozen=True, slots=True)
class ProblemDocument:
    """Why a request was not done: the members of a problem document, and headers to send."""

    status: int
    name: str
    detail: str | None = None
    errors: Sequence[InvalidPart] = ()
    state: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # Attributes of the error, by name.
    members: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "type": f"{PROBLEM_TYPE}{self.name}",
            "title": self.name.replace("-", " ").capitalize(),
            "status": self.status,
        }
        if self.detail is not None:
            document["detail"] = self.detail
        if self.errors:
            document["errors"] = list(self.errors)
        if self.state is not None:
            document["state"] = self.state
        return document | dict(self.members)


class RequestRefused(Exception):
    """The request breaks a rule of HTTP or of the API, before any verb was called."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        *,
        state: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = ProblemDocument(status, name, detail, state=state, headers=headers or {})


class InvalidItem(Exception):
    """An item of a list in the body is not valid; `pointer` leads to the item."""

    def __init__(self, pointer: str, error: DuetimeError) -> None:
        super().__init__(f"{pointer}: {error}")
        self.pointer = pointer
        self.error = error


INTERNAL_PROBLEM = ProblemDocument(500, "internal-error", "the server's log says more")


def problem_of(
    error: Exception, *, in_body: bool = False, in_path: Collection[str] = ()
) -> ProblemDocument:
    """Return the problem of an error. `in_body` says that arguments came from the body, not from
    the query, except those named `in_path`."""
    match error:
        case RequestRefused():
            return error.problem
        case InvalidItem():
            return _moved(problem_of(error.error, in_body=True), error.pointer)
        case RequestValidationError():
            return _invalid_request(error)
        case errors.InvalidPayload():
            return _invalid_payload(error)
        case errors.InvalidArgument():
            return _invalid_argument(error, in_body and error.argument not in in_path)
        case DuetimeError():
            return _known_problem(error)
        case _:
            return INTERNAL_PROBLEM


def status_of(error: type[DuetimeError]) -> int:
    known = (STATUS_OF_ERROR[base] for base in error.__mro__ if base in STATUS_OF_ERROR)
    return next(known, 500)


def _known_problem(error: DuetimeError) -> ProblemDocument:
    status = status_of(type(error))
    if status == 500:
        return INTERNAL_PROBLEM
    state = getattr(error, "state", None)
    parts = [_part(("body", "kind"), str(error))] if isinstance(error, errors.UnknownKind) else []
    return ProblemDocument(
        status,
        problem_name(type(error)),
        _detail(error),
        parts,
        state,
        _headers(error, status),
        problem_members(error),
    )


def _headers(error: DuetimeError, status: int) -> Mapping[str, str]:
    if isinstance(error, errors.RateLimited):
        return {"Retry-After": str(math.ceil(error.retry_after))}
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": RETRY_AFTER_SECONDS} if status == 503 else {}


def _detail(error: DuetimeError) -> str:
    if isinstance(error, errors.ActionNotFound):
        return ABSENT_ACTION
    if isinstance(error, errors.JobNotFound):
        return ABSENT_JOB
    if isinstance(error, errors.StoreUnavailable):
        return UNAVAILABLE_STORE
    return str(error)


def _invalid_request(error: RequestValidationError) -> ProblemDocument:
    parts = [_part(item["loc"], item["msg"]) for item in error.errors()]
    return ProblemDocument(422, problem_name(errors.InvalidArgument), _summary(parts), parts)


def _invalid_payload(error: errors.InvalidPayload) -> ProblemDocument:
    cause = error.__cause__
    parts = [{"detail": error.reason, "pointer": "#/payload"}]
    if isinstance(cause, ValidationError):
        found = cause.errors(include_url=False, include_context=False, include_input=False)
        parts = [_part(("body", "payload", *item["loc"]), item["msg"]) for item in found]
    members = problem_members(error)
    return ProblemDocument(422, problem_name(type(error)), _summary(parts), parts, members=members)


def _invalid_argument(error: errors.InvalidArgument, in_body: bool) -> ProblemDocument:
    part = _part(("body" if in_body else "query", error.argument), str(error))
    members = problem_members(error)
    return ProblemDocument(422, problem_name(type(error)), str(error), [part], members=members)


def _moved(problem: ProblemDocument, pointer: str) -> ProblemDocument:
    """Return the problem of an item as one of the body that holds it."""
    parts = [
        part | {"pointer": part["pointer"].replace("#", f"#{pointer}", 1)}
        for part in problem.errors
    ]
    return replace(problem, errors=parts, detail=_summary(parts))


def _part(location: Iterable[object], detail: str) -> InvalidPart:
    """Return what is wrong at a place: in the body at a JSON pointer, elsewhere at a parameter."""
    place, *steps = location
    if place == "body":
        return {"detail": detail, "pointer": "#" + "".join(f"/{_escaped(step)}" for step in steps)}
    return {"detail": detail, "parameter": ".".join(map(str, steps)) or str(place)}


def _escaped(step: object) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def _summary(parts: Sequence[InvalidPart]) -> str:
    named = [f"{part.get('pointer') or part.get('parameter')}: {part['detail']}" for part in parts]
    more = f"; and {len(named) - 3} more" if len(named) > 3 else ""
    return "; ".join(named[:3]) + more
