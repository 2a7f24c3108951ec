"""The fixtures that the test families share."""

from __future__ import annotations

import pytest

from duetime.store.base import Store
from duetime.testing.clock import FakeClock
from duetime.testing.conformance.probe import Probe


class Suite:
    """Base class of every test family. Subclasses add a fixture `store`."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def probe(self, store: Store, clock: FakeClock) -> Probe:
        return Probe(store, clock)
