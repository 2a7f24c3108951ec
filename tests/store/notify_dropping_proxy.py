"""A proxy to a PostgreSQL server that drops NOTIFY messages and forwards everything else."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit

NOTIFICATION_RESPONSE = b"A"
HEADER_BYTES = 5  # the message type, and the length of the rest including itself


class NotifyDroppingProxy:
    """Forwards connections to `url` until the `with` block is left."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (str(parts.hostname), parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        host, port = self._listener.getsockname()
        user = parts.netloc.rpartition("@")[0]
        # Unencrypted from the first byte, so that messages can be parsed.
        options = "sslmode=disable&gssencmode=disable"
        self.url = f"{parts.scheme}://{user}@{host}:{port}{parts.path}?{options}"

    def __enter__(self) -> "NotifyDroppingProxy":
        self._run(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _shut(*self._sockets)
        for thread in self._threads:
            thread.join()
        for sock in self._sockets:
            sock.close()

    def _run(self, relay: Callable[..., None], *sockets: socket.socket) -> None:
        def run() -> None:
            with suppress(OSError):
                relay(*sockets)
            _shut(*sockets)

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._server)
            self._sockets += [client, server]
            self._run(_forward, client, server)
            self._run(_forward_without_notifications, server, client)


def _shut(*sockets: socket.socket) -> None:
    for sock in sockets:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _forward(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(65536):
        target.sendall(data)


def _forward_without_notifications(source: socket.socket, target: socket.socket) -> None:
    with source.makefile("rb") as stream:
        while header := stream.read(HEADER_BYTES):
            body = stream.read(int.from_bytes(header[1:]) - 4)
            if header[:1] != NOTIFICATION_RESPONSE:
                target.sendall(header + body)
