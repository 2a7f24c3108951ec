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
    told = json.loads(duetime.ok("bench", "--url", postgres_url, *names, *SMALL, "--json"))
    assert (told["count"], told["rounds"]) == (40, 2)
    figures = {(one["measure"], one["figure"]): one for one in told["figures"]}
    assert set(figures) == {
        ("single", "schedule one by one"),
        ("transactional", "schedule"),
        ("transactional", "drain"),
    }
    for one in figures.values():
        assert 0 < one["low"] <= one["median"] <= one["high"]
        assert (len(one["values"]), one["unit"]) == (2, "/s")
    with psycopg.connect(postgres_url) as connection:
        left = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'duetime%'"
        ).fetchall()
    assert left == []


def test_lateness_is_told_in_milliseconds(duetime: Duetimes) -> None:
    told = json.loads(duetime.ok("bench", "--only", "burst", "--rounds", "1", *COUNT, "--json"))
    for one in told["figures"]:
        assert (one["unit"], one["median"] > 0) == ("ms", True), one


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--only", "drian"], 2, "no measure 'drian' (did you mean 'drain'?)"),
        (["--only", "speed"], 2, "no measure 'speed'; there are drain, "),
        (["--url", "memory://"], 1, "memory:// lives inside one process"),
        (["--count", "0"], 2, "Invalid value for '--count'"),
    ],
)
def test_mistakes_are_named(duetime: Duetimes, arguments: list[str], code: int, told: str) -> None:
    answer = duetime("bench", *arguments)
    assert answer.code == code
    assert told in " ".join(answer.err.replace("│", " ").split())


def test_a_database_that_does_not_answer(duetime: Duetimes) -> None:
    answer = duetime("bench", "--url", "postgresql://127.0.0.1:1/none", "--only", "single", *SMALL)
    assert answer.code == 1
    last = answer.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert "refused" in last
    assert "left behind" not in answer.err


def test_sizes_follow_the_count() -> None:
    assert {name: one.size(100_000) for name, one in MEASURES.items()} == {
        "drain": 100_000,
        "sync": 25_000,
        "transactional": 10_000,
        "single": 25_000,
        "lateness": 1_000,
        "burst": 5_000,
        "wake": 200,
    }
    assert all(one.size(1) == 1 for one in MEASURES.values())
