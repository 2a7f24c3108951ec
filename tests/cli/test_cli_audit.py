"""`duetime audit`, on SQLite."""

import json
import re
from typing import Any

import pytest

from .conftest import Duetimes
from .test_cli_mistakes import check


@pytest.fixture
def moved(duetime: Duetimes, shop: str) -> str:
    """The id of an action that eve scheduled, ann moved and bob cancelled."""
    given = ("--delay", "1h", "--by", "eve", "--note", "by phone", "--app", shop, "--json")
    made = duetime.ok("actions", "schedule", "mail", '{"to": "ada"}', *given)
    action_id: str = json.loads(made)["id"]
    duetime.ok("actions", "reschedule", action_id, "--delay", "2h", "--by", "ann", "--app", shop)
    duetime.ok("actions", "cancel", action_id, "--by", "bob", "--note", "gone", "--app", shop)
    return action_id


@pytest.fixture
def ask(duetime: Duetimes, shop: str) -> Any:
    def asked(*arguments: str) -> Any:
        return json.loads(duetime.ok("audit", *arguments, "--app", shop, "--json"))

    return asked


def test_people_read_who_changed_what(duetime: Duetimes, shop: str, moved: str) -> None:
    lines = duetime.ok("audit", "--app", shop).splitlines()
    assert lines[0].split() == ["at", "by", "verb", "subject", "change", "note"]
    assert re.search(rf" bob +cancel +{moved} +state scheduled → cancelled +gone *$", lines[1])
    assert re.search(rf" ann +reschedule +{moved} +due_at .* → .*", lines[2])


def test_programs_read_a_document(ask: Any, moved: str) -> None:
    document = ask("--subject", moved)
    assert document["next_cursor"] is None
    newest, moved_entry, oldest = document["items"]
    assert (newest["by"], newest["verb"], newest["subject_id"]) == ("bob", "cancel", moved)
    assert newest["at"].endswith("Z")
    assert moved_entry["after"]["due_at"].endswith("Z")
    assert (newest["note"], newest["source"], newest["tenant"]) == ("gone", "cli", None)
    assert (oldest["verb"], oldest["by"], oldest["note"]) == ("schedule", "eve", "by phone")


@pytest.mark.parametrize(
    ("options", "verbs"),
    [
        (["--by", "ann"], ["reschedule"]),
        (["--verb", "cancel"], ["cancel"]),
        (["--subject", "bills-close"], []),
        (["--since", "1h"], ["cancel", "reschedule", "schedule"]),
        (["--before", "1h"], []),
        (["--since", "2020-01-01T00:00Z", "--before", "2021-01-01T00:00Z"], []),
        (["--tenant", "acme"], []),
        (["--any-tenant"], ["cancel", "reschedule", "schedule"]),
    ],
)
def test_options_narrow_what_is_listed(
    ask: Any, moved: str, options: list[str], verbs: list[str]
) -> None:
    assert [entry["verb"] for entry in ask(*options)["items"]] == verbs


def test_pages_follow_each_other(duetime: Duetimes, shop: str, ask: Any, moved: str) -> None:
    first = ask("--limit", "1")
    second = ask("--limit", "1", "--cursor", first["next_cursor"])
    third = ask("--limit", "1", "--cursor", second["next_cursor"])
    assert [page["items"][0]["by"] for page in (first, second, third)] == ["bob", "ann", "eve"]
    assert third["next_cursor"] is None
    said = duetime.ok("audit", "--limit", "1", "--app", shop)
    assert f"for more: --cursor {first['next_cursor']}" in said


def test_nothing_is_said_to_be_nothing(duetime: Duetimes, shop: str) -> None:
    assert duetime.ok("audit", "--app", shop) == "no entries match\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--verb", "cancle"], 1, "did you mean 'cancel'"),
        (["--since", "yesterday"], 2, "is not a date"),
        (["--since", "2030-01-01"], 2, "has no time zone"),
        (["--limit", "0"], 2, "--limit"),
        (["--cursor", "!"], 1, "next_cursor"),
        (["--tenant", "t", "--any-tenant"], 2, "not both"),
    ],
)
def test_mistakes_are_named(
    duetime: Duetimes, shop: str, arguments: list[str], code: int, said: str
) -> None:
    check(duetime("audit", *arguments, "--app", shop), code, said)
