"""Just enough of PostgreSQL's wire protocol to see what is asked, and what has been committed."""

from __future__ import annotations

import asyncio
import struct

# Asked before the first message, without a type: may this be encrypted?
ENCRYPTION = {80877103, 80877104}
NOT_ENCRYPTED = b"N"

QUERY, PARSE, FLUSH = b"Q", b"P", b"H"
READY, FAILED = b"Z", b"E"
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


def statement(message: bytes) -> str:
    """The SQL in a message, if it has any."""
    if message[:1] == QUERY:
        return message[5:].rstrip(b"\0").decode()
    if message[:1] == PARSE:
        _name, text, _types = message[5:].split(b"\0", 2)
        return text.decode()
    return ""


def is_committed(message: bytes) -> bool:
    """Ready, and in no transaction: what was sent before it is done with."""
    return message[:1] == READY and message[5:6] == IDLE
