"""Connections to a server: those of threads, and those of each event loop. No other module knows
httpx2."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

from duetime.errors import ConfigError
from duetime.model.clock import monotonic
from duetime.remote.address import Credential, ServerAddress
from duetime.remote.http import (
    MAX_RESPONSE_BYTES,
    HttpResponse,
    ReplyLost,
    RequestNotSent,
    ResponseTooLarge,
    SentRequest,
    UntrustedServer,
    to_json_text,
)

try:
    import httpx2
except ImportError as missing:
    raise ConfigError("Duetime.connect() needs httpx2: pip install 'duetime[client]'") from missing

CONNECT_SECONDS = 5.0
# Shorter than servers keep idle connections, so that a request does not meet a closed one.
IDLE_SECONDS = 3.0
LIMITS = httpx2.Limits(
    max_connections=100, max_keepalive_connections=20, keepalive_expiry=IDLE_SECONDS
)
# Errors before anything of a request reached the server.
NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
)


@dataclass(slots=True, weakref_slot=True)
class LoopClient:
    """The connections of one event loop. They are closed when the loop ends its generators, as
    `asyncio.run` does, if nobody has closed them before."""

    client: httpx2.AsyncClient
    guard: AsyncGenerator[None]


@dataclass(slots=True)
class OpenClients:
    """The connections that one process has opened: a fork must not use those of its parent."""

    pid: int = field(default_factory=os.getpid)
    blocking: httpx2.Client | None = None
    loops: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopClient] = field(
        default_factory=WeakKeyDictionary
    )


class HttpClients:
    """Sends requests to one server, blocking or async."""

    def __init__(self, address: ServerAddress, credential: Credential) -> None:
        self._address = address
        self._credential = credential
        self._lock = threading.Lock()
        self._open = OpenClients()
        # Those of a parent process, which must not be closed here.
        self._inherited: list[OpenClients] = []
        self._encrypts = address.url.startswith("https:")

    # -- blocking --------------------------------------------------------------------

    def send_blocking(self, sent: SentRequest) -> HttpResponse:
        body = ResponseBody(sent.timeout)
        with (
            _named_failures(),
            self._blocking().stream(**self._arguments(sent)) as response,
        ):
            for chunk in response.iter_bytes():
                body.add(chunk)
            return _to_response(response, body)

    def _blocking(self) -> httpx2.Client:
        with self._lock:
            opened = self._of_this_process()
            if opened.blocking is None:
                opened.blocking = httpx2.Client(**self._options())
            return opened.blocking

    def close(self) -> None:
        with self._lock:
            client, self._of_this_process().blocking = self._of_this_process().blocking, None
        if client is not None:
            client.close()

    # -- async -----------------------------------------------------------------------

    async def send(self, sent: SentRequest) -> HttpResponse:
        body, client = ResponseBody(sent.timeout), await self._of_loop()
        try:
            async with asyncio.timeout(sent.timeout):
                with _named_failures():
                    async with client.stream(**self._arguments(sent)) as response:
                        async for chunk in response.aiter_bytes():
                            body.add(chunk)
                        return _to_response(response, body)
        except TimeoutError:
            raise ReplyLost(f"no answer within {sent.timeout:.1f} s") from None

    async def _of_loop(self) -> httpx2.AsyncClient:
        loop, loops = asyncio.get_running_loop(), self._of_this_process().loops
        found = loops.get(loop)
        if found is None:
            client = httpx2.AsyncClient(**self._options())
            found = loops[loop] = LoopClient(client, _closing_with_loop(loops, client))
            await anext(found.guard)
        return found.client

    async def aclose(self) -> None:
        self.close()
        found = self._of_this_process().loops.get(asyncio.get_running_loop())
        if found is not None:
            await found.guard.aclose()

    # -- both ------------------------------------------------------------------------

    def _of_this_process(self) -> OpenClients:
        if self._open.pid != os.getpid():
            self._inherited.append(self._open)
            self._open = OpenClients()
        return self._open

    def _options(self) -> dict[str, Any]:
        return {
            "headers": {"User-Agent": f"duetime/{version('duetime')}", "Accept": ACCEPTED},
            "limits": LIMITS,
            "follow_redirects": False,
            "verify": self._trusted,
            # A proxy of the environment must not see what is sent in clear text to this machine.
            "trust_env": self._encrypts,
        }

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        """Who is trusted to vouch for a server: whom this machine trusts, or SSL_CERT_FILE. Reading
        that takes a tenth of a second. Without encryption there is nobody to trust."""
        if self._encrypts:
            return httpx2.create_ssl_context()
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _arguments(self, sent: SentRequest) -> dict[str, Any]:
        request = sent.request
        content = None if request.body is None else to_json_text(request.body)
        typed = {} if content is None else {"Content-Type": "application/json"}
        return {
            "method": request.method,
            "url": f"{self._address.url}{request.path}",
            "params": list(request.query),
            "content": content,
            "headers": {**request.headers, **typed, **self._credential.headers()},
            "timeout": httpx2.Timeout(sent.timeout, connect=min(sent.timeout, CONNECT_SECONDS)),
        }


ACCEPTED = "application/json, application/problem+json"


class ResponseBody:
    """Gathers the body of a response, of a bounded size and within a bounded time."""

    def __init__(self, timeout: float) -> None:
        self._deadline = monotonic() + timeout
        self._timeout = timeout
        self._content = bytearray()

    def add(self, chunk: bytes) -> None:
        self._content += chunk
        if len(self._content) > MAX_RESPONSE_BYTES:
            raise ResponseTooLarge
        if monotonic() > self._deadline:
            raise ReplyLost(f"no whole answer within {self._timeout:.1f} s")

    @property
    def content(self) -> bytes:
        return bytes(self._content)


def _to_response(response: httpx2.Response, body: ResponseBody) -> HttpResponse:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpResponse(response.status_code, headers, body.content)


async def _closing_with_loop(
    loops: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopClient], client: httpx2.AsyncClient
) -> AsyncGenerator[None]:
    """Close the client when the generator is closed: by us, or by the event loop at its end."""
    try:
        yield
    finally:
        loops.pop(asyncio.get_running_loop(), None)
        await client.aclose()


@contextmanager
def _named_failures() -> Iterator[None]:
    """Raise errors of the connection as what they mean for the request. They are not chained: they
    hold the request with its token."""
    try:
        yield
    except NOT_SENT as error:
        untrusted = _certificate_error(error)
        if untrusted is not None:
            raise UntrustedServer(untrusted) from None
        raise RequestNotSent(_text(error)) from None
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise ReplyLost(_text(error)) from None


def _certificate_error(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
