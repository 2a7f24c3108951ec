"""Just enough of PostgreSQL's wire protocol to see what is asked, and what has been committed."""

from __future__ import annotations

import asyncio
import struct

# Asked before the first message, without a type: may this be encrypted?
ENCRYPTION = {80877103, 80877104}
NOT_ENCRYPTED = b"N"

QUERY, PARSE, BIND, FLUSH = b"Q", b"P", b"B", b"H"
READY, FAILED, PROCESS = b"Z", b"E", b"K"
IDLE = b"I"


async def read_opening(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """A message of the kind that has no type: what it asks for, and its bytes."""
    head = await reader.readexactly(8)
    length, code = struct.unpack("!ii", head)
    return code, head + await reader.readexactly(length - 8)


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """One whole message, its type first."""
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!i", head[1:])
    return head + await reader.readexactly(length - 4)


class Asked:
    """What one connection asks: it may name a statement once, and ask for it by name later."""

    def __init__(self) -> None:
        self.named: dict[bytes, str] = {}

    def statement(self, message: bytes) -> str:
        """The SQL that a message asks for, if any."""
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
    """Ready, and in no transaction: what was sent before it is done with."""
    return message[:1] == READY and message[5:6] == IDLE


def of_another_process(message: bytes) -> bytes:
    """As a pooler would say it: the process that can be asked to cancel is none of the server's."""
    (process,) = struct.unpack("!i", message[5:9])
    return message[:5] + struct.pack("!i", process + 1_000_000) + message[9:]
