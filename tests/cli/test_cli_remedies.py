"""Where tables are missing, the command that is named makes them, typed as it stands."""

import re
import shlex
from pathlib import Path

import pytest

from .conftest import Answer, Duetimes

COMMAND = re.compile(r"`duetime (migrate[^`]*)`")


def command_in(answer: Answer) -> list[str]:
    """The words after `duetime`."""
    assert (answer.code, answer.out) == (1, "")
    assert "migrate=" not in answer.err
    found = COMMAND.findall(answer.err)
    assert len(found) == 1, answer.err
    return shlex.split(found[0])


@pytest.fixture
def empty(tmp_path: Path) -> str:
    """A database without tables, with a name that a shell would take apart."""
    (tmp_path / "my shop.db").touch()
    return "sqlite:///my shop.db"


@pytest.mark.parametrize("asked", [("actions", "list"), ("migrate", "--check")])
def test_a_url_that_was_typed(duetime: Duetimes, empty: str, asked: tuple[str, ...]) -> None:
    answer = duetime(*asked, "--url", empty)
    names = (
        "0001_actions, 0002_jobs, 0003_declared, 0004_worker_health, "
        "0005_tracebacks, 0006_expiry, 0007_audit, 0008_finding, 0009_queues, 0010_bulks, "
        "0011_reports, 0012_figures, 0013_access, 0014_answers, 0015_notifications"
    )
    assert f"{empty} lacks {names}: run" in answer.err
    command = command_in(answer)
    assert command == ["migrate", "--url", empty]
    duetime.ok(*command)
    duetime.ok(*asked, "--url", empty)


def test_a_prefix_that_was_typed(duetime: Duetimes, empty: str) -> None:
    typed = ["--url", empty, "--prefix", "mine_"]
    command = command_in(duetime("migrate", "--check", *typed))
    assert command == ["migrate", *typed]
    duetime.ok(*command)
    duetime.ok("migrate", "--check", *typed)


@pytest.mark.parametrize("asked", [("actions", "list"), ("migrate", "--check")])
def test_settings_of_the_environment(
    duetime: Duetimes, empty: str, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL is found there again; who types the rest elsewhere needs to see it."""
    monkeypatch.setenv("DUETIME_URL", empty)
    monkeypatch.setenv("DUETIME_PREFIX", "mine_")
    command = command_in(duetime(*asked))
    assert command == ["migrate", "--prefix", "mine_"]
    duetime.ok(*command)
    duetime.ok(*asked)


@pytest.mark.parametrize(
    "asked",
    [("actions", "list", "--app"), ("migrate", "--check", "--app"), ("worker",)],
)
def test_an_app_that_makes_no_tables(
    duetime: Duetimes, empty: str, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    text = f"from duetime import Duetime\napp = Duetime({empty!r}, migrate=False, prefix='a_')\n"
    (tmp_path / "strict.py").write_text(text)
    answer = duetime(*asked, "strict:app")
    command = command_in(Answer(answer.code, "", answer.err))
    assert command == ["migrate", "--app", "strict:app"]
    duetime.ok(*command)
    duetime.ok("actions", "list", "--app", "strict:app")


@pytest.mark.parametrize("asked", [("actions", "list"), ("migrate", "--check")])
def test_a_file_that_is_not_there(duetime: Duetimes, url: str, asked: tuple[str, ...]) -> None:
    answer = duetime(*asked, "--url", url)
    assert answer.err.endswith("creates a new file\n")
    command = command_in(answer)
    assert command == ["migrate", "--url", url]
    duetime.ok(*command)
    duetime.ok(*asked, "--url", url)


def test_a_schema_of_postgresql_and_no_password(duetime: Duetimes, postgres_url: str) -> None:
    command = command_in(
        duetime("migrate", "--check", "--url", postgres_url, "--schema", "apart", "--prefix", "x_")
    )
    hidden = re.sub(r"(//[^:/@]+:)[^@]+@", r"\1***@", postgres_url)
    assert command == ["migrate", "--url", hidden, "--prefix", "x_", "--schema", "apart"]


def test_sqlite_has_no_schemas(duetime: Duetimes, url: str, sqlite_path: Path) -> None:
    for option in ([], ["--check"], ["--sql"]):
        answer = duetime("migrate", "--url", url, "--schema", "apart", *option)
        assert (answer.code, answer.out) == (1, "")
        assert "schema='apart'" in answer.err
        assert "SQLite has no schemas; use prefix=" in answer.err
    assert not sqlite_path.exists()
