"""`duetime jobs`: filtered lists, older runs, bulk, and the limits of put; on SQLite."""

from __future__ import annotations

import json
from typing import Any

import pytest

from duetime import Duetime, Retry

from .conftest import Answer, Duetimes

HOURLY = ("0 * * * *", "--kind", "mail", "--payload", '{"to": "ann"}', "--app")


@pytest.fixture
def ask(duetime: Duetimes, shop: str) -> Any:
    """Run a command of `jobs`, and read its JSON."""

    def run(*arguments: str) -> Any:
        answer: Answer = duetime("jobs", *arguments, "--app", shop, "--json")
        assert answer.err == "", answer
        return json.loads(answer.out)

    return run


@pytest.fixture
def jobs(duetime: Duetimes, shop: str) -> None:
    for name, queue in (("shop-a", "slow"), ("shop-b", "default"), ("bank-c", "default")):
        duetime.ok("jobs", "put", name, *HOURLY, shop, "--queue", queue)
    duetime.ok("jobs", "pause", "shop-b", "--app", shop)


def names(page: Any) -> list[str]:
    return [item["name"] for item in page["items"]]


class TestList:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ((), ["bank-c", "shop-a", "shop-b"]),
            (("--state", "paused"), ["shop-b"]),
            (("--paused",), ["shop-b"]),
            (("--enabled", "--queue", "slow"), ["shop-a"]),
            (("--failing",), []),
            (("--by-put", "--q", "shop"), ["shop-a", "shop-b"]),
            (("--declared",), []),
            (("--kind", "mail", "--sort", "-name"), ["shop-b", "shop-a", "bank-c"]),
            (("--due-before", "2h"), ["bank-c", "shop-a"]),
            (("--due-before", "2020-01-01T00:00:00Z"), []),
            (("--sort", "next_due_at"), ["bank-c", "shop-a", "shop-b"]),
        ],
        ids=repr,
    )
    def test_options_select(
        self, jobs: None, ask: Any, options: tuple[str, ...], expected: list[str]
    ) -> None:
        assert names(ask("list", *options)) == expected

    def test_the_next_page(self, jobs: None, duetime: Duetimes, shop: str, ask: Any) -> None:
        output = duetime.ok("jobs", "list", "--sort", "-name", "--limit", "2", "--app", shop)
        assert "shop-b" in output
        assert "bank-c" not in output
        cursor = output.rsplit(" ", 1)[1].strip()
        page = ask("list", "--sort", "-name", "--limit", "2", "--cursor", cursor)
        assert (names(page), page["next_cursor"]) == (["bank-c"], None)
        refused = duetime("jobs", "list", "--cursor", cursor, "--app", shop)
        assert refused.code != 0
        assert "another filter, sort or tenant" in refused.err

    def test_nothing_matches(self, jobs: None, duetime: Duetimes, shop: str) -> None:
        output = duetime.ok("jobs", "list", "--q", "nothing", "--app", shop)
        assert output == "no jobs match\n"

    @pytest.mark.parametrize(
        "options", [("--sort", "age"), ("--state", "asleep"), ("--due-before", "soon"), ("--q", "")]
    )
    def test_a_mistake_is_named(
        self, duetime: Duetimes, shop: str, options: tuple[str, ...]
    ) -> None:
        refused = duetime("jobs", "list", *options, "--app", shop)
        assert refused.code != 0
        assert options[1] in refused.err or options[0].strip("-") in refused.err


class TestBulk:
    def test_each_name_is_answered(
        self, jobs: None, duetime: Duetimes, shop: str, ask: Any
    ) -> None:
        command = ("bulk", "pause", "shop-a", "shop-b", "shop-x", "--by", "ann", "--note", "why")
        answer = duetime("jobs", *command, "--app", shop)
        assert answer.code == 1
        assert answer.out.splitlines() == [
            *("paused: shop-a", "paused: shop-b"),
            "not found: shop-x",
        ]
        assert names(ask("list", "--paused")) == ["shop-a", "shop-b"]
        assert ask("show", "shop-a")["pause_note"] == "why"
        done = ask("bulk", "resume", "shop-a", "bank-c", "--by", "ann")
        assert (done["changed"], done["unchanged"]) == (["shop-a"], ["bank-c"])
        entries = json.loads(duetime.ok("audit", "--subject", "shop-a", "--json", "--app", shop))
        assert [(e["verb"], e["by"], e["source"]) for e in entries["items"][:2]] == [
            ("resume", "ann", "cli"),
            ("pause", "ann", "cli"),
        ]

    def test_until_when(self, jobs: None, duetime: Duetimes, shop: str, ask: Any) -> None:
        until = "2999-01-01T00:00:00+00:00"
        duetime.ok("jobs", "bulk", "pause", "shop-a", "--until", until, "--app", shop)
        assert ask("show", "shop-a")["paused_until"] == until.replace("+00:00", "Z")
        refused = duetime("jobs", "bulk", "resume", "shop-a", "--until", until, "--app", shop)
        assert refused.code != 0
        assert "until" in refused.err

    def test_no_names(self, duetime: Duetimes, shop: str) -> None:
        assert duetime("jobs", "bulk", "pause", "--app", shop).code != 0
        assert duetime("jobs", "bulk", "stop", "shop-a", "--app", shop).code != 0


class TestLimits:
    def test_put_takes_them(self, duetime: Duetimes, shop: str, ask: Any) -> None:
        limits = ("--retry-attempts", "4", "--retry-delay", "2s", "--timeout", "5m")
        duetime.ok("jobs", "put", "shop-a", *HOURLY, shop, *limits)
        job = ask("show", "shop-a")
        assert (job["retry"], job["timeout"]) == (repr(Retry(4, 2.0)), 300.0)
        shown = duetime.ok("jobs", "show", "shop-a", "--app", shop)
        assert "attempts=4" in shown
        assert "timeout" in shown
        assert "5 m" in shown

    @pytest.mark.parametrize(
        "options",
        [
            ("--retry-delay", "2s"),
            ("--retry-attempts", "0"),
            ("--timeout", "0"),
            ("--timeout", "soon"),
        ],
        ids=repr,
    )
    def test_a_mistake_makes_no_job(
        self, duetime: Duetimes, shop: str, ask: Any, options: tuple[str, ...]
    ) -> None:
        assert duetime("jobs", "put", "shop-a", *HOURLY, shop, *options).code != 0
        assert names(ask("list")) == []


async def test_older_runs_and_runs_of_an_outcome(
    duetime: Duetimes, shop: str, ask: Any, app: Duetime
) -> None:
    duetime.ok("jobs", "put", "shop-a", *HOURLY, shop)
    for _ in range(3):
        duetime.ok("jobs", "trigger", "shop-a", "--app", shop)
        await app.testing.drain()
    every = [run["action_id"] for run in ask("runs", "shop-a")["items"]]
    assert len(every) == 3
    older = ask("runs", "shop-a", "--before", every[0], "--limit", "1")["items"]
    assert [run["action_id"] for run in older] == every[1:2]
    assert older[0]["duration"] is not None
    assert ask("runs", "shop-a", "--before", "1h")["items"] == []
    assert ask("runs", "shop-a", "--outcome", "failed")["items"] == []
    assert len(ask("runs", "shop-a", "--outcome", "succeeded")["items"]) == 3
    refused = duetime("jobs", "runs", "shop-a", "--before", "yesterday", "--app", shop)
    assert refused.code != 0
