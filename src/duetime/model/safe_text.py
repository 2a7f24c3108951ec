"""Text from outside (errors, payloads, names) made safe to show: on one line, without characters
that a terminal or a reader of logs acts upon."""

from __future__ import annotations

import re
from collections.abc import Callable

from duetime.model.hidden_text import without_secrets

# Controls (C0 with newlines and ESC, DEL, C1), what turns the direction of text or breaks lines,
# and what cannot be encoded. Joiners stay: scripts and emoji need them.
UNSAFE = (
    "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
UNSAFE_CHARACTER = re.compile(f"[{UNSAFE}]")
# In a JSON document, newlines are our own: those in strings are escaped already.
UNSAFE_IN_JSON = re.compile(f"(?!\n)[{UNSAFE}]")
SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def safe_text(text: str) -> str:
    """Return the text on one line, with unsafe characters as escapes that can be read: `\\x1b`."""
    return text if text.isprintable() else UNSAFE_CHARACTER.sub(_escape, text)


def safe_json(document: str) -> str:
    """Return a JSON document that means what it did, with unsafe characters as JSON escapes."""
    return UNSAFE_IN_JSON.sub(_escape_json, document)


def readable(value: object, limit: int, convert: Callable[[object], str] = str) -> str:
    """Return the text of an exception or another object of a user's; never raises."""
    try:
        text = convert(value)
    except BaseException as broken:  # noqa: BLE001 - it is the user's code
        return f"(its text cannot be had: {type(broken).__name__})"
    # A str subclass may override its methods.
    return shorten(without_secrets(str.__str__(text)), limit)


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_json(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
