"""Environments of their own for tests, with packages from an index; without one, a test that needs
them is skipped by name."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from run_page import ROOT


def uv(*arguments: str) -> str:
    command = shutil.which("uv") or shutil.which("uv", path=ROOT / ".uv" / "bin")
    if command is None:
        pytest.skip("no uv to install packages with (make gets one)")
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    if "Failed to fetch" in done.stderr or "network was disabled" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return done.stdout


def install(venv: Path, *arguments: str) -> str:
    python = str(venv / "bin" / "python")
    uv("venv", "--quiet", "--clear", "--python", sys.executable, str(venv))
    uv("pip", "install", "--quiet", "--python", python, "--only-binary", ":all:", *arguments)
    return python
