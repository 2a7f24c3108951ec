"""`duetime erase` and `duetime audit export`, on SQLite."""

import json
import sys
from typing import Any

import pytest

from duetime import Duetime
from duetime.model.erasure import ERASURE_SIZE

from .conftest import Duetimes


def mails(app: Duetime, count: int, **given: Any) -> None:
    mail = app.runtime.payloads.named("mail").type
    app.sync.schedule_many([app.request(mail("ann"), delay=3600, **given) for _ in range(count)])


def payloads(app: Duetime, **wanted: Any) -> list[Any]:
    return [action.payload for action in app.sync.find(limit=200, **wanted)]


def test_a_correlation_id_is_erased(duetime: Duetimes, shop: str, app: Duetime) -> None:
    mails(app, 2, correlation_id="ann")
    mails(app, 1, correlation_id="bob")
    erase = ("erase", "--correlation", "ann", "--yes", "--app", shop)
    assert duetime.ok(*erase, "--note", "request 7") == "erased 2, of which 2 were waiting\n"
    assert payloads(app, correlation_id="ann") == [None, None]
    assert payloads(app, correlation_id="bob") != [None]
    [entry] = app.sync.audit.find(verb="erase")
    assert (entry.note, entry.source) == ("request 7", "cli")
    assert duetime.ok(*erase) == "erased 0, of which 0 were waiting\n"


def test_a_tenant_is_erased_call_by_call(duetime: Duetimes, shop: str, app: Duetime) -> None:
    mails(app, ERASURE_SIZE + 5, tenant="a")
    mails(app, 1, tenant="b")
    mail = app.runtime.payloads.named("mail").type
    app.sync.jobs.put("a-mail", "0 0 * * *", payload=mail("ann"), tenant="a")
    document = json.loads(duetime.ok("erase", "--tenant", "a", "--yes", "--app", shop, "--json"))
    assert document == {
        "erased": ERASURE_SIZE + 5,
        "cancelled": ERASURE_SIZE + 5,
        "left": 0,
        "running": 0,
        "jobs": 1,
    }
    assert {*payloads(app, tenant="a")} == {None}
    said = duetime.ok("erase", "--tenant", "a", "--yes", "--app", shop)
    assert said.splitlines()[-1] == "the tenant has 1 jobs, which stay: see `duetime jobs list`"


@pytest.mark.parametrize(
    ("option", "left"), [((), 2), (("--in-tenant", "a"), 2), (("--any-tenant",), 0)]
)
def test_where_a_correlation_id_is_meant(
    duetime: Duetimes, shop: str, app: Duetime, option: tuple[str, ...], left: int
) -> None:
    from duetime import ANY

    for tenant in (None, "a", "b"):
        mails(app, 1, correlation_id="c", tenant=tenant)
    duetime.ok("erase", "--correlation", "c", *option, "--yes", "--app", shop)
    assert len(app.sync.find(state="scheduled", tenant=ANY)) == left


def test_what_runs_is_left(duetime: Duetimes, shop: str, app: Duetime) -> None:
    from duetime.model.actions.claim import ClaimOrder, LaneSpan

    mail = app.runtime.payloads.named("mail").type
    app.sync.schedule(mail("ann"), correlation_id="c")
    span = LaneSpan("1.0.default", 0, 0)
    app.store.perform_blocking(app.store.claim(ClaimOrder("w", [span], 1, 60_000_000)))
    said = duetime.ok("erase", "--correlation", "c", "--yes", "--app", shop)
    assert said.splitlines() == [
        "erased 0, of which 0 were waiting",
        "left 1, of which 1 are running: erase again when they have finished",
    ]


def test_people_are_asked(
    duetime: Duetimes, shop: str, app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    mails(app, 1, correlation_id="c")
    asked: list[str] = []

    def confirm(question: str, *, abort: bool) -> None:
        asked.append(question)
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", confirm)
    answer = duetime("erase", "--correlation", "c", "--app", shop)
    assert answer.code == 130
    assert asked == ["Erase the data of all actions of correlation id 'c' for good?"]
    assert len(app.sync.find(state="scheduled")) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--correlation or --tenant"),
        (["--correlation", "c", "--tenant", "a"], "--correlation or --tenant"),
        (["--tenant", "a", "--in-tenant", "b"], "where --correlation is meant"),
        (["--correlation", "c", "--in-tenant", "b", "--any-tenant"], "not both"),
        (["--correlation", ""], "correlation_id=''"),
        (["--correlation", "c", "--in-tenant", ""], "tenant=''"),
    ],
    ids=str,
)
def test_mistakes_erase_nothing(
    duetime: Duetimes, shop: str, app: Duetime, arguments: list[str], said: str
) -> None:
    mails(app, 1, correlation_id="c", tenant="a")
    answer = duetime("erase", *arguments, "--yes", "--app", shop)
    assert answer.code in (1, 2)
    assert said in answer.err
    assert len(app.sync.find(state="scheduled", tenant="a")) == 1


def test_without_anybody_to_ask_yes_is_needed(duetime: Duetimes, shop: str, app: Duetime) -> None:
    mails(app, 1, correlation_id="c")
    answer = duetime("erase", "--correlation", "c", "--app", shop)
    assert (answer.code, "--yes" in answer.err) == (2, True)
    assert len(app.sync.find(state="scheduled")) == 1


def test_the_audit_log_is_exported_line_by_line(duetime: Duetimes, shop: str, app: Duetime) -> None:
    mails(app, 250)
    app.sync.bulk("cancel", filter={"kind": "mail"}, by="ann", note="two\nlines")
    lines = duetime.ok("audit", "export", "--app", shop).splitlines()
    entries = [json.loads(line) for line in lines]
    assert len(entries) == 251
    assert [entry["at"] for entry in entries] == sorted((e["at"] for e in entries), reverse=True)
    assert {entry["note"] for entry in entries} == {"two\nlines"}
    bulks = duetime.ok("audit", "export", "--verb", "bulk", "--by", "ann", "--app", shop)
    assert [json.loads(line)["after"]["count"] for line in bulks.splitlines()] == [250]
    assert duetime.ok("audit", "export", "--tenant", "a", "--app", shop) == ""
