"""Tracebacks that cannot be mistaken for other lines of a log: indented, bounded, one line each."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator

from duetime.model.safe_text import readable, safe_text, shorten

INDENT = "    "
# What a whole text may take, however many exceptions belong to the error.
MAX_TEXT_LINES = 200
MAX_TEXT_LENGTH = 50_000

MAX_MESSAGE_LENGTH = 2_000
MAX_LINKS = 20
MAX_LINES = 60
MAX_MEMBERS = 10
MAX_GROUP_DEPTH = 4

CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def traceback_text(error: BaseException, indent: str = INDENT) -> str:
    """Return the traceback of an error and its causes, every line of it indented. It holds no
    values but those in the texts of the exceptions."""
    try:
        lines = TracebackLines().of(error, 0)
    except Exception as broken:  # noqa: BLE001 - an exception may override what is read of it
        lines = [f"(its traceback cannot be had: {type(broken).__name__})"]
    return "\n".join(indent + line for line in lines)


class TracebackLines:
    """The lines of one text. Each exception takes them from what the others have left, the error
    itself first and its causes last; none is shown twice."""

    def __init__(self) -> None:
        self._lines = MAX_TEXT_LINES
        self._characters = MAX_TEXT_LENGTH
        self._seen: set[int] = set()

    def of(self, error: BaseException, depth: int) -> list[str]:
        """Return the lines of an error, below those of its causes."""
        parts: list[list[str]] = []
        link: BaseException | None = error
        relation: list[str] = []
        while link is not None:
            if self._lines == 0 or len(parts) == MAX_LINKS:
                parts.append(["(earlier exceptions of the chain are left out)"])
                break
            if id(link) in self._seen:
                parts.append(self._fitting([f"({_name(link)}, shown elsewhere)", *relation]))
                break
            self._seen.add(id(link))
            parts.append([*self._of_alone(link, depth), *self._fitting(relation)])
            cause, context = link.__cause__, link.__context__
            relation = ["", CONTEXT if cause is None else CAUSE, ""]
            link = cause if cause is not None or link.__suppress_context__ else context
        return [line for part in reversed(parts) for line in part]

    def _of_alone(self, error: BaseException, depth: int) -> list[str]:
        # What it says is worth more than where it was raised.
        heading = self._fitting([_heading(error)])
        frames = self._fitting(_frames(error))
        notes = self._fitting(_notes(error))
        members = self._members(error, depth) if isinstance(error, BaseExceptionGroup) else ()
        return [*frames, *heading, *notes, *members]

    def _members(self, group: BaseExceptionGroup[BaseException], depth: int) -> Iterator[str]:
        if depth >= MAX_GROUP_DEPTH:
            yield "  | (further groups are left out)"
            return
        shown = 0
        for member in group.exceptions[:MAX_MEMBERS]:
            if self._lines == 0:
                break
            shown += 1
            for line in self.of(member, depth + 1):
                yield f"  | {line}"
            yield from self._fitting(["  +---"])
        if len(group.exceptions) > shown:
            yield f"  | ({len(group.exceptions) - shown} more exceptions are left out)"

    def _fitting(self, lines: Iterable[str]) -> list[str]:
        """Return the lines, as far as there is room for them in the text."""
        shown: list[str] = []
        for line in map(safe_text, lines):
            if self._lines == 0:
                return shown
            if len(line) > self._characters or self._lines == 1:
                self._lines = 0
                return [*shown, "(further lines are left out)"]
            self._lines -= 1
            self._characters -= len(line)
            shown.append(line)
        return shown


def _name(error: BaseException) -> str:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return safe_text(shorten(f"{module}{kind.__qualname__}", MAX_MESSAGE_LENGTH))


def _heading(error: BaseException) -> str:
    message = readable(error, MAX_MESSAGE_LENGTH)
    return f"{_name(error)}: {message}" if message else _name(error)


def _frames(error: BaseException) -> Iterator[str]:
    if error.__traceback__ is None:
        return
    yield "Traceback (most recent call last):"
    entries = traceback.extract_tb(error.__traceback__).format()
    lines = [
        shorten(line, MAX_MESSAGE_LENGTH)
        for entry in entries
        for line in entry.removesuffix("\n").split("\n")
    ]
    left_out = len(lines) - MAX_LINES
    yield from lines[: MAX_LINES // 2] if left_out > 0 else lines
    if left_out > 0:
        yield f"  ({left_out} lines are left out)"
        yield from lines[-MAX_LINES // 2 :]


def _notes(error: BaseException) -> Iterator[str]:
    notes = getattr(error, "__notes__", ())
    for note in notes[:MAX_MEMBERS] if isinstance(notes, list | tuple) else ():
        yield readable(note, MAX_MESSAGE_LENGTH)
    if isinstance(notes, list | tuple) and len(notes) > MAX_MEMBERS:
        yield f"({len(notes) - MAX_MEMBERS} more notes are left out)"
