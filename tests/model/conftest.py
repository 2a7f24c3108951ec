"""Fixtures for the tests of rules."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def small_search_bound() -> Iterator[None]:
    """Give up early on random rules that exclude all of their ticks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("duetime.model.recurrence.base.MAX_CHECKS_PER_WAKE", 500)
        yield
