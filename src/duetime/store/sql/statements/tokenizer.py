"""Splits SQL into the tokens that the loader handles; quoted text is left untouched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal[
    "comment", "quoted", "fragment", "parameter", "word", "newline", "semicolon", "other"
]

_TOKEN = re.compile(
    r"""
      (?P<comment>   --[^\n]* | /\*.*?\*/ )
    | (?P<quoted>    '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<fragment>  \{\{\w+\}\} )
    | (?P<parameter> (?<!:):[A-Za-z_]\w* )
    | (?P<word>      [A-Za-z_][\w$]* )
    | (?P<newline>   \n )
    | (?P<semicolon> ; )
    | (?P<other>     . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str


def tokenize(sql: str) -> Iterator[Token]:
    """Yield the tokens of `sql` in order; every character belongs to exactly one token."""
    for match in _TOKEN.finditer(sql):
        kind = next(name for name in match.re.groupindex if name != "tag" and match[name])
        if kind == "other" and match[0] in "'\"":
            line = sql.count("\n", 0, match.start()) + 1
            raise ValueError(f"a quote opened in line {line} is never closed")
        yield Token(cast("Kind", kind), match[0])
