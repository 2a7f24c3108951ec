"""What a connected app has in the place of a store: it makes the exchanges of operations."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar, cast

from duetime.errors import ConfigError, shown
from duetime.remote.clients import HttpClients
from duetime.remote.http import (
    HttpResponse,
    HttpSteps,
    Pause,
    ReplyLost,
    RequestNotSent,
    ResponseTooLarge,
    SentRequest,
    UntrustedServer,
)
from duetime.store.flow import Flow

T = TypeVar("T")

Failure = RequestNotSent | ReplyLost | UntrustedServer | ResponseTooLarge
FAILURES = (RequestNotSent, ReplyLost, UntrustedServer, ResponseTooLarge)


# What a step came to; None at the start and after a pause.
Outcome = HttpResponse | Failure | None


@dataclass(frozen=True, slots=True)
class StepsEnd(Generic[T]):
    """The result of steps that have ended."""

    result: T


class RemoteStore:
    """Performs flows whose steps are exchanges with one server."""

    def __init__(self, clients: HttpClients) -> None:
        self._clients = clients

    async def perform(self, flow: Flow[T]) -> T:
        steps = _steps_of(flow)
        outcome: Outcome = None
        while not isinstance(step := _next_step(steps, outcome), StepsEnd):
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                outcome = None
                continue
            try:
                outcome = await self._clients.send(step)
            except FAILURES as failure:
                outcome = failure
        return step.result

    def perform_blocking(self, flow: Flow[T]) -> T:
        steps = _steps_of(flow)
        outcome: Outcome = None
        while not isinstance(step := _next_step(steps, outcome), StepsEnd):
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                outcome = None
                continue
            try:
                outcome = self._clients.send_blocking(step)
            except FAILURES as failure:
                outcome = failure
        return step.result

    def join(self, connection: object) -> NoReturn:
        raise ConfigError(
            f"connection={shown(connection)}: no transaction of yours reaches through HTTP; call "
            "the verb on an app that has the store, or after your commit"
        )

    async def aclose(self) -> None:
        await self._clients.aclose()

    def close(self) -> None:
        self._clients.close()


def _steps_of(flow: Flow[T]) -> HttpSteps[T]:
    # The operations of a connected app hold steps over HTTP in place of statements.
    return cast("HttpSteps[T]", flow.start())


def _next_step(steps: HttpSteps[T], outcome: Outcome) -> SentRequest | Pause | StepsEnd[T]:
    try:
        if isinstance(outcome, FAILURES):
            return steps.throw(outcome)
        return steps.send(outcome)
    except StopIteration as end:
        return StepsEnd(end.value)
