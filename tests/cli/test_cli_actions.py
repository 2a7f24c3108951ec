"""Every verb of `duetime actions`, on SQLite."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from duetime import ANY, Duetime, State
from duetime.cli.options import os_user

from .conftest import SHOP, Duetimes


@pytest.fixture
def ask(duetime: Duetimes, shop: str) -> Any:
    """Run a verb with --json and give the document."""

    def asked(verb: str, *arguments: str) -> Any:
        return json.loads(duetime.ok("actions", verb, *arguments, "--app", shop, "--json"))

    return asked


async def run_all(app: Duetime, action_id: str) -> None:
    async with app, app.worker():
        await app.wait(action_id, timeout=20, tenant=ANY)


def test_a_scheduled_action_shows_all_its_fields(ask: Any) -> None:
    at = "2031-05-06T07:08:09+02:00"
    options = ["--key", "k", "--correlation", "c", "--priority", "high", "--queue", "q"]
    made = ask("schedule", "mail", '{"to": "ada"}', "--at", at, *options, "--by", "grace")
    assert made["created"] is True
    assert made["payload"] == {"to": "ada", "copies": 1}
    assert made["due_at"] == "2031-05-06T05:08:09Z"
    wanted: dict[str, object] = {
        "kind": "mail",
        "state": "scheduled",
        "key": "k",
        "correlation_id": "c",
    }
    wanted |= {"priority": "high", "queue": "q", "created_by": "grace", "tenant": None}
    assert wanted.items() <= made.items()
    again = ask("show", made["id"])
    assert again.pop("runs") == []
    assert again == {name: value for name, value in made.items() if name != "created"}


def test_a_delay_counts_from_now(ask: Any) -> None:
    made = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h30m")
    due, created = (datetime.fromisoformat(made[name]) for name in ("due_at", "created_at"))
    assert due - created == timedelta(minutes=90)
    assert made["created_by"] == os_user()


def test_an_action_may_expire(duetime: Duetimes, ask: Any, shop: str) -> None:
    expires = "2031-05-06T07:08:09+02:00"
    made = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--expires", expires)
    assert made["expires_at"] == "2031-05-06T05:08:09Z"
    said = duetime.ok("actions", "show", made["id"], "--app", shop)
    assert "expires_at" in said
    plain = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h")
    assert plain["expires_at"] is None
    assert "expires_at" not in duetime.ok("actions", "show", plain["id"], "--app", shop)
    for late in ("2020-01-01T00:00:00Z", "2031-05-06"):
        refused = duetime("actions", "schedule", "mail", "--expires", late, "--app", shop)
        assert refused.code != 0


def test_people_read_when_it_is_due(duetime: Duetimes, shop: str) -> None:
    said = duetime.ok(
        "actions", "schedule", "mail", '{"to": "ada"}', "--delay", "3m", "--app", shop
    )
    assert re.fullmatch(r"scheduled: mail \S{36}, due .*\d\d:\d\d:\d\d \w+, in 3 m\n", said)


def test_a_taken_key_is_returned_replaced_or_refused(
    ask: Any, duetime: Duetimes, shop: str
) -> None:
    first = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--key", "k")
    second = ask("schedule", "mail", '{"to": "bob"}', "--delay", "1h", "--key", "k")
    assert (second["id"], second["created"]) == (first["id"], False)
    assert second["payload"]["to"] == "ada"
    both = ["actions", "schedule", "mail", '{"to": "bob"}', "--delay", "1h", "--key", "k"]
    said = duetime.ok(*both, "--if-exists", "replace", "--app", shop)
    assert said.startswith(f"replaced: mail {first['id']}")
    assert ask("show", first["id"])["payload"]["to"] == "bob"
    refused = duetime(*both, "--if-exists", "raise", "--app", shop)
    assert refused.code == 1
    assert f"held by unfinished action {first['id']}" in refused.err
    assert "--if-exists return" in refused.err


def test_a_list_comes_in_pages(ask: Any) -> None:
    made = [ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h")["id"] for _ in range(3)]
    first = ask("list", "--limit", "2")
    assert [item["id"] for item in first["items"]] == made[:0:-1]
    rest = ask("list", "--limit", "2", "--cursor", first["next_cursor"])
    assert [item["id"] for item in rest["items"]] == made[:1]
    assert rest["next_cursor"] is None


def test_a_list_is_narrowed_by_each_filter(ask: Any) -> None:
    options = ["--key", "k", "--correlation", "c", "--queue", "q"]
    wanted = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h", *options)["id"]
    ask("cancel", ask("schedule", "watch", '{"name": "x"}', "--delay", "1h")["id"])
    for given in (
        options[:2],
        options[2:4],
        options[4:],
        ["--kind", "mail"],
        ["--state", "scheduled"],
    ):
        assert [item["id"] for item in ask("list", *given)["items"]] == [wanted]


def test_a_list_for_people(duetime: Duetimes, ask: Any, url: str) -> None:
    made = ask("schedule", "mail", '{"to": "ada"}', "--delay", "150m")
    ask("schedule", "mail", '{"to": "bob"}', "--delay", "150m")
    table = duetime.ok("actions", "list", "--url", url)
    (line,) = [line for line in table.splitlines() if made["id"] in line]
    assert re.search(r"scheduled +mail +.*\d\d:\d\d:\d\d \w+, in 2 h +0", line)
    paged = duetime.ok("actions", "list", "--url", url, "--limit", "1")
    assert re.search(r"for more: --cursor \S+\n$", paged)
    assert duetime.ok("actions", "list", "--url", url, "--kind", "no") == "no actions match\n"


def test_the_url_may_come_from_the_environment_or_toml(
    duetime: Duetimes, ask: Any, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    made = ask("schedule", "mail", '{"to": "ada"}', "--delay", "2h")["id"]
    monkeypatch.setenv("DUETIME_URL", url)
    assert made in duetime.ok("actions", "list")
    monkeypatch.delenv("DUETIME_URL")
    (tmp_path / "duetime.toml").write_text(f'[duetime]\nurl = "{url}"\n')
    assert made in duetime.ok("actions", "show", made)


def test_cancel_and_reschedule(duetime: Duetimes, ask: Any, url: str) -> None:
    made = ask("schedule", "mail", '{"to": "ada"}', "--delay", "2h")["id"]
    said = duetime.ok("actions", "reschedule", made, "--delay", "1d", "--url", url)
    assert re.fullmatch(rf"rescheduled: mail {made}, due .* in 24 h\n", said)
    moved = ask("reschedule", made, "--at", "2031-01-01T00:00:00Z", "--by", "grace")
    assert (moved["due_at"], moved["modified_by"]) == ("2031-01-01T00:00:00Z", "grace")
    said = duetime.ok("actions", "cancel", made, "--url", url, "--by", "ada")
    assert said == f"cancelled: mail {made}\n"
    assert ask("show", made)["cancelled_by"] == "ada"
    refused = duetime("actions", "cancel", made, "--url", url)
    assert (refused.code, refused.out) == (1, "")
    assert "it is cancelled" in refused.err


async def test_a_failed_action_shows_its_run_and_is_retried(
    duetime: Duetimes, app: Duetime, url: str
) -> None:
    action = await app.schedule(app.runtime.payloads.decode("mail", 1, '{"to": "nobody"}'))
    await run_all(app, str(action.id))
    shown = duetime.ok("actions", "show", str(action.id), "--url", url)
    assert re.search(r"state +failed", shown)
    assert re.search(r'payload +\{"to": "nobody", "copies": 1\}', shown)
    assert re.search(
        r"attempt 1  failed  started .*late by .* ms.*\n +ValueError: no such person", shown
    )
    assert re.search(r"\n +Traceback \(most recent call last\):\n", shown)
    assert re.search(r"\n +File .*, in ", shown)
    document = json.loads(duetime.ok("actions", "show", str(action.id), "--url", url, "--json"))
    (run,) = document["runs"]
    assert run["traceback"].splitlines()[-1] == "ValueError: no such person"
    assert (run["outcome"], run["attempt"]) == ("failed", 1)
    assert 0 <= run["late_by"] < 60
    said = duetime.ok("actions", "retry", str(action.id), "--url", url)
    assert said.startswith(f"scheduled again: mail {action.id}, due ")
    refused = duetime("actions", "retry", str(action.id), "--url", url)
    assert refused.code == 1
    assert "it is scheduled" in refused.err


async def test_a_stop_of_a_running_action_is_requested_only_with_the_option(
    duetime: Duetimes, app: Duetime, url: str
) -> None:
    action = await app.schedule(app.runtime.payloads.decode("watch", 1, '{"name": "x"}'))
    async with app, app.worker():
        while (await app.get(action.id)).state is not State.running:
            pass
        refused = duetime("actions", "cancel", str(action.id), "--url", url)
        assert refused.code == 1
        assert "--running asks its handler to stop" in refused.err
        said = duetime.ok("actions", "cancel", str(action.id), "--running", "--url", url)
        assert said == f"asked to stop: watch {action.id}\n"


async def test_only_a_running_action_shows_its_lease(
    duetime: Duetimes, app: Duetime, url: str
) -> None:
    action = await app.schedule(app.runtime.payloads.decode("watch", 1, '{"name": "x"}'))
    show = ("actions", "show", str(action.id), "--url", url)
    assert "lease_expires_at" not in duetime.ok(*show)
    async with app, app.worker():
        while (await app.get(action.id)).state is not State.running:
            pass
        assert re.search(r"lease_expires_at .*, in 1\d s", duetime.ok(*show))
        await app.cancel(action.id, running=True)
        await app.wait(action.id, timeout=20)
    assert "lease_expires_at" not in duetime.ok(*show)


def test_tenants_see_their_own(duetime: Duetimes, ask: Any, url: str) -> None:
    mine = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--tenant", "t1")["id"]
    assert ask("list")["items"] == []
    assert ask("list", "--tenant", "t2")["items"] == []
    assert [item["id"] for item in ask("list", "--tenant", "t1")["items"]] == [mine]
    assert [item["tenant"] for item in ask("list", "--any-tenant")["items"]] == ["t1"]
    assert re.search(r"mail +t1 ", duetime.ok("actions", "list", "--any-tenant", "--url", url))
    hidden = duetime("actions", "cancel", mine, "--url", url)
    assert hidden.code == 1
    assert "give --tenant or --any-tenant" in hidden.err
    assert ask("cancel", mine, "--any-tenant")["state"] == "cancelled"


def test_json_is_utf8_and_instants_are_utc(ask: Any) -> None:
    made = ask("schedule", "mail", '{"to": "Zoë"}')
    assert made["payload"]["to"] == "Zoë"
    created = datetime.fromisoformat(made["created_at"])
    assert made["created_at"].endswith("Z")
    assert created.tzinfo is UTC or created.utcoffset() == timedelta(0)


def test_the_same_words_on_postgres(duetime: Duetimes, postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.py").write_text(SHOP.format(url=postgres_url))
    schedule = ["schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--app", "cluster:app"]
    made = json.loads(duetime.ok("actions", *schedule, "--json"))["id"]
    assert made in duetime.ok("actions", "list", "--url", postgres_url)
    duetime.ok("actions", "reschedule", made, "--delay", "2h", "--url", postgres_url)
    assert "cancelled: mail" in duetime.ok("actions", "cancel", made, "--url", postgres_url)
    assert "no runs yet" in duetime.ok("actions", "show", made, "--url", postgres_url)


def test_an_action_waits_for_another(duetime: Duetimes, shop: str, ask: Any) -> None:
    parent = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h")
    child = ask("schedule", "mail", '{"to": "bob"}', "--after", parent["id"], "--on", "failed")
    assert (child["after"], child["on"], child["due_at"]) == (parent["id"], "failed", None)
    waits = ["after", parent["id"], "failed"]
    for said in (
        duetime.ok("actions", "list", "--app", shop),
        duetime.ok("actions", "show", child["id"], "--app", shop),
        duetime.ok("actions", "reschedule", child["id"], "--delay", "1h", "--app", shop),
    ):
        assert all(word in said for word in waits)
    ask("cancel", parent["id"])
    gone = ask("show", child["id"])
    assert (gone["state"], gone["cancelled_by"]) == ("cancelled", "system")
    assert parent["id"] in gone["error"]


def test_a_wrong_parent_is_refused(duetime: Duetimes, shop: str) -> None:
    call = ["actions", "schedule", "mail", '{"to": "ada"}', "--app", shop]
    unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert unknown in duetime(*call, "--after", unknown).err
    assert "after" in duetime(*call, "--on", "failed").err


def test_find_takes_filters_and_orders(duetime: Duetimes, ask: Any, shop: str) -> None:
    late = ask("schedule", "mail", '{"to": "ada"}', "--delay", "3h", "--key", "late")["id"]
    early = ask("schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--priority", "high")["id"]

    def found(*given: str) -> list[str]:
        items = ask("find", *given)["items"]
        assert items == ask("list", *given)["items"]
        return [item["id"] for item in items]

    assert found("--sort", "due_at") == [early, late]
    assert found("--sort", "-due_at", "--state", "scheduled", "--state", "running") == [late, early]
    assert found("--due-before", "2h") == [early]
    assert found("--due-from", "in 2h", "--kind", "mail", "--kind", "sms") == [late]
    assert found("--due-from", "2h ago", "--priority", "high", "--no-parked") == [early]
    assert found("--created-before", "1h") == found("--overdue") == []
    assert found("--created-from", "1h", "--search", "late", "--no-waiting") == [late]
    refused = duetime("actions", "find", "--app", shop, "--sort", "due")
    assert (refused.code, "due_at" in refused.err) == (1, True)


def test_groups_count_what_is_alike(duetime: Duetimes, ask: Any, shop: str) -> None:
    for number in range(3):
        ask("schedule", "mail", '{"to": "ada"}', "--queue", f"q{number % 2}", "--delay", "1h")
    groups = ask("groups", "--by", "queue")
    assert [(group["value"], group["count"]) for group in groups["groups"]] == [
        ("q0", 2),
        ("q1", 1),
    ]
    assert groups["examined_since"] is None
    table = duetime.ok("actions", "groups", "--by", "queue", "--app", shop)
    assert re.search(r"2 +q0", table)
    assert duetime.ok("actions", "groups", "--app", shop).startswith("no actions match")
