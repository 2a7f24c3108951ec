"""An act: who changes something, why, through which surface and as part of what, as its audit entry
records it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from duetime.model.tenant import SYSTEM

# The surface through which a verb was called.
Source = Literal["python", "cli", "api", "dashboard"]

_source: ContextVar[Source] = ContextVar("duetime_source", default="python")
_address: ContextVar[str | None] = ContextVar("duetime_address", default=None)


@dataclass(frozen=True, slots=True)
class Act:
    """Who changes something, with which note, from where; `address` is that of a request.

    `part_of` is the verb and the id of the larger act that this is a part of, if there is any.
    """

    by: str = SYSTEM
    note: str | None = None
    source: Source = "python"
    address: str | None = None
    part_of: tuple[Literal["bulk", "erase"], UUID] | None = None

    @property
    def link(self) -> dict[str, object]:
        """What the entry of each changed action says of the larger act."""
        return {} if self.part_of is None else {self.part_of[0]: str(self.part_of[1])}


# The act of a worker, or of a caller that named no actor.
SYSTEM_ACT = Act()


def current_source() -> Source:
    return _source.get()


def current_address() -> str | None:
    return _address.get()


@contextmanager
def acting_from(source: Source, address: str | None = None) -> Iterator[None]:
    """Record this source, and the address of the request, with every act inside the context."""
    source_token, address_token = _source.set(source), _address.set(address)
    try:
        yield
    finally:
        _source.reset(source_token)
        _address.reset(address_token)
