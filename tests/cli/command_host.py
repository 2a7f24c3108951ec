"""Runs commands on terminals, each in a process that is forked from this one: `CommandHost` is the
tests' side, `python -m cli.command_host` the host.

Python takes half a second to start and to import what every command imports; a fork takes a few
milliseconds.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent


class CommandHost:
    """The host process. Commands start in its folder, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cli.command_host"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, terminal: int, arguments: list[str], **environ: str) -> int:
        """Start `duetime ARGUMENTS` on a terminal, and return the id of its process."""
        request = {"terminal": os.ttyname(terminal), "arguments": arguments, "environ": environ}
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return int(self._answer())

    def wait(self) -> int:
        """Wait until the command has ended, and return its exit code."""
        return int(self._answer())

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


# What commands import, and the apps that they load.
IMPORTED = ("duetime.cli.commands", "duetime.transitions", "opentelemetry.metrics")


def main() -> None:
    for module in IMPORTED:
        importlib.import_module(module)
    for line in sys.stdin:
        request = json.loads(line)
        terminal = os.open(request["terminal"], os.O_RDWR | os.O_NOCTTY)
        child = os.fork()
        if child == 0:
            become_command(request, terminal)
            return
        os.close(terminal)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become_command(request: dict[str, Any], terminal: int) -> None:
    """Do as `python -m duetime.cli` does when it is started on this terminal."""
    for descriptor in range(3):
        os.dup2(terminal, descriptor)
    os.close(terminal)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open until the process ends
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    os.environ.update(request["environ"])
    sys.argv = ["duetime", *request["arguments"]]
    runpy.run_module("duetime.cli", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
