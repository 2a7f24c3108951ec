"""Fixtures for the tests of rules."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def impatience() -> Iterator[None]:
    """Random rules often exclude themselves, and each of them would take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("duetime.model.recurrence.base.PATIENCE", 500)
        yield
