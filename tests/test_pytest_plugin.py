"""The pytest plugin, in runs of pytest of its own."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

SHOP = """
from dataclasses import dataclass
from datetime import datetime

from duetime import Context, Duetime

app = Duetime("sqlite:///developer.db")
ticks: list[datetime | None] = []


@dataclass(frozen=True)
class Remind:
    user: str


@app.handler(kind="remind")
async def remind(payload: Remind) -> str:
    return f"reminded {payload.user}"


@app.job("0 2 * * *", name="shop-close")
def close(ctx: Context) -> None:
    ticks.append(ctx.tick)
"""
IMPORTS = """
from datetime import UTC, datetime, timedelta

import pytest

from duetime import Duetime
from duetime.testing import FakeClock
from shop import Remind, app, ticks
"""
# The same work for every kind of test: each starts in an empty store, at the clock's start.
CHECKS = """
START = datetime(2030, 1, 1, tzinfo=UTC)


async def check(due_app, due_clock):
    assert due_app is app and app.clock is due_clock and due_clock.now() == START
    assert (await app.find()).items == []
    action = await app.schedule(Remind("ann"), delay=timedelta(days=3))
    ticks.clear()
    assert await app.testing.advance(days=3) == 3 + 1
    assert (await app.get(action.id)).result == "reminded ann"
    assert ticks == [START + timedelta(days=n, hours=2) for n in range(3)]
    async with app.worker():
        late = await app.schedule(Remind("bob"))
        assert (await app.wait(late.id, timeout=10)).result == "reminded bob"


def check_blocking(due_app, due_clock):
    assert due_app is app and app.clock is due_clock and due_clock.now() == START
    assert app.sync.find().items == []
    action = app.sync.schedule(Remind("ann"), delay=timedelta(days=3))
    ticks.clear()
    assert app.sync.testing.advance(days=3) == 3 + 1
    assert app.sync.get(action.id).result == "reminded ann"
"""
SETTINGS = """
[pytest]
duetime_app = shop:app
pythonpath = .
filterwarnings = error
"""


@pytest.fixture
def shop(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a module-level app, which pytest knows."""
    pytester.makepyfile(shop=SHOP)
    pytester.makefile(".ini", pytest=SETTINGS)
    return pytester


WITHOUT_ASYNCIO = ("-p", "no:asyncio")


def run(project: pytest.Pytester, *options: str, **outcomes: int) -> pytest.RunResult:
    result = project.runpytest_subprocess("-p", "no:cacheprovider", *(options or WITHOUT_ASYNCIO))
    result.assert_outcomes(**outcomes)
    assert not (project.path / "developer.db").exists()
    return result


def test_sync_tests_share_nothing(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        IMPORTS
        + CHECKS
        + """
@pytest.mark.parametrize("turn", range(2))
def test_shop(due_app: Duetime, due_clock: FakeClock, turn: int) -> None:
    check_blocking(due_app, due_clock)
"""
    )
    run(shop, passed=2)


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_tests_of_pytest_asyncio(shop: pytest.Pytester, mode: str) -> None:
    shop.makepyfile(
        IMPORTS
        + CHECKS
        + """
@pytest.mark.asyncio
@pytest.mark.parametrize("turn", range(2))
async def test_shop(due_app: Duetime, due_clock: FakeClock, turn: int) -> None:
    await check(due_app, due_clock)


def test_sync(due_app: Duetime, due_clock: FakeClock) -> None:
    check_blocking(due_app, due_clock)
"""
    )
    fixed = ("-o", "asyncio_default_fixture_loop_scope=function")
    run(shop, "-p", "no:anyio", f"--asyncio-mode={mode}", *fixed, passed=3)


def test_tests_of_anyio(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        IMPORTS
        + CHECKS
        + """
@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("turn", range(2))
async def test_shop(due_app: Duetime, due_clock: FakeClock, turn: int) -> None:
    await check(due_app, due_clock)


def test_sync(due_app: Duetime, due_clock: FakeClock) -> None:
    check_blocking(due_app, due_clock)
"""
    )
    run(shop, *WITHOUT_ASYNCIO, passed=3)


def test_the_store_of_a_test_can_be_chosen(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        IMPORTS
        + """
@pytest.fixture
def due_clock() -> FakeClock:
    return FakeClock(datetime(2031, 5, 5, tzinfo=UTC))


@pytest.fixture
def due_override(tmp_path) -> dict[str, object]:
    return {"url": f"sqlite:///{tmp_path}/test.db"}


def test_shop(due_app: Duetime, tmp_path) -> None:
    assert app.clock.now().year == 2031
    app.sync.schedule(Remind("ann"))
    assert app.sync.testing.drain() == 1
    assert (tmp_path / "test.db").exists()
"""
    )
    run(shop, passed=1)


def test_the_app_is_as_it_was_after_a_test_that_fails(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        IMPORTS
        + """
def test_fails(due_app: Duetime) -> None:
    assert False


def test_is_itself_again() -> None:
    assert app.settings.url == "sqlite:///developer.db"
    assert not isinstance(app.clock, FakeClock)
"""
    )
    run(shop, passed=1, failed=1)


def test_a_fixture_can_name_the_app(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=SHOP)
    pytester.makeini("[pytest]\npythonpath = .\nfilterwarnings = error\n")
    pytester.makeconftest(
        """
import pytest

@pytest.fixture
def due_declared_app():
    from shop import app

    return app
"""
    )
    pytester.makepyfile(
        IMPORTS
        + """
def test_shop(due_app: Duetime) -> None:
    assert due_app is app
"""
    )
    run(pytester, passed=1)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("", "*no app is named: set duetime_app = *or write a fixture due_declared_app*"),
        ("nowhere:app", "*duetime_app = 'nowhere:app' cannot be loaded: No module named*"),
        ("shop:apq", "*duetime_app = 'shop:apq' cannot be loaded: *no attribute 'apq'*"),
        ("shop app", "*duetime_app = 'shop app' cannot be loaded: *"),
        ("shop:Remind", "*duetime_app = 'shop:Remind' is not a Duetime*"),
    ],
)
def test_an_app_that_cannot_be_found_names_the_remedy(
    pytester: pytest.Pytester, setting: str, message: str
) -> None:
    pytester.makepyfile(shop=SHOP)
    pytester.makeini(f"[pytest]\npythonpath = .\nduetime_app = {setting}\n")
    pytester.makepyfile("def test_shop(due_app) -> None: ...")
    run(pytester, errors=1).stdout.fnmatch_lines([message])


# -- what it costs -------------------------------------------------------------------


def test_the_package_has_the_plugin() -> None:
    [found] = [point for point in entry_points(group="pytest11") if point.name == "duetime"]
    assert found.value == "duetime.pytest_plugin"


def test_a_run_that_uses_no_fixture_imports_next_to_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import sys

def test_imports() -> None:
    ours = {name for name in sys.modules if name.partition(".")[0] == "duetime"}
    assert ours == {"duetime", "duetime.errors", "duetime.pytest_plugin"}
"""
    )
    run(pytester, passed=1)


def test_the_package_never_imports_pytest(tmp_path: Path) -> None:
    program = (
        "import sys, json, duetime.app, duetime.testing.driver; print(json.dumps([*sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert {"pytest", "_pytest"} & {*json.loads(done.stdout)} == set()
