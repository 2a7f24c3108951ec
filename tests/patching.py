"""Replaces real code by mutants within a context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

# Owner, name of the attribute, and its new value.
Patch = tuple[object, str, object]


@contextmanager
def planted(patches: Sequence[Patch]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, attribute, value in patches:
            stack.enter_context(patch.object(owner, attribute, value))
        yield
