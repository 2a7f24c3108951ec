"""The cursor of the next page: a position, sealed with a hash of it and of what the page was asked
for, so that it serves no other filter, order or tenant."""

from __future__ import annotations

import base64
import hashlib

from duetime.errors import InvalidArgument

HASH_LENGTH = 12


def seal(position: bytes, criteria: object) -> str:
    """Return the cursor of a position. `criteria`, whose `repr` counts, is what was asked for."""
    return base64.urlsafe_b64encode(position + _hash(position, criteria)).decode()


def unseal(cursor: str, criteria: object) -> bytes:
    """Return the position. InvalidArgument if the cursor was changed, or is of other criteria."""
    try:
        data = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, AttributeError):
        data = b""
    position = data[:-HASH_LENGTH]
    if not position:
        raise InvalidArgument("cursor", cursor, "pass the next_cursor of a page unchanged")
    if data[-HASH_LENGTH:] != _hash(position, criteria):
        raise InvalidArgument(
            "cursor",
            cursor,
            "it was changed, or belongs to another filter, sort or tenant: pass the arguments of "
            "its page again",
        )
    return position


def _hash(position: bytes, criteria: object) -> bytes:
    return hashlib.sha256(position + repr(criteria).encode()).digest()[:HASH_LENGTH]
