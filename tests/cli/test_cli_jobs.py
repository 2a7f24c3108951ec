"""Every verb of `duetime jobs`, on SQLite."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from duetime import Duetime
from duetime.cli.options import os_user

from .conftest import SHOP, Answer, Duetimes

JOBS = """
from duetime import Every

@dataclass(frozen=True)
class Region:
    name: str

@app.job("30 2 * * *", name="billing-close", tz="Europe/Paris", payload=Region("eu"))
async def close(payload: Region) -> str:
    return f"closed {{payload.name}}"

@app.job(Every(days=365), name="shop-fails", retry=Retry.none())
async def fails() -> None:
    raise ValueError("sold out")

@app.job([Every(days=365), "0 0 29 2 *"], name="shop-rarely", tenant="t1", jitter=90)
async def rarely() -> None:
    pass
"""
BACKFILL = ("backfill", "billing-close", "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z")
PUT = ("put", "news-send", "0 7 * * 1-5", "--kind", "mail", "--payload", '{"to": "ada"}')


@pytest.fixture
def shop(tmp_path: Path, url: str) -> str:
    (tmp_path / "shop.py").write_text((SHOP + JOBS).format(url=url))
    return "shop:app"


@pytest.fixture
async def app(app: Any) -> Any:
    """With its jobs in the store, as by a worker."""
    await app.testing.drain()
    return app


@pytest.fixture
def say(duetime: Duetimes, app: Duetime, shop: str) -> Any:
    return lambda *arguments: duetime.ok("jobs", *arguments, "--app", shop)


@pytest.fixture
def ask(say: Any) -> Any:
    """Run a verb with --json and give the document."""
    return lambda *arguments: json.loads(say(*arguments, "--json"))


async def test_a_list_for_people_and_in_pages(say: Any, ask: Any) -> None:
    table = say("list")
    assert re.search(r"billing-close +scheduled +at 02:30, every day, Europe/Paris +.* -", table)
    assert "shop-rarely" not in table
    first = ask("list", "--limit", "1", "--any-tenant")
    assert [item["name"] for item in first["items"]] == ["billing-close"]
    rest = ask("list", "--cursor", first["next_cursor"], "--any-tenant")
    assert [item["name"] for item in rest["items"]] == ["shop-fails", "shop-rarely"]
    assert rest["next_cursor"] is None
    assert re.search(r"more: --cursor [\w=-]+\n$", say("list", "--limit", "1"))
    assert re.search(
        r"shop-rarely +scheduled +t1 +every 365 days; and", say("list", "--any-tenant")
    )


async def test_a_narrow_window(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert re.search(r"billing-close +scheduled .*\n *at 02:30, every", say("list"))
    assert max(map(len, say("list").splitlines())) <= 80


async def test_an_empty_list_says_where_jobs_come_from(duetime: Duetimes, shop: str) -> None:
    assert duetime.ok("jobs", "list", "--app", shop).startswith("no jobs: workers seed the jobs")


async def test_show_prints_all_fields_of_a_job(say: Any, ask: Any) -> None:
    shown = ask("show", "billing-close")
    wanted: dict[str, object] = {
        "kind": "billing-close",
        "recurrence": "30 2 * * *",
        "tz": "Europe/Paris",
        "state": "scheduled",
        "enabled": True,
        "payload": {"name": "eu"},
        "misfire": "once",
        "overlap": "skip",
        "declared": True,
        "version": 1,
        "runs": [],
    }
    assert wanted.items() <= shown.items()
    said = say("show", "billing-close")
    assert re.search(r"recurrence +at 02:30, every day, Europe/Paris", said)
    assert re.search(r'payload +\{"name": "eu"\}', said)
    assert "no runs yet" in said
    assert re.search(r"jitter +90 s", say("show", "shop-rarely", "--tenant", "t1"))


async def test_pause_and_resume(say: Any, ask: Any) -> None:
    until = "2031-05-06T07:08:09+02:00"
    said = say("pause", "billing-close", "--note", "books are audited", "--until", until)
    assert said.startswith(
        "paused: billing-close, at 02:30, every day, Europe/Paris; next 2031-05-"
    )
    shown = ask("show", "billing-close")
    assert (shown["state"], shown["enabled"]) == ("paused", False)
    assert (shown["pause_note"], shown["paused_by"]) == ("books are audited", os_user())
    assert shown["paused_until"] == "2031-05-06T05:08:09Z"
    assert say("pause", "billing-close").endswith("; no next tick\n")
    assert ask("pause", "billing-close", "--by", "grace", "--note", "x")["paused_by"] == "grace"
    assert re.search(r"resumed: billing-close, .*; next .*", say("resume", "billing-close"))
    assert ask("resume", "billing-close", "--by", "grace")["enabled"] is True


async def test_triggers_and_their_runs(say: Any, ask: Any, app: Duetime) -> None:
    assert say("runs", "shop-fails") == "no runs yet\n"
    first = ask("trigger", "shop-fails", "--by", "grace")
    assert (first["job"], first["kind"], first["created_by"]) == (
        "shop-fails",
        "shop-fails",
        "grace",
    )
    said = say("trigger", "shop-fails")
    assert re.fullmatch(
        rf"triggered: shop-fails \S{{36}}, after {first['id']} has finished\n", said
    )
    await app.testing.drain()
    (_, run) = ask("runs", "shop-fails")["items"]
    wanted: dict[str, object] = {"action_id": first["id"], "tick": None, "outcome": "failed"}
    assert (wanted | {"retries": 0, "started_by": "grace"}).items() <= run.items()
    assert len(ask("runs", "shop-fails", "--limit", "1")["items"]) == 1
    lines = say("runs", "shop-fails")
    assert re.search(r"trigger  failed  late by .* ms  took .* ms  by grace  \S{36}", lines)
    assert "    ValueError: sold out" in lines
    assert re.search(r"shop-fails +scheduled +every 365 days .* failed, 2 in a row", say("list"))
    shown = say("show", "shop-fails")
    assert re.search(r"consecutive_failures +2", shown)
    assert "by grace" in shown


async def test_preview_notes_changes_of_the_clocks(say: Any, ask: Any) -> None:
    shown = ask("preview", "billing-close", "--count", "366")
    assert (shown["name"], shown["words"]) == ("billing-close", "at 02:30, every day, Europe/Paris")
    assert [t["note"] for t in shown["ticks"] if t["note"]] != []
    assert re.search(
        r"\w{3} \d{4}-\d\d-\d\d 02:30:00 CES?T +\d{4}", say("preview", "billing-close")
    )
    assert "note" in ask("preview", "shop-rarely", "--tenant", "t1")["ticks"][0]


async def test_remove_and_restore(duetime: Duetimes, say: Any, ask: Any, shop: str) -> None:
    assert say("remove", "billing-close") == "removed: billing-close\n"
    assert "billing-close" not in say("list")
    assert re.search(r"billing-close +removed ", say("list", "--removed"))
    gone = duetime("jobs", "show", "billing-close", "--app", shop)
    assert gone.code == 1
    assert "duetime jobs restore" in gone.err
    assert say("restore", "billing-close").startswith("restored: billing-close, at 02:30")
    assert ask("remove", "billing-close") == {"name": "billing-close", "removed": True}
    assert ask("restore", "billing-close")["removed"] is False


async def test_backfill_shows_ticks_and_creates_them_with_run(
    say: Any, ask: Any, app: Duetime
) -> None:
    said = say(*BACKFILL)
    assert "Sat 2026-03-28 02:30:00 CET" in said
    assert "first instant after the gap" in said
    assert said.endswith(
        "2 occurrences of billing-close would be created: give --run to create them\n"
    )
    shown = ask(*BACKFILL)
    assert shown["dry_run"] is True
    assert [t["tick"] for t in shown["ticks"]] == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"]
    assert ask("runs", "billing-close")["items"] == []
    assert ask(*BACKFILL, "--run", "--by", "grace")["dry_run"] is False
    await app.testing.drain()
    runs = ask("runs", "billing-close")["items"]
    assert {run["started_by"] for run in runs} == {"grace"}
    assert [run["outcome"] for run in runs] == ["succeeded", "succeeded"]
    assert say(*BACKFILL, "--run") == "0 occurrences of billing-close created\n"


async def test_put_makes_and_changes(duetime: Duetimes, say: Any, ask: Any, shop: str) -> None:
    made = ask(*PUT, "--tz", "Europe/Paris", "--by", "grace", "--version", "0")
    assert (made["kind"], made["payload"]) == ("mail", {"to": "ada", "copies": 1})
    assert (made["recurrence"], made["tz"], made["declared"]) == (
        "0 7 * * 1-5",
        "Europe/Paris",
        False,
    )
    options = ["--misfire", "all", "--misfire-limit", "7", "--misfire-window", "2h"]
    options += ["--overlap", "queue", "--jitter", "90s", "--alert-after", "5"]
    options += ["--priority", "high", "--queue", "slow", "--version", "1"]
    options += ["--starts-at", "2090-01-01T09:00:00+01:00", "--ends-at", "2091-01-01T00:00:00Z"]
    options += ["--misfire-after", "2m"]
    said = say("put", "news-send", "every 5m", *PUT[3:], *options)
    assert said.startswith("put: news-send, every 5 minutes; next ")
    wanted: dict[str, object] = {
        "misfire": '{"all": {"limit": 7, "window": 7200.0}}',
        "overlap": "queue",
        "jitter": 90.0,
        "alert_after": 5,
        "starts_at": "2090-01-01T08:00:00Z",
        "ends_at": "2091-01-01T00:00:00Z",
        "misfire_after": 120.0,
        "next_due_at": "2090-01-01T08:00:00Z",
        "priority": "high",
        "queue": "slow",
        "version": 2,
    }
    assert wanted.items() <= ask("show", "news-send").items()
    shown = say("show", "news-send")
    assert re.search(r"misfire_after +2 m", shown)
    assert re.search(r"ends_at +2091-01-01", shown)
    assert len(ask("preview", "news-send", "--count", "3")["ticks"]) == 3
    stale = duetime("jobs", *PUT, "--version", "1", "--app", shop)
    assert stale.code == 1
    assert "is at version 2" in stale.err


async def test_tenants_see_their_own(duetime: Duetimes, ask: Any, shop: str) -> None:
    hidden = duetime("jobs", "pause", "shop-rarely", "--app", shop)
    assert hidden.code == 1
    assert "give --tenant or --any-tenant" in hidden.err
    assert ask("pause", "shop-rarely", "--tenant", "t1")["tenant"] == "t1"
    assert ask("resume", "shop-rarely", "--any-tenant")["enabled"] is True


async def test_a_store_alone_will_do(duetime: Duetimes, say: Any, url: str) -> None:
    """Payloads are plain data then; only put needs the app."""
    assert re.search(
        r'payload +\{"name": "eu"\}', duetime.ok("jobs", "show", "billing-close", "--url", url)
    )
    assert "triggered" in duetime.ok("jobs", "trigger", "billing-close", "--url", url)


@pytest.mark.parametrize(
    ("arguments", "code", "pattern"),
    [
        (["show", "billing-clos"], 1, "did you mean 'billing-close'"),
        (["trigger", "no-such"], 1, "no job 'no-such'"),
        (["pause", "billing-close", "--until", "tomorrow"], 2, "is not a date"),
        (
            ["pause", "billing-close", "--until", "2020-01-01T00:00:00Z"],
            1,
            "give an instant in the future",
        ),
        (["runs", "billing-close", "--limit", "201"], 2, "200"),
        (["list", "--tenant", "t", "--any-tenant"], 2, "not both"),
        ([*BACKFILL[:2], BACKFILL[3], BACKFILL[2]], 1, "after start"),
        ([*BACKFILL[:3], "2031-01-01T00:00:00Z"], 1, "end must not be in the future"),
        ([*PUT[:2], "0 7 * * x", *PUT[3:]], 1, "day of week"),
        ([*PUT[:2], "every day", *PUT[3:]], 2, "is not a delay"),
        (["put", "News", *PUT[2:]], 1, "a job is named"),
        (["put", "billing-close", *PUT[2:]], 1, "declared in code"),
        ([*PUT[:3], "--kind", "mial"], 1, "did you mean 'mail'"),
        ([*PUT, "--payload", "{}"], 1, "to: Field required"),
        ([*PUT, "--jitter", "soon"], 2, "is not a delay"),
        (PUT[:3], 2, "--kind"),
    ],
)
async def test_a_mistake_gets_a_clear_line(
    duetime: Duetimes, app: Duetime, shop: str, arguments: list[str], code: int, pattern: str
) -> None:
    _check(duetime("jobs", *arguments, "--app", shop), code, pattern)


def test_put_asks_for_the_app(duetime: Duetimes, url: str) -> None:
    _check(duetime("jobs", *PUT), 1, "name the app that declares 'mail'")


async def test_the_same_words_on_postgres(
    duetime: Duetimes, postgres_url: str, tmp_path: Path
) -> None:
    (tmp_path / "cluster.py").write_text((SHOP + JOBS).format(url=postgres_url))
    at = ("--app", "cluster:app")
    assert "put: news-send" in duetime.ok("jobs", *PUT, *at)
    assert "paused: news-send" in duetime.ok("jobs", "pause", "news-send", "--url", postgres_url)
    assert "triggered: news-send" in duetime.ok("jobs", "trigger", "news-send", *at)
    assert "trigger  scheduled" in duetime.ok("jobs", "runs", "news-send", *at)
    assert re.search(r"news-send +paused", duetime.ok("jobs", "list", *at))


def _check(answer: Answer, code: int, pattern: str) -> None:
    assert (answer.code, answer.out) == (code, "")
    assert "Traceback" not in answer.err
    said = " ".join(answer.err.replace("│", " ").split())  # usage errors stand in a box
    assert re.search(pattern, said), answer.err


def test_a_zone_that_is_unknown_here(tmp_path: Path, say: Any, url: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as store, store:
        changed = "UPDATE duetime_jobs SET record = replace(record, 'Europe/Paris', 'Mars/Olympus')"
        store.execute(changed)
    assert "Mars/Olympus" in say("list")
    for verb in ("pause", "resume", "show"):
        assert "30 2 * * *" in say(verb, "billing-close")
