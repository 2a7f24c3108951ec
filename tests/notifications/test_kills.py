"""A process killed anywhere between a failure and its delivery: one notification, delivered."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    return str(request.getfixturevalue("postgres_url"))


def test_a_failure_is_delivered_once_wherever_its_process_is_killed(
    url: str, tmp_path: Path
) -> None:
    killed = subprocess.run(
        [sys.executable, "-m", "notifications.killed_delivery", url, str(tmp_path)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert killed.returncode == 0, killed.stderr
    rounds = int(killed.stdout)
    # Statements, commits, and both sides of the sending.
    assert rounds > 12
    messages: dict[str, set[str]] = defaultdict(set)
    lines = (tmp_path / "sent.txt").read_text().splitlines()
    for line in lines:
        failure, message = line.rsplit(" ", 1)
        messages[failure].add(message)
    assert {failure: len(ids) for failure, ids in messages.items()} == {
        f"ValueError: round-{n}": 1 for n in range(rounds + 1)
    }
    # What was sent just before the kill is sent again, as the same message.
    assert len(lines) > len(messages)
