"""`duetime queues`, `duetime workers` and `duetime actions why`, on SQLite."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from .conftest import Duetimes, Start, read_until
from .test_cli_mistakes import check


@pytest.fixture
def scheduled(duetime: Duetimes, shop: str) -> str:
    """The id of a due action in the queue billing."""
    made = duetime.ok(
        *("actions", "schedule", "mail", '{"to": "ada"}', "--queue", "billing"),
        *("--app", shop, "--json"),
    )
    action_id: str = json.loads(made)["id"]
    return action_id


def test_people_pause_look_and_resume(duetime: Duetimes, shop: str, scheduled: str) -> None:
    assert "overdue" in duetime.ok("queues", "list", "--app", shop)
    said = duetime.ok(
        *("queues", "pause", "billing", "--note", "bank is down", "--until", "2h"),
        *("--by", "ann", "--app", shop),
    ).splitlines()
    assert re.fullmatch(r"paused: billing, until .*, in (2 h|120 m)", said[0])
    assert said[1:] == ["no living worker serves this queue"]
    lines = duetime.ok("queues", "list", "--app", shop).splitlines()
    assert lines[0].split() == [
        *("queue", "scheduled", "running", "overdue", "oldest", "paused", "note"),
    ]
    assert re.match(
        r"billing +1 +0 +0 +by ann since .*, until .*, in (2 h|120 m) +bank is down", lines[1]
    )
    assert duetime.ok("queues", "resume", "billing", "--app", shop) == "resumed: billing\n"
    again = duetime.ok("queues", "resume", "billing", "--app", shop)
    assert again == "not paused: billing; nothing has changed\n"
    [entry, _] = json.loads(duetime.ok("audit", "--subject", "billing", "--app", shop, "--json"))[
        "items"
    ]
    assert (entry["verb"], entry["subject"], entry["source"]) == ("resume", "queue", "cli")


def test_programs_pause_look_and_resume(duetime: Duetimes, shop: str, scheduled: str) -> None:
    def ask(*arguments: str) -> Any:
        return json.loads(duetime.ok("queues", *arguments, "--app", shop, "--json"))

    paused = ask("pause", "billing", "--until", "2999-01-01T00:00:00Z", "--by", "ann")
    assert (paused["name"], paused["paused_by"]) == ("billing", "ann")
    assert (paused["served_by"], paused["ignored_by"]) == ([], [])
    [queue] = ask("list")["items"]
    assert (queue["name"], queue["scheduled"], queue["overdue"]) == ("billing", 1, 0)
    assert queue["paused_until"] == "2999-01-01T00:00:00Z"
    assert ask("resume", "billing") == {"name": "billing", "resumed": True}
    assert ask("resume", "billing") == {"name": "billing", "resumed": False}


def test_an_empty_store_has_no_queue_and_no_worker(duetime: Duetimes, shop: str) -> None:
    nothing = "no queue has unfinished actions, is paused or is named by a worker\n"
    duetime.ok("migrate", "--app", shop)
    assert duetime.ok("queues", "list", "--app", shop) == nothing
    assert duetime.ok("workers", "--app", shop).startswith("no worker is alive: start one")
    assert json.loads(duetime.ok("workers", "--app", shop, "--json")) == {"items": []}


def test_a_misspelt_queue_gets_a_hint(duetime: Duetimes, shop: str) -> None:
    duetime.ok("migrate", "--app", shop)
    said = duetime.ok("queues", "pause", "slwo", "--app", shop).splitlines()
    hint = "; no queue 'slwo' is known (did you mean 'slow'?)"
    assert said == ["paused: slwo", f"no living worker serves this queue{hint}"]


def test_a_living_worker_is_listed_and_named(
    duetime: Duetimes, shop: str, start: Start, sqlite_path: Path
) -> None:
    duetime.ok("actions", "schedule", "watch", '{"name": "x"}', "--app", shop)
    worker = start("worker", shop, "--queue", "slow")
    read_until(worker, "watching x")
    lines = duetime.ok("workers", "--app", shop).splitlines()
    assert lines[0].split() == [
        *("worker", "app", "version", "started", "slots", "queues", "kinds", "seen", "problems"),
    ]
    assert f"-{worker.pid}-" in lines[1]
    assert re.search(r" \d+\.\d+\.\d+ .* of 100 .* slow .* mail, watch .* none", lines[1])
    [living] = json.loads(duetime.ok("workers", "--app", shop, "--json"))["items"]
    assert (living["slots"], living["queues"]) == (100, ["slow"])
    paused = json.loads(duetime.ok("queues", "pause", "slow", "--app", shop, "--json"))
    assert (paused["served_by"], paused["ignored_by"]) == ([living["id"]], [])
    with sqlite3.connect(sqlite_path) as connection:
        connection.execute("UPDATE duetime_workers SET code_version = NULL, slots = NULL")
    said = duetime.ok("queues", "pause", "slow", "--app", shop)
    assert f"an older duetime, which does not know pauses: {living['id']}" in said
    worker.terminate()
    worker.communicate(timeout=30)


def test_why_an_action_does_not_run(duetime: Duetimes, shop: str, scheduled: str) -> None:
    duetime.ok("queues", "pause", "billing", "--by", "ann", "--app", shop)
    lines = duetime.ok("actions", "why", scheduled, "--app", shop).splitlines()
    assert lines[0].startswith("queue-paused: queue billing is paused by ann since ")
    assert lines[1] == "    resume it: `duetime queues resume billing`"
    assert lines[2:] == [
        "no-worker: no worker is alive",
        "    start one with `duetime worker module:app`",
    ]
    shown = json.loads(duetime.ok("actions", "why", "…" + scheduled[-8:], "--app", shop, "--json"))
    assert [reason["code"] for reason in shown["reasons"]] == ["queue-paused", "no-worker"]


def test_why_by_key(duetime: Duetimes, shop: str) -> None:
    duetime.ok(
        *("actions", "schedule", "mail", '{"to": "ada"}', "--key", "k", "--delay", "1h"),
        *("--app", shop),
    )
    said = duetime.ok("actions", "why", "--kind", "mail", "--key", "k", "--app", shop)
    assert said.startswith("not-due: it is due at ")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("queues", "pause", "billing", "--until", "2001-01-01T00:00:00Z"), "in the future"),
        (("queues", "pause", "billing", "--until", "soon"), "'soon' is not a date"),
        (("queues", "pause", ""), "must not be empty"),
        (("queues", "pause", "x" * 201), "200 are allowed"),
        (("actions", "why"), "give the action's id"),
        (("actions", "why", "019a0000-0000-7000-8000-000000000001"), "no action"),
    ],
)
def test_mistakes_are_explained(
    duetime: Duetimes, shop: str, arguments: tuple[str, ...], text: str
) -> None:
    duetime.ok("migrate", "--app", shop)
    answer = duetime(*arguments, "--app", shop)
    check(answer, answer.code, text)
    assert answer.code in (1, 2)
