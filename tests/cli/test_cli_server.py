"""Commands that ask a server: `--server`, and where their key comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Answer, Duetimes
from cli.test_terminal import commands
from duetime import Duetime, Retry
from duetime.cli.server import REFUSED_COMMANDS, TOKEN_VARIABLE
from remote.serving import answering, response, serving


@dataclass(frozen=True)
class Mail:
    """The payload of these tests."""

    to: str


@dataclass(frozen=True)
class Shop:
    """A served app, its administrator's key, and what is there."""

    app: Duetime
    url: str
    key: str
    scheduled: str
    failed: str
    grant: str
    api_key: str
    subscription: str


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")

    @app.handler(kind="mail", retry=Retry.none())
    async def mail(mail: Mail) -> str:
        if mail.to == "nobody":
            raise ValueError("no such person")
        return f"sent to {mail.to}"

    failed = app.sync.schedule(Mail("nobody"))
    with app.testing.override(url=app.settings.url):
        app.sync.testing.drain()
    scheduled = app.sync.schedule(Mail("ann"), delay=3600)
    app.sync.jobs.put("shop-report", "0 6 * * *", payload=Mail("boss"))
    app.sync.jobs.put("shop-old", "0 6 * * *", payload=Mail("boss"))
    app.sync.jobs.remove("shop-old")
    grant = app.sync.grants.set("till", "jobs.read")
    api_key = app.sync.api_keys.create("till", ["till"])
    key = app.sync.api_keys.create("root", ["root"], None).key
    with serving(app.admin(admin_roles={"root"}, prefix="/ops")) as address:
        made = (scheduled, failed, grant, api_key, app.sync.notifications.add("*", in_app=True))
        yield Shop(app, f"{address}/ops", key, *(str(each.id) for each in made))
    app.sync.close()


@pytest.fixture
def ask(duetime: Duetimes, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run a command with the server, and its key in the environment."""
    monkeypatch.setenv(TOKEN_VARIABLE, shop.key)
    return lambda *words: duetime(*words, "--server", shop.url)


# What is typed after each command that a server answers.
CARRIED: dict[str, Callable[[Shop], list[str]]] = {
    "actions find": lambda shop: ["--kind", "mail", "--state", "scheduled"],
    "actions list": lambda shop: ["--any-tenant"],
    "actions groups": lambda shop: ["--by", "state"],
    "actions show": lambda shop: [shop.failed],
    "actions why": lambda shop: [shop.scheduled[:13]],
    "actions schedule": lambda shop: ["mail", '{"to": "bob"}', "--delay", "1h", "--note", "new"],
    "actions cancel": lambda shop: [shop.scheduled, "--note", "over"],
    "actions reschedule": lambda shop: [shop.scheduled, "--delay", "2h"],
    "actions retry": lambda shop: [shop.failed],
    "actions repeat": lambda shop: [shop.failed, "--payload", '{"to": "eve"}'],
    "actions bulk": lambda shop: ["cancel", "--kind", "mail", "--yes"],
    "jobs list": lambda shop: ["--q", "shop"],
    "jobs show": lambda shop: ["shop-report"],
    "jobs runs": lambda shop: ["shop-report"],
    "jobs preview": lambda shop: ["shop-report", "--count", "3"],
    "jobs put": lambda shop: [
        *("shop-daily", "0 7 * * *", "--kind", "mail", "--payload", '{"to": "cy"}'),
        *("--retry-attempts", "3", "--misfire", "all", "--tz", "Europe/Paris"),
    ],
    "jobs pause": lambda shop: ["shop-report", "--note", "flood"],
    "jobs resume": lambda shop: ["shop-report"],
    "jobs bulk": lambda shop: ["pause", "shop-report"],
    "jobs trigger": lambda shop: ["shop-report"],
    "jobs remove": lambda shop: ["shop-report"],
    "jobs restore": lambda shop: ["shop-old"],
    "jobs backfill": lambda shop: ["shop-report", "2026-01-01T00:00Z", "2026-01-03T00:00Z"],
    "transitions list": lambda shop: [],
    "transitions pending": lambda shop: [],
    "transitions sweep": lambda shop: [],
    "transitions parked": lambda shop: [],
    "transitions retry": lambda shop: ["--all"],
    "queues list": lambda shop: [],
    "queues pause": lambda shop: ["default", "--note", "flood"],
    "queues resume": lambda shop: ["default"],
    "workers": lambda shop: [],
    "stats": lambda shop: [],
    "timeline": lambda shop: [],
    "audit": lambda shop: ["--limit", "5"],
    "audit export": lambda shop: [],
    "keys create": lambda shop: ["till 2", "--role", "till"],
    "keys list": lambda shop: [],
    "keys revoke": lambda shop: [shop.api_key],
    "grants set": lambda shop: ["till", "jobs.pause"],
    "grants list": lambda shop: ["--role", "till"],
    "grants remove": lambda shop: [shop.grant],
    "notifications subscriptions": lambda shop: [],
    "notifications subscribe": lambda shop: ["job-failing", "--in-app", "--any-tenant"],
    "notifications change": lambda shop: [shop.subscription, "--minimum", "critical"],
    "notifications mute": lambda shop: [shop.subscription, "--until", "2h"],
    "notifications test": lambda shop: [shop.subscription],
    "notifications remove": lambda shop: [shop.subscription, "--note", "over"],
    "notifications list": lambda shop: ["--unread"],
    "notifications read": lambda shop: [],
}


def test_every_command_is_carried_or_refused() -> None:
    assert commands() == CARRIED.keys() | REFUSED_COMMANDS.keys()
    assert CARRIED.keys() & REFUSED_COMMANDS.keys() == set()


@pytest.mark.parametrize("command", sorted(CARRIED))
def test_a_command_asks_the_server(command: str, shop: Shop, ask: Callable[..., Answer]) -> None:
    answer = ask(*command.split(), *CARRIED[command](shop))
    assert (answer.code, answer.out != "") == (0, True), answer


@pytest.mark.parametrize("command", sorted(REFUSED_COMMANDS))
def test_a_command_that_needs_more_says_why(command: str, ask: Callable[..., Answer]) -> None:
    more = {"alive": ["file"], "cron": ["0 2 * * *"], "erase": ["--correlation", "c", "--yes"]}
    more["notifications translate"] = ["de", "texts"]
    answer = ask(*command.split(), *more.get(command, []))
    assert (answer.code, answer.out) == (1, "")
    assert f"`duetime {command}` does not take --server: {REFUSED_COMMANDS[command]}" in answer.err


def test_the_options_are_shown_where_they_are_taken(duetime: Duetimes) -> None:
    assert "--token-file" in duetime.ok("actions", "find", "--help")
    assert "--token-file" not in duetime.ok("worker", "--help")


def test_acts_are_those_of_the_key(shop: Shop, ask: Callable[..., Answer]) -> None:
    asked = ask("actions", "schedule", "mail", '{"to": "bob"}', "--json")
    made = json.loads(asked.out)
    assert (made["kind"], made["payload"], made["created"]) == ("mail", {"to": "bob"}, True)
    assert ask("actions", "cancel", made["id"], "--note", "over").code == 0
    entries = list(shop.app.sync.audit.find(subject=made["id"]))
    assert {(entry.by.startswith("key:"), entry.source) for entry in entries} == {(True, "api")}
    assert [(entry.verb, entry.note) for entry in entries] == [
        ("cancel", "over"),
        ("schedule", None),
    ]
    refused = ask("actions", "retry", shop.failed, "--by", "ann")
    assert (refused.code, "the actor is that of the key" in refused.err) == (2, True)


def test_errors_of_the_server_are_lines(shop: Shop, ask: Callable[..., Answer]) -> None:
    for words, text in (
        (["actions", "cancel", shop.failed], "it is failed, and cancel needs it scheduled"),
        (["actions", "show", "01a1f531-eb32-7338-9500-a5fca3f7febb"], "no action 01a1f531"),
        (["actions", "schedule", "mial", "{}"], "did you mean 'mail'"),
        (["actions", "schedule", "mail", "{}"], "#/payload/to"),
        (["actions", "schedule", "mail", "{"], "it is no JSON"),
        (["jobs", "show", "shop-none"], "no job 'shop-none'"),
        (["jobs", "preview", "shop-report", "--count", "500"], "count"),
        (["grants", "set", "till", "jobs.reed"], "did you mean 'jobs.read'"),
    ):
        answer = ask(*words)
        assert (answer.code, answer.err.count("\n")) == (1, 1), answer
        assert text in answer.err


# -- where the key comes from ---------------------------------------------------------------------


def whoever(duetime: Duetimes, shop: Shop, *options: str) -> Answer:
    return duetime("actions", "list", "--server", shop.url, *options)


def test_a_key_comes_from_an_option_a_file_or_the_environment(
    duetime: Duetimes, shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{shop.key}\n")
    assert whoever(duetime, shop, "--token", shop.key).code == 0
    assert whoever(duetime, shop, "--token-file", str(file)).code == 0
    monkeypatch.setenv(TOKEN_VARIABLE, "dt_wrong")
    assert whoever(duetime, shop, "--token-file", str(file)).code == 0
    assert whoever(duetime, shop).code == 1
    monkeypatch.setenv(TOKEN_VARIABLE, shop.key)
    assert whoever(duetime, shop).code == 0


def test_a_key_that_is_missing_or_wrong_is_explained(
    duetime: Duetimes, shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    unknown = whoever(duetime, shop)
    assert (unknown.code, "--token-file FILE, or in DUETIME_TOKEN" in unknown.err) == (1, True)
    missing = whoever(duetime, shop, "--token-file", "no-such-file")
    assert (missing.code, "no-such-file cannot be read" in missing.err) == (1, True)
    wrong = whoever(duetime, shop, "--token", "dt_secret\nx")
    assert (wrong.code, "the token holds characters" in wrong.err) == (1, True)
    assert "dt_secret" not in wrong.err
    empty = tmp_path / "empty"
    empty.write_text("")
    assert "the token is empty" in whoever(duetime, shop, "--token-file", str(empty)).err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--server", "https://host", "--app", "shop:app"], "give --server alone"),
        (["--server", "https://host", "--url", "memory://"], "give --server alone"),
        (["--token", "dt_x"], "are for --server"),
        (["--token-file", "key"], "are for --server"),
        (["--server", "https://host", "--token", "dt_x", "--token-file", "key"], "not both"),
    ],
)
def test_options_that_do_not_fit_together(duetime: Duetimes, words: list[str], text: str) -> None:
    answer = duetime("actions", "list", *words)
    assert (answer.code, text in " ".join(answer.err.split())) == (2, True), answer


def test_a_server_that_a_token_must_not_be_sent_to(duetime: Duetimes) -> None:
    answer = duetime("actions", "list", "--server", "http://host", "--token", "dt_secret")
    assert (answer.code, "give https://" in answer.err) == (1, True)
    assert "dt_secret" not in answer.err


def test_the_environments_app_is_not_asked(
    ask: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUETIME_APP", "no.such:app")
    monkeypatch.setenv("DUETIME_URL", "postgresql://nowhere/x")
    assert ask("actions", "list").code == 0


def test_an_app_that_is_connected_is_asked_by_its_name(
    duetime: Duetimes, shop: Shop, tmp_path: Path
) -> None:
    code = f"from duetime import Duetime\napp = Duetime.connect({shop.url!r}, token={shop.key!r})\n"
    (tmp_path / "far.py").write_text(code)
    assert shop.scheduled in duetime.ok("actions", "list", "--app", "far:app", "--json")
    for words in (["worker", "far:app"], ["doctor", "far:app"], ["migrate", "--app", "far:app"]):
        answer = duetime(*words)
        assert (answer.code, "is not available over HTTP" in answer.err) == (1, True), answer


def test_no_text_of_a_server_steers_the_terminal(duetime: Duetimes) -> None:
    evil = "\x1b]0;PWNED\x07\nroot: all is well"
    problem: dict[str, Any] = {"type": "urn:duetime:illegal-state", "detail": evil}
    body, kind = json.dumps(problem), "application/problem+json"
    with answering(lambda _: response(409, body, kind=kind)) as stub:
        answer = duetime("actions", "list", "--server", stub.url)
    assert answer.code == 1
    assert "\x1b" not in answer.err
    assert answer.err.count("\n") == 1
