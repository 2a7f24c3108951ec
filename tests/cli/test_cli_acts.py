"""Every command that changes something leaves an entry in the audit log: who, why, by which
surface."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from duetime import Duetime
from duetime.cli.commands import cli

from .conftest import Duetimes

JOB = "shop-daily"
PUT = (JOB, "0 2 * * *", "--kind", "mail", "--payload", '{"to": "ada"}')
SPAN = ("2026-01-01T00:00Z", "2026-01-02T00:00Z")

# What is done before, the arguments, and the verb of the entry.
ACTS: dict[str, tuple[str, list[str], str]] = {
    "actions schedule": ("", ["mail", '{"to": "ada"}', "--delay", "1h"], "schedule"),
    "actions cancel": ("scheduled", ["{id}"], "cancel"),
    "actions reschedule": ("scheduled", ["{id}", "--delay", "2h"], "reschedule"),
    "actions retry": ("failed", ["{id}"], "retry"),
    "actions repeat": ("failed", ["{id}"], "repeat"),
    "actions bulk": ("scheduled", ["cancel", "--kind", "mail", "--yes"], "cancel"),
    "erase": ("scheduled", ["--correlation", "c", "--yes"], "erase"),
    "jobs put": ("", [*PUT], "put"),
    "jobs pause": ("job", [JOB], "pause"),
    "jobs resume": ("paused", [JOB], "resume"),
    "jobs trigger": ("job", [JOB], "trigger"),
    "jobs backfill": ("job", [JOB, *SPAN, "--run"], "backfill"),
    "jobs remove": ("job", [JOB], "remove"),
    "jobs restore": ("removed", [JOB], "restore"),
    "jobs bulk": ("job", ["pause", JOB], "pause"),
    "queues pause": ("", ["slow"], "pause"),
    "queues resume": ("queue", ["slow"], "resume"),
    "grants set": ("", ["support", "jobs.read"], "set"),
    "grants remove": ("grant", ["{id}"], "remove"),
    "keys create": ("", ["till", "--role", "support"], "create"),
    "keys revoke": ("key", ["{id}"], "revoke"),
    "notifications subscribe": ("", ["overdue", "--in-app"], "subscribe"),
    "notifications change": ("subscription", ["{id}", "--minimum", "warning"], "change"),
    "notifications mute": ("subscription", ["{id}", "--until", "2h"], "mute"),
    "notifications test": ("subscription", ["{id}"], "test"),
    "notifications remove": ("subscription", ["{id}"], "remove"),
}
# Row transitions need a database of the user's: see test_cli_transitions.
ELSEWHERE = {"transitions retry", "transitions sweep"}


def test_every_command_that_takes_a_note_is_an_act() -> None:
    assert set(noting(typer.main.get_command(cli), ())) == ACTS.keys() | ELSEWHERE


def noting(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The commands that take a note, by their words."""
    if "note" in {parameter.name for parameter in command.params}:
        yield " ".join(path)
    for name, member in getattr(command, "commands", {}).items():
        yield from noting(member, (*path, name))


@pytest.mark.parametrize("command", ACTS)
def test_an_act_leaves_its_entry(duetime: Duetimes, shop: str, app: Duetime, command: str) -> None:
    before, arguments, verb = ACTS[command]
    made = prepared(duetime, shop, app, before)
    words = [made if word == "{id}" else word for word in arguments]
    done = duetime(*command.split(), *words, "--by", "ann", "--note", "why", "--app", shop)
    assert done.code == 0, done
    asked = duetime.ok("audit", "--by", "ann", "--any-tenant", "--app", shop, "--json")
    entries = json.loads(asked)["items"]
    assert verb in {entry["verb"] for entry in entries}
    assert {(entry["note"], entry["source"]) for entry in entries} == {("why", "cli")}


def prepared(duetime: Duetimes, shop: str, app: Duetime, what: str) -> str:
    """Do what the act needs, as somebody else, and return the id of what was made."""

    def run(*words: str) -> str:
        found = json.loads(duetime.ok(*words, "--by", "eve", "--app", shop, "--json"))
        return str(found.get("id"))

    mail = ("actions", "schedule", "mail", '{"to": "nobody"}', "--correlation", "c")
    match what:
        case "scheduled":
            return run(*mail, "--delay", "1h")
        case "failed":
            made = run(*mail)
            app.sync.testing.drain()
            return made
        case "job" | "paused" | "removed":
            run("jobs", "put", *PUT)
            if what != "job":
                run("jobs", what.removesuffix("d"), JOB)
        case "queue":
            duetime.ok("queues", "pause", "slow", "--by", "eve", "--app", shop)
        case "grant":
            return run("grants", "set", "support", "jobs.read")
        case "subscription":
            return run("notifications", "subscribe", "overdue", "--in-app")
        case "key":
            return run("keys", "create", "till", "--role", "support")
    return ""
