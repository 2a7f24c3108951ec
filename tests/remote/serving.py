"""Servers on free ports: of an app, and of what a test wants to be answered."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn


@contextmanager
def serving(asgi: Any, port: int = 0) -> Iterator[str]:
    """Serve an ASGI application, and yield its address."""
    with listening(port) as listener:
        # A request that waits for an action would keep the server from stopping.
        options: dict[str, Any] = {"lifespan": "off", "timeout_graceful_shutdown": 1}
        server = uvicorn.Server(uvicorn.Config(asgi, log_level="critical", **options))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def listening(port: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        # From here on, connections wait until somebody accepts them.
        listener.listen()
        yield listener


@dataclass
class Request:
    """A request as it came: its first line, its headers, its body."""

    line: str
    headers: dict[str, str]
    body: bytes


# Answers a request with these bytes; None closes the connection without an answer.
Answer = Callable[[Request], bytes | None]


@dataclass
class Stub:
    """A server that answers as a test says, and keeps what it was asked."""

    url: str
    requests: list[Request] = field(default_factory=list)


@contextmanager
def answering(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[Stub]:
    """Run a server of one thread, which answers one request on each connection."""
    with listening() as listener:
        scheme = "http" if context is None else "https"
        stub = Stub(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")
        thread = threading.Thread(target=_answer_all, args=(listener, stub, answer, context))
        thread.start()
        try:
            yield stub
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _answer_all(
    listener: socket.socket, stub: Stub, answer: Answer, context: ssl.SSLContext | None
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the test is over
        with connection:
            try:
                tls = context and context.wrap_socket(connection, server_side=True)
                _answer_one(tls or connection, stub, answer)
            except OSError:
                continue  # the client has gone, or does not trust this server


def _answer_one(connection: socket.socket, stub: Stub, answer: Answer) -> None:
    with connection, connection.makefile("rb") as reader:
        line = reader.readline().decode().strip()
        if not line:
            return
        headers = {}
        while header := reader.readline().decode().strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = reader.read(int(headers.get("content-length", "0")))
        request = Request(line, headers, body)
        stub.requests.append(request)
        answered = answer(request)
        if answered is not None:
            connection.sendall(answered)


def response(
    status: int,
    body: bytes | str = b"",
    headers: Sequence[str] = (),
    kind: str = "application/json",
) -> bytes:
    """Return the bytes of an answer after which the connection is closed."""
    content = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status} Answer",
        f"Content-Length: {len(content)}",
        f"Content-Type: {kind}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


PROBLEM = "application/problem+json"
