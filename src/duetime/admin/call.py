"""One call of a route: who calls, on which app, and how its answer is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import Depends
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.declarations import RouteDeclaration
from duetime.admin.export_slots import ExportSlots
from duetime.admin.identity.access import Access
from duetime.errors import ActionNotFound, DuetimeError, SubscriptionNotFound
from duetime.model.tenant import ANY, Scope
from duetime.telemetry.sdk import traces
from duetime.telemetry.tracing import SPAN_OF_VERB

if TYPE_CHECKING:
    from duetime.api.setup import Setup
    from duetime.app import Duetime
    from duetime.telemetry.spans import ActSpan

CALL_KEY = "duetime.call"
# What a caller may prefer to an empty answer.
REPRESENTATION = "return=representation"


@dataclass(slots=True, kw_only=True)
class AdminCall:
    """A call that was admitted; on a public route nobody is known."""

    app: Duetime
    # The verbs of the app, as operations.
    verbs: Setup
    request: Request
    declaration: RouteDeclaration
    access: Access | None
    exports: ExportSlots
    scope: Scope = None
    body: bytes = b""
    # The span of what the route creates, where an SDK is.
    span: ActSpan | None = None

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Trace a route that creates something as the verb is traced elsewhere."""
        if not (self.declaration.creates and traces()):
            yield
            return
        verb = self.declaration.path.rpartition("/")[2]
        named = verb if verb in SPAN_OF_VERB else "schedule"
        self.span = self.app.runtime.tracing.act(named)
        with self.span.current():
            yield

    @property
    def caller(self) -> Access:
        """Who calls. Only a public route has nobody."""
        if self.access is None:
            raise LookupError(f"{self.declaration.path} is public: it has no caller")
        return self.access

    @property
    def by(self) -> str:
        return self.caller.by

    @property
    def tenant(self) -> str | None:
        """The tenant of what the call creates."""
        return None if self.scope is ANY else self.scope

    @property
    def action_id(self) -> UUID:
        """The action that the path names."""
        return self.id_or(ActionNotFound)

    def id_or(self, absent: Callable[[Any], DuetimeError]) -> UUID:
        """The id that the path names. What is no UUID is the id of nothing."""
        text: str = self.request.path_params["id"]
        try:
            return UUID(text)
        except ValueError:
            raise absent(text) from None

    @property
    def subscription_id(self) -> UUID:
        """The subscription to notifications that the path names."""
        return self.id_or(SubscriptionNotFound)

    @property
    def job_name(self) -> str:
        name: str = self.request.path_params["name"]
        return name

    async def check_subject(self) -> None:
        """Raise ActionNotFound and so on if what the path names is not there."""
        if self.declaration.subject == "action":
            await self.app.get(self.action_id, tenant=self.scope)
        elif self.declaration.subject == "job":
            await self.app.jobs.get(self.job_name, tenant=self.scope)
        elif self.declaration.subject == "subscription":
            await self.app.notifications.get(self.subscription_id, tenant=self.scope)

    def path_to(self, route: str) -> str:
        """Return a path of this API as the client sees it, with what proxies and mounts put before
        it."""
        template = self.declaration.path.replace(":path}", "}")
        own = template.format(**self.request.path_params)
        return quote(self.path_here.removesuffix(own) + route)

    @property
    def path_here(self) -> str:
        """The path of the request as the client sees it, decoded."""
        scope = self.request.scope
        root, path = scope.get("root_path", "").rstrip("/"), scope["path"]
        return path if path.startswith(f"{root}/") else f"{root}{path}"


def to_json_bytes(document: object) -> bytes:
    """Return a document as JSON: instants in ISO 8601, durations in seconds, integers whole."""
    try:
        return to_json(document, timedelta_mode="float", inf_nan_mode="strings")
    except PydanticSerializationError:
        # Stored data may hold lone surrogates, which are no UTF-8: written as escapes.
        return json.dumps(document, default=_plain).encode()


def _plain(value: object) -> Any:
    return to_jsonable_python(value, timedelta_mode="float")


def json_response(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        to_json_bytes(document), status, media_type="application/json", headers=dict(headers or {})
    )


def no_content() -> Response:
    return Response(status_code=204)


def done_response(call: AdminCall, document: object) -> Response:
    """Return 204; or 200 with the document to a caller who asks, as RFC 7240 has it, for what was
    changed."""
    preferences = ",".join(call.request.headers.getlist("prefer"))
    if REPRESENTATION not in {part.strip().lower() for part in preferences.split(",")}:
        return no_content()
    return json_response(document, headers={"Preference-Applied": REPRESENTATION})


def current_call(request: Request) -> AdminCall:
    call: AdminCall = request.scope[CALL_KEY]
    return call


Call = Annotated[AdminCall, Depends(current_call)]
