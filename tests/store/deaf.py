"""A way to a PostgreSQL server on which notices are lost, and nothing else."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit

NOTICE = b"A"
HEAD = 5  # a letter, and the length of the message with itself


class Deaf:
    """Relays connections at `url` until the `with` ends."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (str(parts.hostname), parts.port or 5432)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = [self._door]
        self._threads: list[threading.Thread] = []
        host, port = self._door.getsockname()
        user = parts.netloc.rpartition("@")[0]
        # Unencrypted from the first byte, so that messages can be told apart.
        options = "sslmode=disable&gssencmode=disable"
        self.url = f"{parts.scheme}://{user}@{host}:{port}{parts.path}?{options}"

    def __enter__(self) -> "Deaf":
        self._run(self._open)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _shut(*self._ends)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()

    def _run(self, relay: Callable[..., None], *ends: socket.socket) -> None:
        def until_it_ends() -> None:
            with suppress(OSError):
                relay(*ends)
            _shut(*ends)

        self._threads.append(threading.Thread(target=until_it_ends, daemon=True))
        self._threads[-1].start()

    def _open(self) -> None:
        while True:
            client, _ = self._door.accept()
            server = socket.create_connection(self._server)
            self._ends += [client, server]
            self._run(_pass_on, client, server)
            self._run(_pass_on_but_notices, server, client)


def _shut(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(65536):
        target.sendall(data)


def _pass_on_but_notices(source: socket.socket, target: socket.socket) -> None:
    with source.makefile("rb") as stream:
        while head := stream.read(HEAD):
            body = stream.read(int.from_bytes(head[1:]) - 4)
            if head[:1] != NOTICE:
                target.sendall(head + body)
