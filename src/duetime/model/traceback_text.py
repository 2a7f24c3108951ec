"""Tracebacks that cannot be mistaken for other lines of a log: indented, bounded, one line each."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from duetime.model.safe_text import readable, safe_text, shorten

INDENT = "    "
MAX_MESSAGE_LENGTH = 2_000
MAX_LINKS = 20
MAX_LINES = 60
MAX_MEMBERS = 10
MAX_GROUP_DEPTH = 4

CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error and its causes, every line of it indented."""
    try:
        lines = [*_lines(error, 0)]
    except Exception as broken:  # noqa: BLE001 - an exception may override what is read of it
        lines = [f"(its traceback cannot be had: {type(broken).__name__})"]
    return "\n".join(INDENT + safe_text(line) for line in lines)


def _lines(error: BaseException, depth: int) -> Iterator[str]:
    links = _links(error)
    if len(links) > MAX_LINKS:
        yield "(earlier exceptions of the chain are left out)"
    for link, relation in links[:MAX_LINKS][::-1]:
        yield from _frames(link)
        yield _heading(link)
        yield from _notes(link)
        if isinstance(link, BaseExceptionGroup):
            yield from _members(link, depth)
        if relation:
            yield from ("", relation, "")


def _links(error: BaseException) -> list[tuple[BaseException, str]]:
    """Return the error, its cause or context, and so on, each with its relation to the one before;
    one more than are shown."""
    links: list[tuple[BaseException, str]] = []
    seen: set[int] = set()
    link: BaseException | None = error
    relation = ""
    while link is not None and id(link) not in seen and len(links) <= MAX_LINKS:
        seen.add(id(link))
        links.append((link, relation))
        cause, context = link.__cause__, link.__context__
        relation = CAUSE if cause is not None else CONTEXT
        link = cause if cause is not None or link.__suppress_context__ else context
    return links


def _frames(error: BaseException) -> Iterator[str]:
    if error.__traceback__ is None:
        return
    yield "Traceback (most recent call last):"
    entries = traceback.extract_tb(error.__traceback__).format()
    lines = [line for entry in entries for line in entry.removesuffix("\n").split("\n")]
    left_out = len(lines) - MAX_LINES
    yield from lines[: MAX_LINES // 2] if left_out > 0 else lines
    if left_out > 0:
        yield f"  ({left_out} lines are left out)"
        yield from lines[-MAX_LINES // 2 :]


def _heading(error: BaseException) -> str:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    name = shorten(f"{module}{kind.__qualname__}", MAX_MESSAGE_LENGTH)
    message = readable(error, MAX_MESSAGE_LENGTH)
    return f"{name}: {message}" if message else name


def _notes(error: BaseException) -> Iterator[str]:
    notes = getattr(error, "__notes__", ())
    for note in notes[:MAX_MEMBERS] if isinstance(notes, list | tuple) else ():
        yield readable(note, MAX_MESSAGE_LENGTH)


def _members(group: BaseExceptionGroup[BaseException], depth: int) -> Iterator[str]:
    if depth >= MAX_GROUP_DEPTH:
        yield "  | (further groups are left out)"
        return
    for member in group.exceptions[:MAX_MEMBERS]:
        for line in _lines(member, depth + 1):
            yield f"  | {line}"
        yield "  +---"
    if len(group.exceptions) > MAX_MEMBERS:
        yield f"  | ({len(group.exceptions) - MAX_MEMBERS} more exceptions are left out)"
