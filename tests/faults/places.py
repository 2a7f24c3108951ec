"""Stores for campaigns: a SQLite file, or a PostgreSQL server of our own, by way of a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from faults.proxy import Proxy
from faults.stage import Place
from servers import OwnServer, open_own_server

SQLITE, POSTGRES = "sqlite", "postgres"


@contextmanager
def opened(name: str, folder: Path, *, proxied: bool = False) -> Iterator[Place]:
    """An empty store; a server is made and ended here."""
    if name == SQLITE:
        yield sqlite_place(folder)
        return
    with ExitStack() as stack:
        server = open_own_server()
        stack.callback(server.close)
        yield place_on(server, folder, stack, proxied=proxied)


def sqlite_place(folder: Path) -> Place:
    url = f"sqlite:///{folder / 'duetime.db'}"
    return Place(url, url, folder)


def place_on(server: OwnServer, folder: Path, stack: ExitStack, *, proxied: bool) -> Place:
    """In a database of its own on this server."""
    direct = server.database_url(server.create_database())
    proxy = Proxy(direct) if proxied else None
    if proxy is not None:
        stack.callback(proxy.close)
    return Place(proxy.url if proxy else direct, direct, folder, server=server, proxy=proxy)
