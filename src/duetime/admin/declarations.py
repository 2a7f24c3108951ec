"""What each route of the API declares beside its endpoint: its permission before all."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from starlette.responses import Response

from duetime.errors import ConfigError
from duetime.model.access.permissions import PermissionName

# What a route needs where no permission will do.
PUBLIC: Literal["public"] = "public"
ANY_IDENTITY: Literal["any identity"] = "any identity"

Needed = PermissionName | Literal["public", "any identity"]
# What a path names, which must be there before anything is said about the body.
Subject = Literal["action", "job", "subscription"]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Coroutine[Any, Any, Response]])

DECLARATION_ATTRIBUTE = "admin_route"
READ_LIMIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers: a model of the document, or nothing, and an example."""

    description: str
    model: Any = None
    example: object = None
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDeclaration:
    """A route: what it needs, what it answers, and with which problems."""

    method: Method
    path: str
    needs: Needed
    answers: Mapping[int, Answer]
    problems: tuple[int, ...] = ()
    subject: Subject | None = None
    takes_body: bool = False
    # Whether it takes an `Idempotency-Key`, since it creates something.
    creates: bool = False
    # Whether it answers 204, or 200 to those who prefer a representation of what was changed.
    represents: bool = False
    # After how many seconds a read is given up; None for what may take longer.
    limit: float | None = None
    example: object = None
    # Whether open pages ask it again and again.
    polled: bool = False
    # Whether the path itself proves that the sender may act: no form's token is asked for.
    proven: bool = False
    # Whether there is such a route; False for what answers in place of those that there are not.
    exists: bool = True


class RouteTable:
    """The routes of a noun, in the order in which they are tried."""

    def __init__(self) -> None:
        self.endpoints: list[Callable[..., Coroutine[Any, Any, Response]]] = []

    def add(self, declaration: RouteDeclaration) -> Callable[[Endpoint], Endpoint]:
        def declare(endpoint: Endpoint) -> Endpoint:
            setattr(endpoint, DECLARATION_ATTRIBUTE, declaration)
            self.endpoints.append(endpoint)
            return endpoint

        return declare

    def read(
        self,
        path: str,
        needs: Needed,
        answer: Answer,
        *,
        subject: Subject | None = None,
        limit: float | None = READ_LIMIT_SECONDS,
    ) -> Callable[[Endpoint], Endpoint]:
        return self.add(
            RouteDeclaration(
                method="GET",
                path=path,
                needs=needs,
                answers={200: answer},
                subject=subject,
                limit=limit,
            )
        )

    def change(
        self,
        method: Method,
        path: str,
        needs: Needed,
        answers: Mapping[int, Answer],
        *,
        problems: tuple[int, ...] = (),
        subject: Subject | None = None,
        creates: bool = False,
        example: object = None,
    ) -> Callable[[Endpoint], Endpoint]:
        return self.add(
            RouteDeclaration(
                method=method,
                path=path,
                needs=needs,
                answers=answers,
                problems=problems,
                subject=subject,
                takes_body=method != "DELETE",
                creates=creates,
                represents=200 in answers and 204 in answers,
                example=example,
            )
        )


def declaration_of(endpoint: Callable[..., Any]) -> RouteDeclaration:
    """Return what an endpoint declares. ConfigError if it declares nothing: nobody would check
    who calls it."""
    declaration = getattr(endpoint, DECLARATION_ATTRIBUTE, None)
    if not isinstance(declaration, RouteDeclaration):
        name = getattr(endpoint, "__qualname__", endpoint)
        raise ConfigError(f"the route of {name} declares no permission: add it to a RouteTable")
    return declaration
