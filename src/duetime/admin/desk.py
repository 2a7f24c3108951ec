"""Answers the requests of one administration: admits the caller, reads the body, calls the
endpoint, and turns errors into problem documents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from duetime.admin.bodies import BODY_ALLOWANCE, MAX_BODY_BYTES, read_body, with_body
from duetime.admin.call import CALL_KEY, AdminCall, to_json_bytes
from duetime.admin.declarations import PUBLIC, RouteDeclaration
from duetime.admin.gate import Gate
from duetime.admin.problems import INTERNAL_PROBLEM, PROBLEM_MEDIA_TYPE, ProblemDocument, problem_of
from duetime.errors import DuetimeError, StoreUnavailable
from duetime.logs import get_log
from duetime.model.act import acting_from

if TYPE_CHECKING:
    from duetime.api.setup import CurrentSetup
    from duetime.app import Duetime

log = get_log("duetime.admin")

Handle = Callable[[Request], Awaitable[Response]]
# A character of a payload may take that many bytes: `\u0041`.
BYTES_PER_CHARACTER = 6


class Desk:
    """What all routes of one administration share."""

    def __init__(self, app: Duetime, setup: CurrentSetup, gate: Gate) -> None:
        self._app = app
        self._setup = setup
        self._gate = gate

    async def answer(
        self, request: Request, declaration: RouteDeclaration, handle: Handle
    ) -> Response:
        call = AdminCall(
            app=self._app,
            verbs=self._setup.now,
            request=request,
            declaration=declaration,
            access=None,
        )
        try:
            return await self._admitted(call, handle)
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - the answer must not show what it was
            return problem_response(await self._problem(call, error))

    async def _admitted(self, call: AdminCall, handle: Handle) -> Response:
        request, declaration = call.request, call.declaration
        if declaration.needs != PUBLIC:
            admission = await self._gate.admit(request, declaration)
            call.access, call.scope = admission.access, admission.scope
        if declaration.takes_body:
            call.body = await read_body(request, self._max_body(declaration))
            request = with_body(request, call.body)
        request.scope[CALL_KEY] = call
        address = None if call.access is None else call.access.address
        with acting_from("api", address):
            return await _within(declaration.limit, handle(request))

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
