"""JSON of users (payloads, results) as text to read: indented, bounded, and safe to show.

The document is read as tokens and never as values, so that numbers of any length stay as they are
written, and nesting of any depth costs no stack. What is no JSON is shown as it is, as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from duetime.admin.pages.formats.numbers import CountedNoun, counted
from duetime.admin.pages.languages import Language
from duetime.model.safe_text import safe_json

# Of the text, and of the levels in it.
MAX_LENGTH = 20_000
MAX_DEPTH = 20
INDENT = "  "
ELLIPSIS = "…"
# A string (closed or not), a bracket or mark, or what lies between: a number or a word.
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
# At the end of a string that was cut: an escape that is not whole, after any whole ones.
CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")

MORE_BYTES: dict[Language, CountedNoun] = {
    "en": CountedNoun("more byte", "more bytes"),
    "fr": CountedNoun("octet de plus", "octets de plus"),
}


class ShownJson(NamedTuple):
    """A document as text, and how many bytes at its end the text leaves out."""

    text: str
    bytes_left: int


class Piece(NamedTuple):
    """A token of a document, the space before it in the text, and where it starts."""

    space: str
    token: str
    start: int


def pretty_json(
    document: str,
    language: Language,
    *,
    max_length: int = MAX_LENGTH,
    max_depth: int = MAX_DEPTH,
) -> str:
    """Return the document indented; what has no room is counted: `... 983,040 more bytes`."""
    shown = shown_json(document, max_length=max_length, max_depth=max_depth)
    if not shown.bytes_left:
        return shown.text
    return f"{shown.text}\n... {counted(shown.bytes_left, MORE_BYTES[language], language)}"


def shown_json(
    document: str, *, max_length: int = MAX_LENGTH, max_depth: int = MAX_DEPTH
) -> ShownJson:
    """Return as much of the document as has room; `{…}` for what is in the deepest level."""
    parts: list[str] = []
    room = max_length
    for piece in _pieces(document, max_depth):
        text = piece.space + _readable(piece.token, room)
        if len(text) > room:
            return _cut("".join(parts), piece, room, document)
        parts.append(text)
        room -= len(text)
    return ShownJson("".join(parts), 0)


def _pieces(document: str, max_depth: int) -> Iterator[Piece]:
    """Yield the tokens that are shown, and an ellipsis for those that are too deep."""
    depth = 0
    last_shown = ""
    for match in TOKEN.finditer(document):
        token = match[0]
        depth = max(depth - (token in ("}", "]")), 0)
        if depth < max_depth:
            yield Piece(_space(last_shown, token, depth), token, match.start())
            last_shown = token
        elif last_shown in ("{", "["):
            yield Piece("", ELLIPSIS, match.start())
            last_shown = ELLIPSIS
        depth += token in ("{", "[")


def _space(last_shown: str, token: str, depth: int) -> str:
    """Return what stands in the text before a token."""
    new_line = f"\n{INDENT * depth}"
    if not last_shown or token in (",", ":"):
        return ""
    if token in ("}", "]"):
        return "" if last_shown in ("{", "[", ELLIPSIS) else new_line
    return new_line if last_shown in ("{", "[", ",") else " "


def _readable(token: str, room: int) -> str:
    """Return a token for readers: letters rather than their escapes, unsafe characters escaped."""
    if token.startswith('"') and len(token) <= room:
        try:
            return safe_json(json.dumps(json.loads(token), ensure_ascii=False))
        except ValueError:
            pass
    return safe_json(token)


def _cut(text: str, piece: Piece, room: int, document: str) -> ShownJson:
    """End a text at the piece that has no room: in the middle of a string, before all else."""
    start = ""
    if piece.token.startswith('"'):
        start = CUT_ESCAPE.sub(r"\1", piece.token[: max(room - len(piece.space), 0)])
    if len(start) > 1:
        text += f"{piece.space}{safe_json(start)}{ELLIPSIS}"
    else:
        start = ""
    return ShownJson(text, _size(document[piece.start + len(start) :]))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
