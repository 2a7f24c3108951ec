"""Statements that would end a transaction, known by their text before they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from duetime.store.sql.statements.tokenizer import tokenize
from duetime.store.transaction import OwnCommit

SUSPECT = re.compile(r"\b(commit|end|abort|rollback|prepare)\b", re.IGNORECASE)
NOISE = {"work", "transaction"}


def refuse_ending(text: str) -> None:
    if SUSPECT.search(text) and _ends(text):
        raise OwnCommit


def _ends(text: str) -> bool:
    try:
        statements = list(_openings(text))
    except ValueError:
        return False  # quoted in a way of its own: the server will read it
    # A later `END` may close the body of a function.
    return _is_ending(statements[0], "end") or any(map(_is_ending, statements))


def _is_ending(words: list[str], *also: str) -> bool:
    match words:
        case [("commit" | "abort"), *_] | ["prepare", "transaction", *_]:
            return True
        case ["rollback", *rest]:
            return [word for word in rest if word not in NOISE][:1] != ["to"]
        case [first, *_]:
            return first in also
    return False


def _openings(text: str) -> Iterator[list[str]]:
    """The words with which each statement of a text begins."""
    words: list[str] = []
    open_ = True
    for token in tokenize(text):
        if token.kind == "semicolon":
            yield words
            words, open_ = [], True
        elif token.kind == "word" and open_:
            words.append(token.text.lower())
        elif token.kind not in ("comment", "newline") and not token.text.isspace():
            open_ = False
    yield words
