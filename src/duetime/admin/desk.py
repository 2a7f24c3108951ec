"""Answers the requests of one administration: admits the caller, reads the body, calls the
endpoint, and turns errors into problem documents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from duetime.admin.bodies import BODY_ALLOWANCE, MAX_BODY_BYTES, read_body, with_body
from duetime.admin.call import CALL_KEY, AdminCall, to_json_bytes
from duetime.admin.declarations import PUBLIC, RouteDeclaration
from duetime.admin.export_slots import ExportSlots
from duetime.admin.gate import Gate
from duetime.admin.problems import INTERNAL_PROBLEM, ProblemDocument, problem_of
from duetime.errors import DuetimeError, StoreUnavailable
from duetime.logs import get_log
from duetime.model.act import Source, acting_from
from duetime.model.problem import PROBLEM_MEDIA_TYPE
from duetime.telemetry.spans import of_request

if TYPE_CHECKING:
    from duetime.api.setup import CurrentSetup
    from duetime.app import Duetime

log = get_log("duetime.admin")

Handle = Callable[[Request], Awaitable[Response]]
# A character of a payload may take that many bytes: `\u0041`.
BYTES_PER_CHARACTER = 6


class Desk:
    """What all routes of one administration share."""

    source: ClassVar[Source] = "api"

    def __init__(self, app: Duetime, setup: CurrentSetup, gate: Gate) -> None:
        self._app = app
        self._setup = setup
        self._gate = gate
        self._exports = ExportSlots()

    async def answer(
        self, request: Request, declaration: RouteDeclaration, handle: Handle
    ) -> Response:
        return await self._answered(AdminCall(**self._shared(request, declaration)), handle)

    def _shared(self, request: Request, declaration: RouteDeclaration) -> dict[str, Any]:
        """Return what every call has."""
        return {
            "app": self._app,
            "verbs": self._setup.now,
            "request": request,
            "declaration": declaration,
            "access": None,
            "exports": self._exports,
        }

    async def _answered(self, call: AdminCall, handle: Handle) -> Response:
        try:
            return await self._admitted(call, handle)
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - the answer must not show what it was
            return await self._refused(call, error)

    async def _admitted(self, call: AdminCall, handle: Handle) -> Response:
        declaration = call.declaration
        if declaration.needs != PUBLIC:
            admission = await self._gate.admit(call.request, declaration)
            call.access, call.scope = admission.access, admission.scope
        request = await self._read(call)
        request.scope[CALL_KEY] = call
        address = None if call.access is None else call.access.address
        with acting_from(self.source, address), of_request(call.request.headers), call.traced():
            return await _within(declaration.limit, handle(request))

    async def _read(self, call: AdminCall) -> Request:
        """Read the body; return the request, from which it can be read again."""
        if not call.declaration.takes_body:
            return call.request
        call.body = await read_body(call.request, self._max_body(call.declaration))
        return with_body(call.request, call.body)

    async def _refused(self, call: AdminCall, error: Exception) -> Response:
        return problem_response(await self._problem(call, error))

    def _max_body(self, declaration: RouteDeclaration) -> int:
        alone = BYTES_PER_CHARACTER * self._app.settings.max_payload + BODY_ALLOWANCE
        return max(MAX_BODY_BYTES, alone) if declaration.path.endswith("/many") else alone

    async def _problem(self, call: AdminCall, error: Exception) -> ProblemDocument:
        problem = problem_of(
            error, in_body=call.declaration.takes_body, in_path=call.request.path_params
        )
        if problem.status == 422 and call.declaration.subject is not None:
            # That there is no such thing is said before what is wrong with the request about it.
            try:
                await call.check_subject()
            except DuetimeError as absent:
                problem = problem_of(absent)
        if problem is INTERNAL_PROBLEM:
            log.error("%s failed", call.declaration.path, exc_info=error)
        return problem


async def _within(limit: float | None, answer: Awaitable[Response]) -> Response:
    """Return the answer. StoreUnavailable if a read takes longer than its limit."""
    try:
        async with asyncio.timeout(limit):
            return await answer
    except TimeoutError:
        raise StoreUnavailable(f"the read took longer than {limit:g} s") from None


def problem_response(problem: ProblemDocument) -> Response:
    return Response(
        to_json_bytes(problem.document()),
        problem.status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers=dict(problem.headers),
    )
