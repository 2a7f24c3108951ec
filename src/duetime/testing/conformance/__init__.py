"""The contract of stores as tests. To run them against a store of your own:

    import pytest_asyncio
    from duetime.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest_asyncio.fixture
        async def store(self, clock):
            store = MyStore(clock=clock)
            yield store
            await store.aclose()

`clock` is a fixture of the suite: a FakeClock that the store must follow. Each test gets an
empty store. Needs pytest and pytest-asyncio, nothing else.
"""

import pkgutil

import pytest

# Before the modules are imported: only then do failing asserts in them show their values.
pytest.register_assert_rewrite(
    *(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
)

from duetime.testing.conformance.probe import Probe  # noqa: E402
from duetime.testing.conformance.store import StoreConformance  # noqa: E402
from duetime.testing.conformance.suite import Suite  # noqa: E402

__all__ = ["Probe", "StoreConformance", "Suite"]
