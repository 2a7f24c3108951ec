"""Paths of this host to which a reader may be sent on; everything else could lead elsewhere."""

from __future__ import annotations

from urllib.parse import quote, unquote

MAX_PATH_LENGTH = 2000
# How often a path may be encoded by those it passes.
MAX_DECODINGS = 5


def local_path(given: str | None) -> str | None:
    """Return the path with its query, encoded for a header; None unless it surely stays here."""
    if not given or len(given) > MAX_PATH_LENGTH or " " in given or not _is_plain(given):
        return None
    # Not split as a URL: what is a path to one reader of URLs is a host to another.
    path, _, _ = given.partition("?")
    if not _is_safe_path(path):
        return None
    return quote(given, safe="/:%?&=@[]!$'()*+,;~-._")


def _is_plain(text: str) -> bool:
    """Browsers remove control characters, and take a backslash for a slash."""
    return text.isprintable() and "\\" not in text


def _is_safe_path(path: str) -> bool:
    """Return whether a path is absolute and, however often it is decoded, names no host."""
    for _ in range(MAX_DECODINGS):
        steps = path.split("/")[1:]
        if not path.startswith("/") or "//" in path or not _is_plain(path):
            return False
        if ".." in steps or "." in steps:
            return False
        decoded = unquote(path)
        if decoded == path:
            return True
        path = decoded
    return False
