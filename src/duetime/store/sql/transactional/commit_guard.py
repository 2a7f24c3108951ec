"""Detects statements that would end a transaction, by their text, before they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from duetime.store.sql.statements.tokenizer import tokenize
from duetime.store.transaction import UserCommitted

TRANSACTION_KEYWORDS = re.compile(r"\b(commit|end|abort|rollback|prepare)\b", re.IGNORECASE)
OPTIONAL_WORDS = {"work", "transaction"}


def refuse_transaction_end(text: str) -> None:
    if TRANSACTION_KEYWORDS.search(text) and _ends_transaction(text):
        raise UserCommitted


def _ends_transaction(text: str) -> bool:
    try:
        statements = list(_leading_words(text))
    except ValueError:
        return False  # quoting that we cannot parse: the mark reveals a commit afterwards
    # A later `END` may close the body of a function.
    return _is_ending(statements[0], "end") or any(map(_is_ending, statements))


def _is_ending(words: list[str], *also: str) -> bool:
    match words:
        case [("commit" | "abort"), *_] | ["prepare", "transaction", *_]:
            return True
        case ["rollback", *rest]:
            return [word for word in rest if word not in OPTIONAL_WORDS][:1] != ["to"]
        case [first, *_]:
            return first in also
    return False


def _leading_words(text: str) -> Iterator[list[str]]:
    """Yield the leading words of each statement in a text."""
    words: list[str] = []
    leading = True
    for token in tokenize(text):
        if token.kind == "semicolon":
            yield words
            words, leading = [], True
        elif token.kind == "word" and leading:
            words.append(token.text.lower())
        elif token.kind not in ("comment", "newline") and not token.text.isspace():
            leading = False
    yield words
