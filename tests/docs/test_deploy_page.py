"""The page about deployments: its commands run as their process managers would run them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from duetime.config import Settings
from run_page import ROOT, Block, read_blocks

PAGE = ROOT / "docs" / "howto" / "deploy.md"
BLOCKS = {block.language: block for block in read_blocks(PAGE)}


def docker_commands(block: Block) -> tuple[list[str], list[str]]:
    """The command of the image and that of its health check."""
    [worker] = re.findall(r"^CMD (\[.*\])$", block.code, re.MULTILINE)
    [probe] = re.findall(r"^HEALTHCHECK .* CMD (\[.*\])$", block.code, re.MULTILINE)
    return json.loads(worker), json.loads(probe)


def kubernetes_commands(block: Block) -> tuple[list[str], list[str]]:
    worker, probe = re.findall(r"command: (\[.*\])$", block.code, re.MULTILINE)
    return json.loads(worker), json.loads(probe)


@pytest.mark.parametrize(
    ("language", "commands"), [("dockerfile", docker_commands), ("yaml", kubernetes_commands)]
)
def test_a_container_works_is_alive_and_stops(
    tmp_path: Path,
    language: str,
    commands: Callable[[Block], tuple[list[str], list[str]]],
) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["python"].code)
    worker_command, probe = (within(tmp_path, command) for command in commands(BLOCKS[language]))
    environment = {
        **os.environ,
        "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
        "DUETIME_APP": "shop:app",
        "DUETIME_URL": "sqlite:///shop.db",
    }
    worker = subprocess.Popen(
        worker_command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert worker.stderr is not None
        line = next(line for line in worker.stderr if "started" in line)
        assert json.loads(line)["logger"] == "duetime.worker"
        assert subprocess.run(probe, cwd=tmp_path, env=environment).returncode == 0
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
        assert worker.returncode == 0
        assert subprocess.run(probe, cwd=tmp_path, env=environment).returncode == 1
    finally:
        worker.kill()
        worker.communicate()


def within(folder: Path, command: list[str]) -> list[str]:
    """The command, with its files in a folder of the test."""
    return [word.replace("/tmp/", f"{folder}/") for word in command]


def test_the_unit_is_one_that_systemd_accepts(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "duetime"
    program.symlink_to(sys.executable)
    unit = tmp_path / "shop.service"
    text = re.sub(r"(?<=ExecStart=)\S+", str(program), BLOCKS["ini"].code)
    unit.write_text(re.sub(r"User=\w+", "User=root", text))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True
    )
    assert [line for line in done.stderr.splitlines() if "shop.service" in line] == []


def test_every_manager_waits_longer_than_the_grace() -> None:
    text = PAGE.read_text("utf-8")
    waits = re.findall(
        r"(?:--time |stop_grace_period: |TimeoutStopSec=|GracePeriodSeconds: )(\d+)", text
    )
    assert len(waits) == 4
    assert all(float(wait) > Settings().grace for wait in waits)
