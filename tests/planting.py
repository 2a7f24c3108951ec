"""Puts faults in the place of real code, for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

# Whose attribute, and what it shall be.
Patch = tuple[object, str, object]


@contextmanager
def planted(patches: Sequence[Patch]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, attribute, value in patches:
            stack.enter_context(patch.object(owner, attribute, value))
        yield
