"""`duetime notifications translate`: what it prints, and its exit status."""

import json
from pathlib import Path

from .conftest import Duetimes


def test_what_is_to_be_translated(duetime: Duetimes, tmp_path: Path) -> None:
    answer = duetime("notifications", "translate", "de", "texts")
    assert (answer.code, answer.err) == (1, "")
    lines = answer.out.splitlines()
    assert "written: texts/de/job-failing.txt" in lines
    assert "to be translated: texts/de/job-failing.txt" in lines
    assert "to be translated: texts/de/strings.toml: months" in lines
    assert (tmp_path / "texts" / "de" / "message.html").is_file()


def test_what_is_wrong(duetime: Duetimes, tmp_path: Path) -> None:
    duetime.ok("notifications", "translate", "fr", "texts")
    path = tmp_path / "texts" / "fr" / "test.txt"
    path.write_text(path.read_text() + "{{ cuont }}")
    answer = duetime("notifications", "translate", "fr", "texts")
    assert answer.code == 1
    assert answer.out == ("wrong: fr/test.txt: unknown value {{ cuont }} (did you mean 'count'?)\n")


def test_a_whole_translation(duetime: Duetimes) -> None:
    duetime.ok("notifications", "translate", "fr", "texts")
    assert duetime.ok("notifications", "translate", "fr", "texts") == "fr is complete\n"


def test_json(duetime: Duetimes) -> None:
    duetime.ok("notifications", "translate", "fr", "texts")
    out = duetime.ok("notifications", "translate", "fr", "texts", "--json")
    assert json.loads(out) == {"written": [], "missing": [], "wrong": [], "complete": True}


def test_mistakes(duetime: Duetimes, tmp_path: Path) -> None:
    answer = duetime("notifications", "translate", "German", "texts")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "language='German' is not valid: give the code of a language" in answer.err
    (tmp_path / "file").write_text("")
    answer = duetime("notifications", "translate", "de", "file")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "file" in answer.err
