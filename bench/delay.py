"""A proxy that adds latency: `python bench/delay.py HOST PORT MILLISECONDS` prints the port that it
listens on, and forwards every byte that much later, each way.

The proxy of tests/faults delays one message after another. This proxy delays messages in parallel,
as a network does.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from subprocess import PIPE, Popen
from threading import Thread
from urllib.parse import urlsplit, urlunsplit

CHUNK = 1 << 20


@contextmanager
def delayed(url: str, milliseconds: float) -> Iterator[str]:
    """Yield the URL of the same database behind the proxy."""
    parts = urlsplit(url)
    target = [parts.hostname or "127.0.0.1", str(parts.port or 5432), str(milliseconds)]
    command = [sys.executable, __file__, *target]
    with Popen(command, stdout=PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        port = int(process.stdout.readline())
        login, at, _ = parts.netloc.rpartition("@")
        try:
            yield urlunsplit(parts._replace(netloc=f"{login}{at}127.0.0.1:{port}"))
        finally:
            process.terminate()


def serve(host: str, port: int, seconds: float) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    while True:
        near, _ = listening.accept()
        far = socket.create_connection((host, port))
        for source, target in ((near, far), (far, near)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            Thread(target=carry, args=(source, target, seconds), daemon=True).start()


def carry(source: socket.socket, target: socket.socket, seconds: float) -> None:
    """Forward data in threads, since an event loop's timer has whole milliseconds."""
    under_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
    Thread(target=deliver, args=(under_way, target), daemon=True).start()
    data = b"-"
    while data:
        try:
            data = source.recv(CHUNK)
        except OSError:
            data = b""
        under_way.put((time.monotonic() + seconds, data))


def deliver(under_way: SimpleQueue[tuple[float, bytes]], target: socket.socket) -> None:
    while True:
        due, data = under_way.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            if not data:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(data)
        except OSError:
            return


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000)
