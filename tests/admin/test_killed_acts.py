"""A process that is killed amid an act leaves both the act and its audit entry, or neither."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from admin.test_acts import ACTS

TESTS = Path(__file__).parents[1]
# The act of most statements; `make soak` takes all acts, on both stores.
PAUSE_OF_JOB = next(
    number for number, (case, _) in enumerate(ACTS) if case.path == "/api/jobs/{name}/pause"
)


def outcomes(url: str, numbers: list[int]) -> dict[str, list[dict[str, Any]]]:
    """Return what became of each round, by act."""
    done = subprocess.run(
        [sys.executable, "-m", "admin.killed_acts", url, *map(str, numbers)],
        cwd=TESTS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    rounds: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in done.stdout.splitlines():
        rounds[json.loads(line)["act"]].append(json.loads(line))
    return rounds


def assert_both_or_neither(rounds: dict[str, list[dict[str, Any]]]) -> None:
    for act, seen in rounds.items():
        *killed, last = seen
        assert last["passed"], act
        assert last["verb"] in last["verbs"], act
        for outcome in seen:
            assert outcome["changed"] == bool(outcome["verbs"]), outcome
            assert outcome["verbs"] in ([], last["verbs"]), outcome
        # Killed before its commit, and after it.
        assert {outcome["changed"] for outcome in killed} == {False, True}, act


def test_an_act_and_its_entry(sqlite_path: Path) -> None:
    rounds = outcomes(f"sqlite:///{sqlite_path}", [PAUSE_OF_JOB])
    assert len(rounds) == 1
    assert_both_or_neither(rounds)


@pytest.mark.soak
@pytest.mark.parametrize("store", ["sqlite_path", "postgres_url"])
def test_every_act_and_its_entry(request: pytest.FixtureRequest, store: str) -> None:
    place = request.getfixturevalue(store)
    url = place if store == "postgres_url" else f"sqlite:///{place}"
    rounds = outcomes(url, [*range(len(ACTS))])
    assert len(rounds) == len(ACTS)
    assert_both_or_neither(rounds)
