"""`duetime notifications`: subscriptions, and the notifications in the app, on SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Duetimes

APP = """
from dataclasses import dataclass
from duetime import Duetime, Fail
from duetime.notifications import Email, Notifications, Webhook

class Pager:
    async def send(self, message): ...

app = Duetime("sqlite:///notifying.db", notifications=Notifications(
    email=Email("smtp://127.0.0.1:1", sender="ops@example.org"),
    webhook=Webhook(),
    transports={"pager": Pager()},
))

@dataclass(frozen=True)
class Mail:
    to: str

@app.handler(kind="mail")
async def send(mail: Mail) -> Fail:
    return Fail("no such person")
"""

NEVER = "019a9e7c-3f10-7b52-9e55-0d5b9f3c1a2b"
Command = Callable[..., str]


@pytest.fixture
def noted(duetime: Duetimes, tmp_path: Path) -> str:
    """The name of an app with every channel."""
    (tmp_path / "noted.py").write_text(APP)
    return "noted:app"


@pytest.fixture
def run(duetime: Duetimes, noted: str) -> Command:
    return lambda *words: duetime.ok("notifications", *words, "--app", noted)


@pytest.fixture
def refused(duetime: Duetimes, noted: str) -> Callable[..., tuple[int, str]]:
    def ask(*words: str) -> tuple[int, str]:
        answer = duetime("notifications", *words, "--app", noted)
        assert answer.out == ""
        return answer.code, " ".join(answer.err.split())

    return ask


def made(run: Command, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run("subscribe", *words, "--json"))
    return document


def test_a_subscription_is_made_shown_changed_and_removed(duetime: Duetimes, run: Command) -> None:
    assert run("subscriptions").startswith("no subscriptions: `duetime notifications subscribe`")
    said = run(
        *("subscribe", "job-failing", "job-recovered", "--in-app", "--job", "billing-*"),
        *("--quiet", "22:00-07:00", "--zone", "Europe/Paris", "--note", "asked", "--by", "ann"),
    )
    key = said.split()[1].rstrip(":")
    assert said == f"subscription {key}: in-app\n"
    [head, row] = run("subscriptions").splitlines()
    assert head.split() == ["id", "where", "whose", "topics", "only", "state"]
    assert row.split("  ")[0] == key
    for text in ("in-app", "job-failing, job-recovered", "job billing-*; not at 22:00-07:00"):
        assert text in row
    lines = run("change", key, "--topic", "*", "--any", "--kind", "mail", "--no-quiet")
    assert "no-worker" in lines
    assert lines.endswith("only kind mail\n")
    changed = json.loads(run("change", key, "--minimum", "warning", "--show-errors", "--json"))
    assert (changed["minimum"], changed["show_errors"]) == ("warning", True)
    assert (changed["jobs"], changed["kinds"], changed["quiet"]) == ([], ["mail"], None)
    assert run("remove", key, "--note", "over") == f"removed subscription {key}\n"
    assert run("subscriptions").startswith("no subscriptions")
    entries = json.loads(duetime.ok("audit", "--subject", key, "--app", "noted:app", "--json"))
    assert [(entry["verb"], entry["source"]) for entry in entries["items"]] == [
        ("remove", "cli"),
        ("change", "cli"),
        ("change", "cli"),
        ("subscribe", "cli"),
    ]
    assert (entries["items"][-1]["by"], entries["items"][-1]["note"]) == ("ann", "asked")


def test_a_secret_is_printed_alone(duetime: Duetimes, noted: str, run: Command) -> None:
    hook = ("subscribe", "*", "--webhook", "https://example.org/x?token=t", "--any-tenant")
    answer = duetime("notifications", *hook, "--app", noted)
    [secret] = answer.out.splitlines()
    assert (answer.code, secret[:6]) == (0, "whsec_")
    assert secret not in answer.err
    assert "is not shown again" in answer.err
    [listed] = json.loads(run("subscriptions", "--any-tenant", "--json"))["items"]
    assert (listed["all_tenants"], listed["address"]) == (True, "https://example.org/x?...")
    assert listed["id"] in answer.err
    assert secret not in run("subscriptions", "--any-tenant")


def test_an_address_is_asked_first(run: Command) -> None:
    said = run("subscribe", "*", "--email", "ann@example.org", "--tenant", "acme")
    assert "its owner gets a link first" in said
    assert run("subscriptions").startswith("no subscriptions")
    [listed] = json.loads(run("subscriptions", "--tenant", "acme", "--json"))["items"]
    assert (listed["state"], listed["tenant"]) == ("unconfirmed", "acme")
    again = run("test", listed["id"], "--tenant", "acme")
    assert again.startswith("the link to confirm is sent as notification ")


def test_a_subscription_is_muted(run: Command, refused: Callable[..., tuple[int, str]]) -> None:
    key = made(run, "*", "--via", "pager", "--to", "team 7")["id"]
    assert "muted until" in run("mute", key, "--until", "2h", "--note", "we are at it")
    assert "muted until" in run("subscriptions")
    assert f"subscription {key}: pager team 7\nactive; " in run("mute", key, "--off")
    for words in ((), ("--until", "2h", "--off")):
        assert refused("mute", key, *words)[0] == 2
    code, text = refused("mute", key, "--until", "2h ago")
    assert (code, "future" in text) == (1, True)


def test_notifications_are_listed_and_read(run: Command) -> None:
    assert run("list") == "no notifications\n"
    key = made(run, "*", "--in-app")["id"]
    ids = [json.loads(run("test", key, "--json"))["id"] for _ in range(3)]
    lines = run("list", "--limit", "2", "--reader", "ann").splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ids[:0:-1]
    cursor = lines[3].removeprefix("for more: --cursor ")
    rest = json.loads(run("list", "--reader", "ann", "--cursor", cursor, "--json"))
    assert [item["id"] for item in rest["items"]] == ids[:1]
    assert run("read", ids[0], "--reader", "ann") == "1 marked as read\n"
    unread = json.loads(run("list", "--unread", "--reader", "ann", "--json"))["items"]
    assert [item["id"] for item in unread] == ids[:0:-1]
    assert json.loads(run("read", "--reader", "ann", "--json")) == {"read": 2}
    assert run("read", "--reader", "ann") == "nothing was unread\n"
    assert run("list", "--unread", "--reader", "ann") == "no notifications\n"
    assert "unread" in run("list")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["subscribe", "job-fialing", "--in-app"], "did you mean 'job-failing'"),
        (["subscribe", "*"], "give one of email="),
        (["subscribe", "*", "--in-app", "--email", "ann@example.org"], "give one of email="),
        (["subscribe", "*", "--email", "ann"], "the address of a mailbox"),
        (["subscribe", "*", "--webhook", "http://example.org"], "it needs https"),
        (["subscribe", "*", "--via", "pagre", "--to", "x"], "did you mean 'pager'"),
        (["subscribe", "*", "--in-app", "--to", "x"], "it goes with via="),
        (["subscribe", "*", "--in-app", "--language", "xx"], "give one of en, fr"),
        (["subscribe", "*", "--in-app", "--zone", "Mars"], "zone='Mars'"),
        (["subscribe", "*", "--in-app", "--minimum", "loud"], "info, warning, critical"),
        (["subscribe", "*", "--in-app", "--quiet", "late"], "such as 22:00-07:00"),
        (["subscribe", "overdue", "--in-app", "--tenant", "acme"], "job-* and action-* topics"),
        (["change", "x"], "id='x'"),
        (["change", NEVER, "--minimum", "info"], "no subscription"),
        (["mute", NEVER, "--off"], "no subscription"),
        (["test", NEVER], "no subscription"),
        (["remove", NEVER], "no subscription"),
        (["read", "x"], "ids='x'"),
        (["list", "--cursor", "x"], "cursor"),
    ],
    ids=" ".join,
)
def test_mistakes(refused: Callable[..., tuple[int, str]], words: list[str], text: str) -> None:
    code, said = refused(*words)
    assert (code, text in said) == (1, True), said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["subscribe"], "Missing argument"),
        (["change", "x", "--quiet", "22:00-07:00", "--no-quiet"], "not both"),
        (["list", "--tenant", "acme", "--any-tenant"], "not both"),
        (["list", "--limit", "0"], "--limit"),
    ],
    ids=" ".join,
)
def test_options_that_cannot_be(
    refused: Callable[..., tuple[int, str]], words: list[str], text: str
) -> None:
    code, said = refused(*words)
    assert (code, text in said) == (2, True), said


def test_another_tenants_subscription_is_none(
    run: Command, refused: Callable[..., tuple[int, str]]
) -> None:
    key = made(run, "*", "--in-app", "--tenant", "acme")["id"]
    sent = json.loads(run("test", key, "--tenant", "acme", "--json"))["id"]
    for tenant in ((), ("--tenant", "other")):
        for words in (("change", key, "--minimum", "info"), ("mute", key, "--off")):
            assert refused(*words, *tenant)[0] == 1
        for verb in ("test", "remove"):
            assert refused(verb, key, *tenant)[0] == 1
        assert run("read", sent, *tenant) == "nothing was unread\n"
        assert run("list", *tenant) == "no notifications\n"
    assert sent in run("list", "--tenant", "acme")
