"""An exchange: a request, sent again as far as that is safe, until its answer is there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from duetime.errors import ConfigError, DuetimeError, StoreUnavailable
from duetime.model.clock import monotonic
from duetime.model.problem import PROBLEM_MEDIA_TYPE
from duetime.remote.address import ServerAddress
from duetime.remote.http import (
    MAX_RESPONSE_BYTES,
    HttpRequest,
    HttpResponse,
    HttpSteps,
    Pause,
    ReplyLost,
    RequestNotSent,
    ResponseTooLarge,
    SentRequest,
    UntrustedServer,
)
from duetime.remote.problems import error_of
from duetime.telemetry.sdk import traces
from duetime.telemetry.spans import trace_headers

# Answers of a server that is away, or of a proxy before it.
AWAY_STATUSES = frozenset({502, 503, 504})
FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 5.0


class Exchanger:
    """Makes the exchanges with one server. Each is given up after `timeout` seconds."""

    def __init__(
        self, address: ServerAddress, timeout: float, chance: Callable[[], float] = random.random
    ) -> None:
        self.address = address
        self._timeout = timeout
        self._chance = chance

    def send(self, request: HttpRequest) -> HttpSteps[HttpResponse]:
        """Return the answer to a request that was done. Raises the error that a refusal is."""
        request = _traced(request)
        deadline, pauses = monotonic() + self._timeout + request.patience, self._pauses()
        while True:
            left = deadline - monotonic()
            outcome = yield from self._try(request, max(left, 0.001))
            if isinstance(outcome, HttpResponse):
                return outcome
            error, least = outcome
            pause = max(next(pauses), least)
            if monotonic() + pause >= deadline:
                raise error
            yield Pause(pause)

    def _try(
        self, request: HttpRequest, timeout: float
    ) -> HttpSteps[HttpResponse | tuple[DuetimeError, float]]:
        """Send the request once. Return the answer; or, if it may be sent again, the error of this
        attempt and how long to wait at least."""
        try:
            response = yield SentRequest(request, timeout)
        except RequestNotSent as error:
            return self._unreachable(error), 0.0
        except ReplyLost as error:
            lost = self._reply_lost(request, error)
            if request.repeatable:
                return lost, 0.0
            raise lost from None
        except UntrustedServer as error:
            raise ConfigError(f"{self.address}: its certificate is not trusted: {error}") from None
        except ResponseTooLarge:
            raise ConfigError(
                f"{self.address} answers with more than {MAX_RESPONSE_BYTES:,} bytes: ask for "
                "less, with limit="
            ) from None
        assert isinstance(response, HttpResponse)
        if 200 <= response.status < 300:
            return response
        refusal = error_of(self.address, response)
        if request.repeatable and _is_away(response):
            return refusal, _retry_after(response)
        raise refusal

    def _pauses(self) -> Iterator[float]:
        """Yield growing pauses, with jitter, so that clients of a server that was away do not all
        come back at once."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            yield pause * (1 + self._chance()) / 2
            pause = min(pause * 2, MAX_PAUSE_SECONDS)

    def _unreachable(self, error: RequestNotSent) -> DuetimeError:
        return StoreUnavailable(
            f"{self.address} cannot be reached: {error}; nothing was sent: check the address, and "
            "that the server runs"
        )

    def _reply_lost(self, request: HttpRequest, error: ReplyLost) -> DuetimeError:
        remedy = "try again" if request.repeatable else "look whether it was done, then try again"
        return StoreUnavailable(f"{self.address} did not answer: {error}; {remedy}")


def _traced(request: HttpRequest) -> HttpRequest:
    """Return the request with the headers that tell the server in which trace it is sent."""
    headers = trace_headers() if traces() else None
    return replace(request, headers={**request.headers, **headers}) if headers else request


def _is_away(response: HttpResponse) -> bool:
    """Return whether the server, or a proxy before it, is away. A web server that is stopped
    answers 500 for what it has not ended; a 500 of the API itself is a problem document."""
    cut_off = response.status == 500 and response.media_type != PROBLEM_MEDIA_TYPE
    return cut_off or response.status in AWAY_STATUSES


def _retry_after(response: HttpResponse) -> float:
    """Return how long the server asks to wait, in seconds; 0 if it names none, or a date."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
