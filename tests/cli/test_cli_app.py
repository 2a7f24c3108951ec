"""Which app a command is for: an argument, `--app` or DUETIME_APP, the same for all commands."""

import json

import pytest

from .conftest import Duetimes, Start, read_until

SCHEDULE = ("actions", "schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--json")


def test_the_environment_names_the_app_of_all_commands(
    duetime: Duetimes, shop: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUETIME_APP", shop)
    made = json.loads(duetime.ok(*SCHEDULE))["id"]
    assert made in duetime.ok("actions", "list")
    assert "mail" in duetime.ok("actions", "show", made)
    assert url in duetime.ok("migrate", "--check")
    assert duetime.ok("jobs", "list").startswith("no jobs")
    assert duetime.ok("transitions", "list").startswith("no transitions")
    assert url in duetime.ok("stats")
    assert duetime("doctor").out.startswith(url)


def test_a_worker_takes_its_app_from_the_environment(
    shop: str, url: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUETIME_APP", shop)
    worker = start("worker", together=True)
    assert url in read_until(worker, "started")
    worker.terminate()
    worker.communicate(timeout=30)
    assert worker.returncode == 0


def test_what_is_typed_wins_over_the_environment(
    duetime: Duetimes, shop: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = json.loads(duetime.ok(*SCHEDULE, "--app", shop))["id"]
    monkeypatch.setenv("DUETIME_APP", "nowhere:app")
    assert made in duetime.ok("actions", "list", "--app", shop)
    assert made in duetime.ok("actions", "list", "--url", url)
    assert "no module 'nowhere'" in duetime("actions", "list").err
    assert duetime("doctor", shop).out.startswith(url)
    assert duetime("doctor", "--app", shop).out.startswith(url)


@pytest.mark.parametrize("command", ["worker", "doctor"])
def test_an_app_is_named_once(duetime: Duetimes, shop: str, command: str) -> None:
    answer = duetime(command, shop, "--app", shop)
    assert (answer.code, answer.out) == (2, "")
    assert "name the app once" in answer.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["worker"], "a worker runs the handlers of an app"),
        (["transitions", "list"], "an app registers transitions"),
    ],
)
def test_commands_that_need_an_app_say_how_to_name_it(
    duetime: Duetimes, arguments: list[str], reason: str
) -> None:
    answer = duetime(*arguments)
    assert (answer.code, answer.out) == (1, "")
    remedy = "name the app with --app module:app or DUETIME_APP=module:app"
    assert answer.err == f"error: {reason}: {remedy}\n"
