"""What an act says on the next page: a text of the catalogue, in a cookie that only we can write.

The cookie names the text and what is filled in, and is bound to the reader as forms are.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from duetime.admin.pages.catalogue import CATALOGUE

NOTICE_SECONDS = 60
# A browser keeps cookies of up to 4,096 bytes.
MAX_NOTICE_LENGTH = 3000
MAX_VALUE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class PageNotice:
    """A text of the catalogue, and what is filled in."""

    key: str
    values: dict[str, str] = field(default_factory=dict)


def written_notice(notice: PageNotice, anchor: str) -> str:
    values = {name: value[:MAX_VALUE_LENGTH] for name, value in notice.values.items()}
    text = json.dumps([notice.key, values]).encode()
    return f"{base64.urlsafe_b64encode(text).decode().rstrip('=')}.{_mark(text, anchor)}"


def read_notice(found: Iterable[str], anchor: str) -> PageNotice | None:
    """Return the notice of this reader among the values of the cookie."""
    return next(filter(None, (_read(text, anchor) for text in found)), None)


def _read(written: str, anchor: str) -> PageNotice | None:
    encoded, _, mark = written[:MAX_NOTICE_LENGTH].partition(".")
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_")
    except (binascii.Error, ValueError):
        return None
    if not hmac.compare_digest(mark.encode(), _mark(text, anchor).encode()):
        return None
    key, values = json.loads(text)
    return PageNotice(key, values) if key in CATALOGUE else None


def _mark(text: bytes, anchor: str) -> str:
    return hmac.new(anchor.encode(), b"duetime notice " + text, hashlib.sha256).hexdigest()
