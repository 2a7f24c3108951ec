"""The wheel contains all files, and works without optional packages."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from environments import install, uv
from run_page import ROOT, read_blocks, run_apart

EXTRAS = ["--extra", "postgres", "--extra", "cli"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(out)], cwd=ROOT, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A page with README's first example, and the least that the command line can do."""
    blocks = [block for block in read_blocks(ROOT / "README.md") if block.language == "python"]
    assert blocks, "README.md has no python example"
    page = tmp_path / "example.md"
    help_me = "```console\n$ duetime --help\n```"
    page.write_text(f"```python\n{blocks[0].code}\n```\n\n{help_me}\n")
    return page


def test_the_wheel_is_whole(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert "duetime/py.typed" in packed
    source = ROOT / "src"
    for kind in ("*.sql", "*.html", "*.css", "*.svg", "*.txt"):
        needed = {str(path.relative_to(source)) for path in source.rglob(kind)}
        assert needed
        assert needed <= packed


def test_the_example_runs_on_the_wheel_alone(wheel: Path, example: Path, tmp_path: Path) -> None:
    python = install(tmp_path / "venv", f"{wheel}[postgres,cli]")
    run_apart(example, python=python)


PLUGIN_TEST = """
from dataclasses import dataclass
from duetime import Duetime
import pytest

@dataclass(frozen=True)
class Note:
    text: str

app = Duetime("sqlite:///developer.db")

@app.handler(kind="note")
def note(payload: Note) -> str:
    return payload.text

@pytest.fixture
def due_declared_app():
    return app

def test_note(due_app: Duetime) -> None:
    due_app.sync.schedule(Note("x"), delay=60)
    assert due_app.sync.testing.advance(60) == 1
"""


@pytest.mark.parametrize("before", ["", "import duetime.app, duetime.testing.driver; "])
def test_the_pytest_plugin_comes_with_the_wheel(wheel: Path, tmp_path: Path, before: str) -> None:
    """Also if a program imports duetime before it starts pytest, and errors on each warning."""
    python = install(tmp_path / "venv", str(wheel), "pytest")
    (tmp_path / "test_note.py").write_text(PLUGIN_TEST)
    program = f"{before}import sys, pytest; sys.exit(pytest.main(['-q', '-W', 'error']))"
    command = [python, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_example_runs_on_the_lowest_versions(
    wheel: Path, example: Path, tmp_path: Path
) -> None:
    # The requirements by name: seen from the wheel they would be indirect, and stay the newest.
    lowest = ["--resolution", "lowest-direct", *EXTRAS, "-r", str(ROOT / "pyproject.toml")]
    python = install(tmp_path / "venv", *lowest)
    uv("pip", "install", "--quiet", "--python", python, "--no-deps", str(wheel))
    listed = json.loads(uv("pip", "list", "--python", python, "--format", "json"))
    versions = {entry["name"]: entry["version"] for entry in listed}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        name, floor = re.findall(r"^([\w-]+)>=([\d.]+)", requirement)[0]
        assert versions[name].startswith(floor)
    run_apart(example, python=python)
