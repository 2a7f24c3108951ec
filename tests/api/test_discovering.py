"""`app.discover`: what a package declares is declared, wherever in it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetime import Duetime

BRANCH = """
from dataclasses import dataclass
from {package} import app

@dataclass
class {name}:
    n: int

@app.handler(kind="{kind}")
async def handle(payload: {name}) -> None: ...
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a handler in a module, and one in a package below it."""
    name = "discovered_shop"
    root = tmp_path / name
    (root / "mail").mkdir(parents=True)
    (root / "__init__.py").write_text('from duetime import Duetime\napp = Duetime("memory://")\n')
    (root / "billing.py").write_text(BRANCH.format(package=name, name="Bill", kind="bill"))
    (root / "mail" / "__init__.py").touch()
    (root / "mail" / "send.py").write_text(BRANCH.format(package=name, name="Mail", kind="mail"))
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for module in [known for known in sys.modules if known.partition(".")[0] == name]:
        del sys.modules[module]


async def test_all_below_a_package_is_declared(package: str) -> None:
    app: Duetime = __import__(package).app
    app.discover(package)
    assert app.runtime.handlers.kinds() == ["bill", "mail"]


async def test_discovering_twice_declares_once(package: str) -> None:
    app: Duetime = __import__(package).app
    app.discover(package)
    app.discover(package)
    assert app.runtime.handlers.kinds() == ["bill", "mail"]


async def test_jobs_are_discovered_and_programs_are_not_run(package: str, tmp_path: Path) -> None:
    app: Duetime = __import__(package).app
    job = f"from {package} import app\n@app.job('0 * * * *', name='shop-report')\ndef f(): ...\n"
    (tmp_path / package / "reports.py").write_text(job)
    (tmp_path / package / "__main__.py").write_text("raise SystemExit('run')")
    app.discover(package)
    assert app.runtime.jobs.names() == ["shop-report"]


def test_a_broken_module_raises_pythons_own_error(package: str, tmp_path: Path) -> None:
    (tmp_path / package / "reports.py").write_text("import no_such_thing")
    with pytest.raises(ModuleNotFoundError, match="no_such_thing"):
        __import__(package).app.discover(package)


def test_a_missing_package_raises_pythons_own_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_shop"):
        Duetime("memory://").discover("no_such_shop")
