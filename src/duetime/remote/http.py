"""Requests and responses as values, and the steps of a verb over HTTP.

A verb is a generator that yields requests and pauses, and receives responses. `RemoteStore` drives
it, blocking or async.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

T = TypeVar("T")

MAX_RESPONSE_BYTES = 256_000_000

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What to send; `path` begins where the API is mounted.

    A `repeatable` request may be sent again after a lost reply: it changes nothing, or the server
    recognises it. `patience` is how long the server may take beyond the usual.
    """

    method: Method
    path: str
    query: Query = ()
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that is given up after `timeout` seconds."""

    request: HttpRequest
    timeout: float


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What a server answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The document; None if there is none. ValueError if it is not JSON."""
        return json.loads(self.content) if self.content else None


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait before a request is sent again."""

    seconds: float


def to_json_text(document: object) -> str:
    """Return JSON. ValueError for NaN and infinity, which it does not have."""
    return json.dumps(document, allow_nan=False)


class RequestNotSent(Exception):
    """The server could not be reached, and has seen nothing of the request."""


class ReplyLost(Exception):
    """The request may have been done, but no answer came."""


class UntrustedServer(Exception):
    """The certificate of the server is not valid for it, or is signed by nobody who is trusted."""


class ResponseTooLarge(Exception):
    """The server sends more than a client can keep."""


HttpSteps = Generator[SentRequest | Pause, HttpResponse | None, T]
