"""`duetime keys` and `duetime grants`, on SQLite."""

import json
import re

import pytest

from .conftest import Duetimes


def test_a_key_is_made_shown_once_and_revoked(duetime: Duetimes, shop: str) -> None:
    made = duetime(
        *("keys", "create", "deploy", "--role", "support", "--role", "ops", "--tenant", "acme"),
        *("--expires", "2090-01-01T00:00Z", "--by", "ann", "--note", "CI", "--app", shop),
    )
    assert made.code == 0
    [key] = made.out.splitlines()
    found = re.fullmatch(r"dt_([0-9a-f-]{36})_([0-9a-f]{64})", key)
    assert found is not None
    key_id, secret = found.groups()
    assert key_id in made.err
    assert secret not in made.err
    listed = duetime.ok("keys", "list", "--app", shop)
    assert listed.splitlines()[0].split()[:4] == ["id", "name", "roles", "tenant"]
    assert f"{key_id}  deploy  ops, support  acme" in listed
    assert secret not in listed
    assert duetime.ok("keys", "list", "--tenant", "other", "--app", shop).startswith("no keys")
    assert duetime.ok("keys", "revoke", key_id, "--app", shop) == f"revoked key {key_id} deploy\n"
    assert duetime.ok("keys", "list", "--app", shop).startswith("no keys")
    again = duetime("keys", "revoke", key_id, "--app", shop)
    assert (again.code, key_id in again.err) == (1, True)
    audit = duetime.ok("audit", "--subject", key_id, "--tenant", "acme", "--app", shop, "--json")
    assert [entry["verb"] for entry in json.loads(audit)["items"]] == ["revoke", "create"]
    assert secret not in audit


def test_keys_as_documents(duetime: Duetimes, shop: str) -> None:
    made = json.loads(
        duetime.ok("keys", "create", "deploy", "--role", "a", "--app", shop, "--json")
    )
    assert made["key"].startswith(f"dt_{made['id']}_")
    [listed] = json.loads(duetime.ok("keys", "list", "--app", shop, "--json"))["items"]
    assert (listed["id"], listed["roles"], listed["tenant"]) == (made["id"], ["a"], None)
    assert (listed["last_used_at"], listed["expires_at"]) == (None, None)
    assert {"key", "secret_hash"}.isdisjoint(listed)


def test_grants_are_set_listed_and_removed(duetime: Duetimes, shop: str) -> None:
    said = duetime.ok("grants", "set", "support", "actions.manage", "--app", shop)
    assert said.startswith("support has actions.manage for all: grant ")
    grant_id = said.split()[-1]
    said = duetime.ok(
        "grants", "set", "support", "actions.cancel", "--tenant", "acme", "--deny", "--app", shop
    )
    assert said.startswith("support has not actions.cancel for acme: grant ")
    lines = duetime.ok("grants", "list", "--app", shop).splitlines()
    assert re.search(r"support +has not +actions\.cancel +acme ", lines[1])
    assert re.search(r"support +has +actions\.manage +all ", lines[2])
    assert duetime.ok("grants", "list", "--role", "x", "--app", shop).startswith("no grants")
    text = duetime.ok("grants", "list", "--tenant", "acme", "--app", shop, "--json")
    [denied] = json.loads(text)["items"]
    assert (denied["permission"], denied["allowed"]) == ("actions.cancel", False)
    said = duetime.ok("grants", "remove", grant_id, "--app", shop)
    assert said == f"removed grant {grant_id}: support actions.manage for all\n"
    assert duetime("grants", "remove", grant_id, "--app", shop).code == 1


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["grants", "set", "support", "actions.kill"], "actions.kill"),
        (["grants", "set", "support", "admin", "--tenant", "a"], "tenant='a'"),
        (["grants", "remove", "7"], "id='7'"),
        (["keys", "revoke", "7"], "id='7'"),
        (["keys", "create", ""], "--role"),
        (["keys", "create", "k", "--role", ""], "role"),
        (["keys", "create", "k", "--role", "a", "--expires", "2001-01-01T00:00Z"], "expires"),
    ],
)
def test_mistakes_are_named(duetime: Duetimes, shop: str, command: list[str], named: str) -> None:
    answer = duetime(*command, "--app", shop)
    assert answer.code != 0
    assert named in answer.err
    assert "Traceback" not in answer.err
