"""Trace contexts of W3C Trace Context, as they are stored with an action: the `traceparent`, and
after a space the `tracestate`, if there is one. A child has a second line: the context of its
parent's run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import NamedTuple, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

# The specification asks for at least this much of a tracestate to be kept.
MAX_TRACESTATE_LENGTH = 512
MAX_TRACE_LENGTH = 55 + 1 + MAX_TRACESTATE_LENGTH
MAX_MEMBERS = 32

# A later version may append fields, which are not understood; version ff is forbidden.
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_MEMBER = re.compile(
    r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)


class TraceParent(NamedTuple):
    """Where a trace was when it scheduled an action."""

    trace_id: int
    span_id: int
    flags: int
    tracestate: str


def parse_trace(stored: str | None) -> TraceParent | None:
    """Return the context that a text of the store holds; None if it holds none."""
    if stored is None or len(stored) > MAX_TRACE_LENGTH:
        return None
    parent, _, state = stored.partition(" ")
    found = _TRACEPARENT.fullmatch(parent)
    if found is None or (found[4] is not None and parent.startswith("00")):
        return None
    return TraceParent(int(found[1], 16), int(found[2], 16), int(found[3], 16), _tracestate(state))


def to_trace(traceparent: str | None, tracestate: str | None = None) -> str | None:
    """Return what is stored of the headers of a request; None if they are malformed. A tracestate
    that is malformed or too long is dropped."""
    parent = (traceparent or "").strip()
    if len(parent) > 55 and parent[:2] != "00":
        parent = parent[:55]
    if parse_trace(parent) is None:
        return None
    state = _tracestate((tracestate or "").strip())
    return f"{parent} {state}" if state else parent


def scheduling_trace(stored: str | None) -> str | None:
    """Return the context in which an action was scheduled; None if it was scheduled without."""
    return None if stored is None else stored.partition("\n")[0] or None


def parent_trace(stored: str | None) -> str | None:
    """Return the context of the run of an action's parent; None if it is not known."""
    return None if stored is None else stored.partition("\n")[2] or None


def with_parent_trace(stored: str | None, run: str | None) -> str | None:
    """Return what is stored of a child once its parent has run in this context."""
    return stored if run is None else f"{scheduling_trace(stored) or ''}\n{run}"


def trace_id_of(stored: str | None) -> str | None:
    """Return the id of the trace, in hexadecimal."""
    found = parse_trace(stored)
    return None if found is None else f"{found.trace_id:032x}"


def _tracestate(text: str) -> str:
    members = [member.strip(" \t") for member in text.split(",")]
    kept = [member for member in members if member]
    valid = (
        len(text) <= MAX_TRACESTATE_LENGTH
        and len(kept) <= MAX_MEMBERS
        and all(_MEMBER.fullmatch(member) for member in kept)
        and len({member.partition("=")[0] for member in kept}) == len(kept)
    )
    return ",".join(kept) if valid else ""


# What new actions store: set by whatever acts in a trace.
_current: ContextVar[str | None] = ContextVar("duetime_trace", default=None)
current_trace = _current.get


def set_trace(stored: str | None) -> None:
    """Make this the trace of the task that calls it, until the task ends."""
    _current.set(stored)


@contextmanager
def in_trace(stored: str | None) -> Iterator[None]:
    """Make this the trace of all that is scheduled inside the `with`."""
    token = _current.set(stored)
    try:
        yield
    finally:
        _current.reset(token)


def keep_trace(function: F) -> F:
    """Make a function act in the trace of its making, whatever thread of a store calls it."""
    stored = current_trace()
    if stored is None:
        return function

    @wraps(function)
    def call(*args: object) -> object:
        with in_trace(stored):
            return function(*args)

    return cast("F", call)
