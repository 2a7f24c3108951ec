"""Signatures of webhooks, as Standard Webhooks has them: HMAC-SHA256 by a `whsec_` secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

PREFIX = "whsec_"
KEY_BYTES = 32
MIN_KEY_BYTES, MAX_KEY_BYTES = 24, 64


def make_webhook_secret(random: Callable[[int], bytes]) -> str:
    return PREFIX + base64.b64encode(random(KEY_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the header `webhook-signature`."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.digest(read_webhook_secret(secret), signed, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def read_webhook_secret(secret: str) -> bytes:
    """Return the key of a secret. ValueError, which does not show it, if it is no such secret."""
    remedy = f"give {PREFIX} and {MIN_KEY_BYTES} to {MAX_KEY_BYTES} random bytes in base64"
    if not secret.startswith(PREFIX):
        raise ValueError(f"the secret of a webhook is not valid: {remedy}")
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raise ValueError(f"the secret of a webhook is not valid: {remedy}") from None
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise ValueError(f"the secret of a webhook has {len(key)} bytes: {remedy}")
    return key
