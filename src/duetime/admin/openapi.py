"""The OpenAPI document of an administration, and what its routes say of themselves there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from duetime.admin.declarations import PUBLIC, Answer, RouteDeclaration
from duetime.model.problem import PROBLEM_MEDIA_TYPE, PROBLEM_MEMBERS

DESCRIPTION = """The administration of duetime: everything that must happen later.

Errors are problem documents (RFC 9457). A page is the last one only if its `next_cursor` is null.
"""
PROBLEM_TITLES: Mapping[int, str] = {
    401: "No credential, or one that is not valid",
    403: "The permission is missing",
    404: "Nothing of that name is visible to the caller",
    409: "The state found does not allow it",
    412: "The job was changed since it was read",
    413: "The body is too large",
    415: "The body is not JSON in UTF-8",
    422: "A value is not valid; `errors` names each",
    428: "The job exists: send its ETag as If-Match",
    429: "Too many failed attempts, or exports at once",
    500: "A fault of the server",
    503: "The store does not answer; try again later",
}
# What a problem document says besides of its error, by the names of Python's attributes.
_MEMBER_TYPES: Mapping[str, Any] = {
    "allowed": {"type": ["string", "array"], "items": {"type": "string"}},
    "given": {"type": "integer"},
    "found": {"type": "integer"},
}
MEMBER_SCHEMAS: Mapping[str, Any] = {
    name: {"type": "string", "description": "an attribute of the error"}
    | _MEMBER_TYPES.get(name, {})
    for name in sorted({name for names in PROBLEM_MEMBERS.values() for name in names})
}
PROBLEM_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "title": "Problem",
    "description": "Why a request was not done (RFC 9457)",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "pattern": "^urn:duetime:[a-z-]+$"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "state": {"type": "string", "description": "the state found, for 409 and 412"},
        "errors": {
            "type": "array",
            "description": "what is wrong where",
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "detail": {"type": "string"},
                    "pointer": {"type": "string", "description": "a JSON pointer into the body"},
                    "parameter": {"type": "string", "description": "of the path or the query"},
                },
            },
        },
        **MEMBER_SCHEMAS,
    },
}
PREFER: Mapping[str, Any] = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`return=representation` asks for 200 with what was changed, in place of 204",
    "schema": {"type": "string"},
}
IDEMPOTENCY_KEY: Mapping[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a text of your own for this act: a request that repeats it within 24 hours "
    "gets the first answer, and nothing is done again",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
PROBLEM_REFERENCE = {"$ref": "#/components/schemas/Problem"}


def make_document(routes: Sequence[BaseRoute], server: str) -> dict[str, Any]:
    """Return the document of the routes, whose paths begin where `server` ends."""
    document = get_openapi(
        title="duetime",
        version=version("duetime"),
        description=DESCRIPTION,
        routes=routes,
        servers=[{"url": server}],
    )
    _share_problem(document)
    return document


def _share_problem(document: dict[str, Any]) -> None:
    """Describe the problem document once: in a host's document it stands with each response."""
    document.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    for operations in document["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                content = response.get("content", {})
                if PROBLEM_MEDIA_TYPE in content:
                    content[PROBLEM_MEDIA_TYPE] = {"schema": PROBLEM_REFERENCE}


# -- one route ------------------------------------------------------------------------------------


def responses_of(declaration: RouteDeclaration) -> dict[int | str, dict[str, Any]]:
    responses: dict[int | str, dict[str, Any]] = {}
    responses |= {status: _answer(answer) for status, answer in declaration.answers.items()}
    return responses | {status: _problem(status) for status in problem_statuses(declaration)}


def problem_statuses(declaration: RouteDeclaration) -> list[int]:
    """Return every status of a problem that the route may answer with."""
    statuses = {500, 503, *declaration.problems}
    if declaration.needs != PUBLIC:
        statuses |= {401, 403, 422, 429}
    if declaration.takes_body:
        statuses |= {413, 415}
    if declaration.subject is not None:
        statuses |= {404}
    return sorted(statuses)


def extra_of(declaration: RouteDeclaration) -> dict[str, Any]:
    extra: dict[str, Any] = {"x-permission": declaration.needs}
    headers = [IDEMPOTENCY_KEY] * declaration.creates + [PREFER] * declaration.represents
    if headers:
        extra["parameters"] = headers
    if declaration.example is not None:
        content = {"application/json": {"example": declaration.example}}
        extra["requestBody"] = {"content": content}
    return extra


def _answer(answer: Answer) -> dict[str, Any]:
    described: dict[str, Any] = {"description": answer.description}
    if answer.model is not None:
        described["model"] = answer.model
    elif answer.media_type != "application/json":
        described["content"] = {answer.media_type: {"schema": {"type": "string"}}}
    if answer.example is not None:
        described["content"] = {answer.media_type: {"example": answer.example}}
    if answer.headers:
        described["headers"] = {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in answer.headers.items()
        }
    return described


def _problem(status: int) -> dict[str, Any]:
    content = {PROBLEM_MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}}
    return {"description": PROBLEM_TITLES[status], "content": content}
