"""Stores for campaigns: a SQLite file, or a private PostgreSQL server, perhaps with a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from faults.campaign import StoreSetup
from faults.proxy import Proxy
from servers import OwnServer, open_own_server

SQLITE, POSTGRES = "sqlite", "postgres"


@contextmanager
def open_setup(name: str, folder: Path, *, proxied: bool = False) -> Iterator[StoreSetup]:
    """Yield an empty store; a server is started and stopped here."""
    if name == SQLITE:
        yield sqlite_setup(folder)
        return
    with ExitStack() as stack:
        server = open_own_server()
        stack.callback(server.close)
        yield postgres_setup(server, folder, stack, proxied=proxied)


def sqlite_setup(folder: Path) -> StoreSetup:
    url = f"sqlite:///{folder / 'duetime.db'}"
    return StoreSetup(url, url, folder)


def postgres_setup(
    server: OwnServer, folder: Path, stack: ExitStack, *, proxied: bool
) -> StoreSetup:
    """Create a database on this server, perhaps behind a proxy."""
    direct = server.database_url(server.create_database())
    proxy = Proxy(direct) if proxied else None
    if proxy is not None:
        stack.callback(proxy.close)
    return StoreSetup(proxy.url if proxy else direct, direct, folder, server=server, proxy=proxy)
