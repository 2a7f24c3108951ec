"""The pytest plugin: gives tests the app of your module, on a store and a clock of their own.

pytest imports this module in every run of an environment that has duetime. So it imports pytest
only, and the rest when a test asks for a fixture.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from duetime import Duetime
    from duetime.testing import FakeClock

OPTION = "duetime_app"
REMEDY = (
    f'set {OPTION} = "shop.main:app" below [tool.pytest.ini_options] in pyproject.toml, or write a '
    "fixture due_declared_app that returns your app"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(OPTION, "the app that the fixture due_app gives to tests, as module:app")


@pytest.fixture
def due_clock() -> FakeClock:
    """The FakeClock of `due_app`. It starts on 1 January 2030; override this fixture for another
    start."""
    from duetime.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def due_override() -> dict[str, Any]:
    """The arguments of `app.testing.override` for `due_app`, besides the clock. Override this
    fixture to give it another store: `{"url": ...}`, `{"sessions": ...}`."""
    return {}


@pytest.fixture
def due_declared_app(pytestconfig: pytest.Config) -> Duetime:
    """The app as your code declares it; override this fixture if no setting can name it."""
    return _load(str(pytestconfig.getini(OPTION)))


@pytest.fixture
def due_app(
    due_declared_app: Duetime, due_clock: FakeClock, due_override: dict[str, Any]
) -> Iterator[Duetime]:
    """Your app, on a store of its own and `due_clock`, for the length of a test. For tests that are
    async, with any plugin, and for those that are not."""
    with due_declared_app.testing.override(clock=due_clock, **due_override) as app:
        yield app


def _load(name: str) -> Duetime:
    from duetime.app import Duetime

    if not name:
        raise pytest.UsageError(f"no app is named: {REMEDY}")
    try:
        app = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise pytest.UsageError(
            f"{OPTION} = {name!r} cannot be loaded: {error}; {REMEDY}"
        ) from error
    if not isinstance(app, Duetime):
        raise pytest.UsageError(f"{OPTION} = {name!r} is not a Duetime, but {app!r}; {REMEDY}")
    return app
