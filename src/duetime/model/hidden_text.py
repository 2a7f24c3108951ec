"""Secrets that must not appear in texts: errors, tracebacks and logs of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextvars import ContextVar

STARS = "***"
# A line of a secret of several lines, such as a private key, is hidden if it is as long as this.
MIN_LINE_LENGTH = 8

_hidden: ContextVar[tuple[str, ...]] = ContextVar("duetime_hidden", default=())


def hide_from_texts(secrets: Iterable[str | bytes]) -> None:
    """Hide these for the rest of this context. Each run has a new context."""
    forms = {form for secret in secrets for form in _forms(secret) if form}
    # The longest first: a part of a secret may be another one.
    _hidden.set(tuple(sorted(forms, key=lambda form: (-len(form), form))))


def without_secrets(text: str) -> str:
    """Return the text without the secrets of this context."""
    for secret in _hidden.get():
        text = text.replace(secret, STARS)
    return text


def _forms(secret: str | bytes) -> Iterator[str]:
    """Yield how a secret may appear: as it is, in a repr, in JSON, and by line."""
    yield repr(secret)[2 if isinstance(secret, bytes) else 1 : -1]
    text = secret.decode(errors="replace") if isinstance(secret, bytes) else secret
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    lines = text.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= MIN_LINE_LENGTH)
