"""The part of PostgreSQL's wire protocol that shows statements and commits."""

from __future__ import annotations

import asyncio
import struct

# Codes of requests for encryption, sent before the first typed message.
ENCRYPTION = {80877103, 80877104}
NOT_ENCRYPTED = b"N"

QUERY, PARSE, BIND, FLUSH = b"Q", b"P", b"B", b"H"
READY, FAILED, PROCESS = b"Z", b"E", b"K"
IDLE = b"I"


async def read_opening(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read a message without a type; return its code and its bytes."""
    head = await reader.readexactly(8)
    length, code = struct.unpack("!ii", head)
    return code, head + await reader.readexactly(length - 8)


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """Read one whole message, beginning with its type."""
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!i", head[1:])
    return head + await reader.readexactly(length - 4)


class StatementReader:
    """Reads the statements of one connection, and remembers prepared statements by name."""

    def __init__(self) -> None:
        self.named: dict[bytes, str] = {}

    def statement(self, message: bytes) -> str:
        """Return the SQL that a message executes or prepares, or an empty string."""
        if message[:1] == QUERY:
            return message[5:].rstrip(b"\0").decode()
        if message[:1] == PARSE:
            name, text, _types = message[5:].split(b"\0", 2)
            if name:
                self.named[name] = text.decode()
            return text.decode()
        if message[:1] == BIND:
            _portal, name, _values = message[5:].split(b"\0", 2)
            return self.named.get(name, "")
        return ""


def is_committed(message: bytes) -> bool:
    """Whether the server is ready outside a transaction, so that all before is committed."""
    return message[:1] == READY and message[5:6] == IDLE


def of_another_process(message: bytes) -> bytes:
    """Replace the backend process id by an unknown one, as a pooler does."""
    (process,) = struct.unpack("!i", message[5:9])
    return message[:5] + struct.pack("!i", process + 1_000_000) + message[9:]
