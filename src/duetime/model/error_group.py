"""Error groups: what failures have in common whose texts differ in ids and values only."""

from __future__ import annotations

import re

# Shorter than a stored error may be: where a long error was truncated, no two groups must differ.
MAX_GROUP_LENGTH = 200
VALUE = "*"

_CLASS = re.compile(r"[A-Z_]\w*(?=:|$)")
# A quote inside a word is an apostrophe. One that is never closed was cut off with the text.
_QUOTED = re.compile(
    r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*"|`[^`\n]*`)(?!\w)|(?<!\w)["'`][^"'`\n]* \[truncated]$"""
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"\b(?:0x)?[0-9a-f]{6,}\b", re.IGNORECASE)
_WITH_DIGITS = re.compile(r"\w*\d\w*")
_VALUES = re.compile(r"\*(?:[-.:/+]?\*)+")
_SPACE = re.compile(r"\s+")


def error_group(error: str) -> str:
    """Return the group of an error: its exception class, and its text with `*` in place of quoted
    parts, hexadecimal numbers and words with digits."""
    named = _CLASS.match(error)
    head = named[0] if named else ""
    text = error[len(head) :]
    for values in (_QUOTED, _UUID, _HEX, _WITH_DIGITS):
        text = values.sub(VALUE, text)
    text = _SPACE.sub(" ", _VALUES.sub(VALUE, text))
    return (head + text).strip()[:MAX_GROUP_LENGTH].rstrip()
