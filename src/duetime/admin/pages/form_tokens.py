"""The token of a form: what only a page that we have shown to this reader can send."""

from __future__ import annotations

import hashlib
import hmac
import os
import re

ANCHOR = re.compile(r"[0-9a-f]{64}")


def new_anchor() -> str:
    """Return a random text, to be kept in a cookie, for readers without a session."""
    return os.urandom(32).hex()


def form_token(anchor: str) -> str:
    """Return the token of forms of the reader whom a session or such a cookie names."""
    return hmac.new(anchor.encode(), b"duetime form", hashlib.sha256).hexdigest()


def is_form_token(given: str, anchor: str) -> bool:
    return hmac.compare_digest(given.encode(), form_token(anchor).encode())
