"""What the test families share: the fixtures."""

from __future__ import annotations

import pytest

from duetime.store.base import Store
from duetime.testing.clock import FakeClock
from duetime.testing.conformance.probe import Probe


class Suite:
    """Base of every family. Who subclasses it adds a fixture `store`."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def probe(self, store: Store, clock: FakeClock) -> Probe:
        return Probe(store, clock)
