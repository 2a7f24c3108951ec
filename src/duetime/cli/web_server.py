"""The web server of `duetime serve`, which says where it listens once it does."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

from uvicorn import Config, Server

# Is called with the address at which browsers on this machine find the server.
Announce = Callable[[str], Awaitable[None]]


class WebServer(Server):
    """A server that calls `announce` as soon as it answers."""

    def __init__(self, config: Config, announce: Announce | None) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._announce is not None:
            await self._announce(self._address())

    def _address(self) -> str:
        """Return the host that was asked for, with the port, which the system may have chosen."""
        host, port = self.config.host, self.servers[0].sockets[0].getsockname()[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"
