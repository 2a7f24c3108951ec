"""The entry point."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from .conftest import Duetimes


def test_version_and_help(duetime: Duetimes) -> None:
    assert duetime.ok("--version") == f"duetime {version('duetime')}\n"
    output = duetime.ok("--help")
    assert all(command in output for command in ("demo", "worker", "actions", "migrate"))
    assert "reschedule" in duetime.ok("actions", "-h")


@pytest.mark.parametrize("typed", [["actons"], ["actions", "lst"], ["--verbose"]])
def test_what_is_not_understood(duetime: Duetimes, typed: list[str]) -> None:
    answer = duetime(*typed)
    assert answer.code == 2
    assert "No such" in answer.err
    assert "Traceback" not in answer.err


def test_a_missing_extra_is_named() -> None:
    code = "import sys; sys.modules['typer'] = None; from duetime.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'duetime[cli]'" in done.stderr


def test_it_is_a_module_too() -> None:
    command = [sys.executable, "-m", "duetime.cli", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("duetime ")
