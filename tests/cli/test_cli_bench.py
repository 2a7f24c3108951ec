"""`duetime bench` measures beside what is there, and leaves nothing behind."""

import json
from pathlib import Path

import psycopg
import pytest

from duetime.bench.measures import MEASURES

from .conftest import Duetimes

COUNT = ("--count", "40")
SMALL = (*COUNT, "--rounds", "2")


def test_a_file_is_measured_beside_the_one_named(duetime: Duetimes, tmp_path: Path) -> None:
    before = set(Path.cwd().iterdir())
    answer = duetime("bench", "--url", "sqlite:///shop.db", "--only", "drain", *SMALL)
    assert answer.code == 0, answer
    assert answer.err.splitlines() == ["round 1 of 2: drain", "round 2 of 2: drain"]
    heads, schedule, drain = (line.split() for line in answer.out.splitlines())
    assert heads == ["measure", "figure", "median", "lowest", "highest", "unit"]
    assert (schedule[:2], drain[0]) == (["drain", "schedule"], "drain")
    assert set(Path.cwd().iterdir()) == before


def test_a_database_is_measured_in_a_schema_of_its_own(
    duetime: Duetimes, postgres_url: str
) -> None:
    names = ("--only", "single", "--only", "transactional")
    output = json.loads(duetime.ok("bench", "--url", postgres_url, *names, *SMALL, "--json"))
    assert (output["count"], output["rounds"]) == (40, 2)
    figures = {(event["measure"], event["figure"]): event for event in output["figures"]}
    assert set(figures) == {
        ("single", "schedule one by one"),
        ("transactional", "schedule"),
        ("transactional", "drain"),
    }
    for value in figures.values():
        assert 0 < value["low"] <= value["median"] <= value["high"]
        assert (len(value["values"]), value["unit"]) == (2, "/s")
    with psycopg.connect(postgres_url) as connection:
        left = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'duetime%'"
        ).fetchall()
    assert left == []


def test_lateness_is_shown_in_milliseconds(duetime: Duetimes) -> None:
    output = json.loads(duetime.ok("bench", "--only", "burst", "--rounds", "1", *COUNT, "--json"))
    for event in output["figures"]:
        assert (event["unit"], event["median"] > 0) == ("ms", True), event


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--only", "drian"], 2, "no measure 'drian' (did you mean 'drain'?)"),
        (["--only", "speed"], 2, "no measure 'speed'; choose from drain, "),
        (["--url", "memory://"], 1, "memory:// exists inside one process only"),
        (["--count", "0"], 2, "Invalid value for '--count'"),
    ],
)
def test_mistakes_are_named(
    duetime: Duetimes, arguments: list[str], code: int, expected: str
) -> None:
    answer = duetime("bench", *arguments)
    assert answer.code == code
    assert expected in " ".join(answer.err.replace("│", " ").split())


def test_a_database_that_does_not_answer(duetime: Duetimes) -> None:
    answer = duetime("bench", "--url", "postgresql://127.0.0.1:1/none", "--only", "single", *SMALL)
    assert answer.code == 1
    last = answer.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert "refused" in last
    assert "left behind" not in answer.err


def test_sizes_follow_the_count() -> None:
    assert {name: item.size(100_000) for name, item in MEASURES.items()} == {
        "drain": 100_000,
        "sync": 25_000,
        "transactional": 10_000,
        "single": 25_000,
        "lateness": 1_000,
        "burst": 5_000,
        "wake": 200,
    }
    assert all(value.size(1) == 1 for value in MEASURES.values())
