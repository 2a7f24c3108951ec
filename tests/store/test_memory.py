"""MemoryStore keeps the contract."""

import pytest

from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from duetime.testing.conformance import StoreConformance


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def store(self, clock: FakeClock) -> MemoryStore:
        return MemoryStore(clock=clock)
