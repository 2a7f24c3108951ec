"""`import duetime` brings no more than it must, and every name when it is first asked for."""

import ast
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import duetime

DRIVERS = {"psycopg", "sqlite3", "sqlalchemy", "asyncpg", "aiosqlite", "psycopg2"}
FRAMEWORKS = {"fastapi", "starlette", "jinja2", "uvicorn", "django", "flask"}
TERMINAL = {"typer", "click", "rich"}
HEAVY = {"pydantic", "pydantic_core", "opentelemetry", "uvloop"}
CLIENTS = {"httpx", "httpx2"}
FOREIGN = DRIVERS | FRAMEWORKS | TERMINAL | HEAVY | CLIENTS
FACES = {"duetime.worker.worker", "duetime.transitions", "duetime.testing", "duetime.bench"}

APP = """
from dataclasses import dataclass
from duetime import Duetime
app = Duetime("memory://")
"""
DECLARED = f"""{APP}
@dataclass
class Greet:
    name: str

@app.handler(kind="greet")
async def greet(payload: Greet) -> None: ...
"""
CONNECTED = """
from duetime import Duetime, PlainPayload
app = Duetime.connect("https://host/duetime", token="dt_key")
"""
EACH_ALONE = """
import sys
import duetime

for name in duetime.__all__:
    for module in [name for name in sys.modules if name.partition(".")[0] == "duetime"]:
        del sys.modules[module]
    exec(f"from duetime import {name}")
"""


def imported(program: str) -> set[str]:
    """The modules that a fresh interpreter has imported after this."""
    code = f"{program}\nimport json, sys; print(json.dumps([*sys.modules]))"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_an_import_brings_nothing_but_errors() -> None:
    ours = {name for name in imported("import duetime") if name.partition(".")[0] == "duetime"}
    assert ours == {"duetime", "duetime.errors"}


@pytest.mark.parametrize("program", ["import duetime", "from duetime import *"])
def test_no_name_brings_what_is_heavy(program: str) -> None:
    assert imported(program) & (FOREIGN | FACES | {"duetime.store.memory"}) == set()


@pytest.mark.parametrize(
    ("program", "allowed"),
    [
        pytest.param(APP, {"opentelemetry"}, id="an app"),
        pytest.param(DECLARED, {"opentelemetry", "pydantic", "pydantic_core"}, id="a payload"),
        pytest.param(
            f"{DECLARED}\napp.worker()",
            {"opentelemetry", "pydantic", "pydantic_core", "duetime.worker.worker"},
            id="a worker",
        ),
        pytest.param(CONNECTED, {"opentelemetry", "httpx2"}, id="an app that is connected"),
    ],
)
def test_what_is_heavy_comes_with_what_needs_it(program: str, allowed: set[str]) -> None:
    assert imported(program) & (FOREIGN | FACES) == allowed


def test_a_language_comes_when_it_is_asked_for() -> None:
    """The words of rules are not needed to schedule."""
    languages = {"duetime.words.en", "duetime.words.fr"}
    assert imported(f"{DECLARED}\napp.worker()") & languages == set()
    described = imported('from duetime import Every; Every(hours=1).describe("fr")')
    assert described & languages == {"duetime.words.fr"}


def test_a_missing_client_is_named() -> None:
    code = f"import sys; sys.modules['httpx2'] = None{CONNECTED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.endswith("needs httpx2: pip install 'duetime[client]'\n")


def test_every_name_can_be_the_first() -> None:
    """Modules of ours that import each other would depend on which of them comes first."""
    imported(EACH_ALONE)


@pytest.mark.parametrize("name", duetime.__all__)
def test_every_name_is_the_one_that_type_checkers_see(name: str) -> None:
    home = SEEN_BY_CHECKERS[name]
    assert getattr(duetime, name) is getattr(sys.modules[home], name)
    assert name in dir(duetime)


@pytest.mark.parametrize("name", duetime.__all__)
def test_every_name_can_be_pickled(name: str) -> None:
    value = getattr(duetime, name)
    # An alias of a type is equal to its copy, and not the same.
    assert pickle.loads(pickle.dumps(value)) == value


def test_type_checkers_see_all_names_and_no_others() -> None:
    assert sorted(SEEN_BY_CHECKERS) == sorted(duetime.__all__)


def test_a_name_that_is_none_of_ours() -> None:
    with pytest.raises(AttributeError, match="module 'duetime' has no attribute 'Croon'"):
        duetime.Croon  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Croon' from 'duetime'"):
        from duetime import Croon  # type: ignore[attr-defined]  # noqa: F401


def seen_by_checkers() -> Iterator[tuple[str, str]]:
    """What `duetime/__init__.py` imports if TYPE_CHECKING: names, and where they are from."""
    tree = ast.parse(Path(duetime.__file__).read_text(encoding="utf-8"))
    [block] = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == CHECKING]
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module is not None
        for alias in node.names:
            yield alias.name, node.module


CHECKING = "TYPE_CHECKING"
SEEN_BY_CHECKERS = dict(seen_by_checkers())


@pytest.mark.parametrize("module", ["duetime.transitions", "duetime.transitions.api"])
def test_transitions_without_sqlalchemy_name_the_remedy(module: str) -> None:
    program = f"import sys; sys.modules['sqlalchemy'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: row transitions need SQLAlchemy: pip install 'duetime[sqlalchemy]'"
    )
