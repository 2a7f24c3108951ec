"""A user's mistake gets a clear line and an exit code, never a traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Answer, Duetimes

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
LIST = ("actions", "list")
SCHEDULE = ("actions", "schedule")


def check(answer: Answer, code: int, *patterns: str) -> None:
    assert answer.code == code, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    said = " ".join(answer.err.replace("│", " ").split())  # usage errors stand in a box
    for pattern in patterns:
        assert re.search(pattern, said), answer.err
    if code == 1:
        assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "patterns"),
    [
        (["--url", "sqlite:///no.db"], 1, ["no file no.db", "duetime migrate"]),
        (["--url", "memory://"], 1, ["one process"]),
        (["--url", "postgres:/x"], 1, ["names no store"]),
        (["--url", "postgresql://me:secret@127.0.0.1:1/x"], 1, ["127.0.0.1"]),
        (["--app", "shop:app", "--url", "memory://"], 2, ["--app or --url"]),
        (["--app", "shop:app", "--limit", "0"], 2, ["--limit"]),
        (["--app", "shop:app", "--limit", "201"], 2, ["--limit", "200"]),
        (["--app", "shop:app", "--limit", "many"], 2, ["--limit"]),
        (["--app", "shop:app", "--cursor", "!"], 1, ["cursor"]),
        (["--app", "shop:app", "--state", "done"], 2, ["succeeded"]),
        (["--app", "shop:app", "--tenant", "t", "--any-tenant"], 2, ["not both"]),
        (["--app", "shop:app", "--lmit", "1"], 2, ["No such option", "--limit"]),
        (["--app", "shop"], 2, ["'shop' names no app: write module:app"]),
        (["--app", "shop:"], 2, ["module:app"]),
        (["--app", ":app"], 2, ["module:app"]),
        (["--app", "shop.py:app"], 1, ["no module 'shop.py'.*; did you mean shop:app\\?$"]),
        (["--app", "./in/shop.py:app"], 1, ["; did you mean in.shop:app\\?$"]),
        (["--app", ".shop:app"], 1, ["full name"]),
        (["--app", "shopp:app"], 1, ["no module 'shopp'"]),
        (["--app", "shop.inner:app"], 1, ["shop"]),
        (["--app", "shop:ap"], 1, ["has no 'ap'; its app is shop:app"]),
        (["--app", "shop:other"], 1, ["of type object, not a Duetime"]),
    ],
)
def test_where_to_look(
    duetime: Duetimes, shop: str, arguments: list[str], code: int, patterns: list[str]
) -> None:
    answer = duetime(*LIST, *arguments)
    check(answer, code, *patterns)
    assert "secret" not in answer.err


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("x = 1 / 0\n", ["ZeroDivisionError: division by zero", r"\(broken.py, line 1\)"]),
        ("\nimport no_such\n", ["ModuleNotFoundError", "no_such", r"\(broken.py, line 2\)"]),
        ("def x(:\n", ["SyntaxError", "broken.py", "line 1"]),
        ("raise SystemExit(3)\n", ["SystemExit: 3"]),
        ("import json\n\njson.loads('{')\n", ["JSONDecodeError", r"\(broken.py, line 3\)"]),
        (
            "from duetime import Duetime\napp = Duetime(leese=3)\n",
            ["unknown option 'leese'", "did you mean 'lease'", r"\(broken.py, line 2\)"],
        ),
    ],
)
def test_an_app_that_breaks_on_import(
    duetime: Duetimes, tmp_path: Path, text: str, patterns: list[str]
) -> None:
    (tmp_path / "broken.py").write_text(text)
    check(duetime(*LIST, "--app", "broken:app"), 1, *patterns)
    check(duetime("worker", "broken:app"), 1, *patterns)


@pytest.mark.parametrize(
    ("arguments", "code", "patterns"),
    [
        (["mail", "{}"], 1, ["payload of kind 'mail'", "to: Field required"]),
        # Of upgrades nothing is said: it was never stored.
        (["mail"], 1, [r"to: Field required\s*$"]),
        (["mail", "{to: ada}"], 1, ["Invalid JSON"]),
        (["mail", '{"to": "ada", "copies": "many"}'], 1, ["copies: .*integer"]),
        (["male", "{}"], 1, ["male is not registered", "did you mean 'mail'"]),
        (["mail", '{"to": "a"}', "--at", "tomorrow"], 2, ["not a date"]),
        (["mail", '{"to": "a"}', "--at", "2030-01-01T00:00:00"], 2, ["no time zone"]),
        (["mail", '{"to": "a"}', "--delay", "soon"], 2, ["not a delay"]),
        (["mail", '{"to": "a"}', "--delay", "-5m"], 2, ["not a delay"]),
        (["mail", '{"to": "a"}', "--delay", "999999d"], 2, ["thousand years"]),
        (["mail", '{"to": "a"}', "--delay", "1s", "--at", "2030-01-01T00:00Z"], 2, ["not both"]),
        (["mail", '{"to": "a"}', "--key", ""], 1, ["key='' is not valid"]),
        (["mail", '{"to": "a"}', "--if-exists", "ignore"], 2, ["return.*replace.*raise"]),
        (["mail", '{"to": "a"}', "--priority", "urgent"], 2, ["critical"]),
    ],
)
def test_what_to_schedule(
    duetime: Duetimes, shop: str, arguments: list[str], code: int, patterns: list[str]
) -> None:
    check(duetime(*SCHEDULE, *arguments, "--app", shop), code, *patterns)
    assert "no actions match" in duetime.ok(*LIST, "--app", shop)


def test_scheduling_needs_the_app(duetime: Duetimes) -> None:
    check(duetime(*SCHEDULE, "mail", "{}"), 1, "only a declared kind", "--app module:app")


@pytest.mark.parametrize("verb", ["show", "cancel", "reschedule", "retry"])
def test_which_action(duetime: Duetimes, shop: str, verb: str) -> None:
    when = ["--delay", "1m"] if verb == "reschedule" else []
    check(duetime("actions", verb, UNKNOWN_ID, *when, "--app", shop), 1, f"no action {UNKNOWN_ID}")
    check(duetime("actions", verb, "42", *when, "--app", shop), 2, "UUID")


def test_reschedule_says_when(duetime: Duetimes, shop: str) -> None:
    moved = ("actions", "reschedule", UNKNOWN_ID, "--app", shop)
    check(duetime(*moved), 2, "give the new time")
    both = ("--at", "2030-01-01T00:00Z", "--delay", "1s")
    check(duetime(*moved, *both), 2, "give --at or --delay, not both")


def test_help_lists_the_choices_for_a_taken_key(duetime: Duetimes) -> None:
    assert "return|replace|raise" in duetime.ok(*SCHEDULE, "--help")


def test_a_mistake_in_a_setting_names_its_remedy(
    duetime: Duetimes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DUETIME_LEASE", "soon")
    check(duetime(*LIST), 1, "option lease='soon'", "comes from DUETIME_LEASE")
    monkeypatch.delenv("DUETIME_LEASE")
    (tmp_path / "duetime.toml").write_text("[duetime]\nleese = 3\n")
    check(duetime(*LIST), 1, "unknown option 'leese'", "did you mean 'lease'")


def test_a_file_that_is_no_database(duetime: Duetimes, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database, but long enough to look like one\n" * 99)
    check(duetime(*LIST, "--url", "sqlite:///notes.db"), 1, "notes.db")
    (tmp_path / "empty.db").touch()
    check(duetime(*LIST, "--url", "sqlite:///empty.db"), 1, "lacks 0001", "duetime migrate")


def test_a_directory_that_is_not_there(duetime: Duetimes) -> None:
    check(duetime("migrate", "--url", "sqlite:///no/such/folder.db"), 1, "no/such/folder.db")
    check(duetime("demo", "--url", "sqlite:///no/such/folder.db"), 1, "no/such/folder.db")


def test_a_directory_that_is_named_as_the_store(duetime: Duetimes, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for command in (LIST, ("migrate",), ("migrate", "--check")):
        check(duetime(*command, "--url", "sqlite:///folder"), 1, "folder: it is a directory; name")


def test_a_worker_needs_the_name_of_an_app(duetime: Duetimes, tmp_path: Path) -> None:
    check(duetime("worker", "fac"), 2, "'fac' names no app: write module:app")
    check(duetime("worker", "fac.py:make"), 1, "no module 'fac'.*; did you mean fac:make")
    text = "from duetime import Duetime\ndef make():\n    return Duetime('memory://')\n"
    (tmp_path / "fac.py").write_text(text)
    wanted = "fac:make is a function, not a Duetime; write a module-level app = make()"
    check(duetime("worker", "fac:make"), 1, re.escape(wanted))
    check(duetime("worker", "fac:Duetime"), 1, "fac:Duetime is a class, not a Duetime")
    (tmp_path / "both.py").write_text(f"{text}app = make()\n")
    check(duetime("worker", "both:make"), 1, "is a function, not a Duetime; its app is both:app")


@pytest.mark.parametrize(
    ("arguments", "patterns"),
    [
        (["--queue", "a=5", "--queue", "b"], ["every --queue"]),
        (["--queue", "a=many"], ["number of slots"]),
        (["--queue", "a=0"], ["at least 1"]),
        (["--concurrency", "0"], ["--concurrency"]),
        (["--log-level", "loud"], ["warning"]),
    ],
)
def test_how_to_work(
    duetime: Duetimes, shop: str, arguments: list[str], patterns: list[str]
) -> None:
    check(duetime("worker", shop, *arguments), 2, *patterns)


def test_a_worker_without_a_server_says_so(duetime: Duetimes, tmp_path: Path) -> None:
    url = "postgresql://me:secret@127.0.0.1:1/x?connect_timeout=1"
    (tmp_path / "far.py").write_text(f"from duetime import Duetime\napp = Duetime('{url}')\n")
    done = subprocess.run(
        [sys.executable, "-m", "duetime.cli", "worker", "far:app", "--log-level", "error"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert re.search(r"^error: .*127\.0\.0\.1", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("name", ["\udcff", "a" * 201, " "])
def test_a_name_that_no_job_can_have(duetime: Duetimes, shop: str, name: str) -> None:
    """A byte that is no UTF-8 reaches Python as a lone surrogate."""
    for verb in ("show", "runs", "preview", "pause", "resume", "trigger", "remove", "restore"):
        check(duetime("jobs", verb, name, "--app", shop), 1, "name=.* is not valid")
    days = ("2030-01-01T00:00Z", "2030-01-02T00:00Z")
    check(duetime("jobs", "backfill", name, *days, "--app", shop), 1, "name=.* is not valid")
