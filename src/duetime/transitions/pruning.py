"""Pruning: lines of the ledger whose rows are gone, a few at a time."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Integer, Numeric, String, Text, Uuid, and_, cast, literal, or_
from sqlalchemy.orm import Session

from duetime.transitions.looking import run
from duetime.transitions.transacting import begin, begin_writing
from duetime.transitions.work import Work

CHUNK = 500
# What a database reads back from the text that it made of it.
READABLE = (Integer, Numeric, String, Uuid)


def prune(session: Session, work: Work, after: str) -> str:
    """Look at the lines behind one, in order; the last of them, or "" at the end."""
    if not all(isinstance(key.type, READABLE) for key in work.target.keys):
        return ""
    begin(session, work.target)
    made = work.statements
    texts = [one.row_key for one in run(session, work, made.known(CHUNK), duetime_text=after)]
    if texts:
        present = {one[0] for one in run(session, work, made.present().where(_named(work, texts)))}
        gone = [text for text in texts if text not in present]
        if gone:
            begin_writing(session, work.target)
            run(session, work, made.forget, duetime_texts=gone)
            session.commit()
    session.rollback()
    return texts[-1] if len(texts) == CHUNK else ""


def _named(work: Work, texts: list[str]) -> ColumnElement[bool]:
    keys = work.target.keys
    return or_(
        *(
            and_(*(_is(key, part) for key, part in zip(keys, parts(text, len(keys)), strict=True)))
            for text in texts
        )
    )


def _is(key: Any, part: str) -> ColumnElement[bool]:
    found: ColumnElement[bool] = key == cast(literal(part, Text), key.type)
    return found


def parts(text: str, count: int) -> list[str]:
    """The parts of a key as the ledger has them: each with its length, if there are several."""
    if count == 1:
        return [text]
    found = []
    while text:
        length, _, rest = text.partition(":")
        found.append(rest[: int(length)])
        text = rest[int(length) :]
    return found
