"""The filter of `find`, and the cursor of its next page."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.state import State
from duetime.model.tenant import ANY, Scope
from duetime.model.validation import check_count

MAX_PAGE_SIZE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Matches actions by every field that is not None; newest action first."""

    state: State | None = None
    kind: str | None = None
    queue: str | None = None
    correlation_id: str | None = None
    key: str | None = None
    tenant: Scope = ANY
    due_from: int | None = None
    due_before: int | None = None
    before: UUID | None = None
    limit: int = 50


def page_limit(limit: int) -> int:
    return check_count("limit", limit, MAX_PAGE_SIZE)


def to_cursor(last: UUID) -> str:
    return base64.urlsafe_b64encode(last.bytes).decode().rstrip("=")


def from_cursor(cursor: str | None) -> UUID | None:
    if cursor is None:
        return None
    try:
        return UUID(bytes=base64.urlsafe_b64decode(cursor + "=="))
    except (ValueError, TypeError, binascii.Error):
        raise InvalidArgument(
            "cursor", cursor, "pass the next_cursor of a page unchanged"
        ) from None
