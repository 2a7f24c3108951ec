"""`duetime actions bulk` and `duetime actions repeat`, on SQLite."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from duetime import Action, Duetime
from duetime.model.bulk import BULK_SIZE

from .conftest import Duetimes


@pytest.fixture
def bulk(duetime: Duetimes, shop: str) -> Callable[..., Any]:
    """Runs the command, which must succeed, and returns its document."""

    def run(*arguments: str) -> Any:
        return json.loads(
            duetime.ok("actions", "bulk", *arguments, "--yes", "--app", shop, "--json")
        )

    return run


def mails(app: Duetime, count: int, **given: Any) -> list[Action]:
    mail = app.runtime.payloads.named("mail").type
    requests = [app.request(mail(f"p{i}"), delay=3600, **given) for i in range(count)]
    return app.sync.schedule_many(requests)


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Type this at the question, as at a terminal."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda _: answer == "y")


def test_people_see_a_count_and_a_sample_and_are_asked(
    duetime: Duetimes, shop: str, app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = mails(app, 12)[-1]
    answering(monkeypatch, "n")
    asked = duetime.ok("actions", "bulk", "cancel", "--kind", "mail", "--app", shop)
    lines = asked.splitlines()
    assert lines[0].split()[:3] == ["id", "state", "kind"]
    assert lines[1].startswith(str(newest.id))
    assert lines[-2:] == ["… and 2 more", "12 actions would be cancelled"]
    assert len(app.sync.find(state="scheduled")) == 12
    answering(monkeypatch, "y")
    done = duetime.ok("actions", "bulk", "cancel", "--kind", "mail", "--app", shop)
    assert done.splitlines()[-1] == "cancelled: 12 actions"
    assert len(app.sync.find(state="scheduled")) == 0


def test_a_dry_run_changes_nothing(duetime: Duetimes, shop: str, app: Duetime) -> None:
    [action] = mails(app, 1)
    given = ("--kind", "mail", "--dry-run", "--app", shop)
    said = duetime.ok("actions", "bulk", "cancel", *given)
    assert said.splitlines()[-1] == "1 action would be cancelled"
    document = json.loads(duetime.ok("actions", "bulk", "cancel", *given, "--json"))
    assert (document["count"], document["capped"]) == (1, False)
    assert [item["id"] for item in document["sample"]] == [str(action.id)]
    nothing = duetime.ok("actions", "bulk", "retry", *given)
    assert nothing == "no actions match that can be scheduled again\n"
    assert app.sync.get(action.id).modified_at is None


def test_all_are_shifted_a_thousand_at_a_time(bulk: Any, app: Duetime) -> None:
    before = mails(app, BULK_SIZE + 5)[0]
    document = bulk("shift", "--kind", "mail", "--shift", "-30m", "--by", "ann", "--note", "why")
    assert document == {"changed": BULK_SIZE + 5, "skipped": 0, "next_cursor": None}
    assert before.due_at is not None
    after = app.sync.get(before.id)
    assert after.due_at is not None
    assert (before.due_at - after.due_at).total_seconds() == 1800
    [entry] = app.sync.audit.find(subject=before.id)
    assert (entry.by, entry.note, entry.source) == ("ann", "why", "cli")


def test_each_verb(bulk: Any, app: Duetime) -> None:
    actions = mails(app, 3, correlation_id="c")
    assert bulk("reschedule", "--correlation", "c", "--at", "2100-01-01T00:00Z")["changed"] == 3
    named = [part for action in actions[:2] for part in ("--id", str(action.id))]
    assert bulk("cancel", *named) == {"changed": 2, "skipped": 0, "next_cursor": None}
    assert bulk("retry", *named) == {"changed": 0, "skipped": 2, "next_cursor": None}
    assert bulk("cancel", "--due-before", "1h", "--state", "scheduled")["changed"] == 0
    assert bulk("cancel", "--due-from", "2099-01-01T00:00Z")["changed"] == 1


def test_actions_that_an_actor_scheduled(bulk: Any, app: Duetime) -> None:
    for by in ("ann", "bob", "ann"):
        mails(app, 1, by=by)
    assert bulk("cancel", "--scheduled-by", "ann", "--by", "eve")["changed"] == 2
    assert {action.cancelled_by for action in app.sync.find(state="cancelled")} == {"eve"}


def test_a_tenants_actions_are_meant_if_it_is_named(bulk: Any, app: Duetime) -> None:
    mails(app, 2, tenant="a")
    assert bulk("cancel", "--kind", "mail")["changed"] == 0
    assert bulk("cancel", "--kind", "mail", "--tenant", "a")["changed"] == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt(), None], ids=["ctrl-c", "refused"])
def test_an_interrupted_bulk_goes_on_with_its_cursor(
    duetime: Duetimes,
    shop: str,
    app: Duetime,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | None,
) -> None:
    mails(app, BULK_SIZE + 5)
    perform, seen = app.store.perform_blocking, []

    def interrupted(flow: Any) -> Any:
        stored = perform(flow)
        if isinstance(stored, tuple):
            seen.append(stored)
            if error is not None:
                raise error  # after the commit: the reply of the first call is lost
        if len(seen) == 1 and error is None:
            app.store.perform_blocking = refused  # type: ignore[method-assign]
        return stored

    def refused(flow: Any) -> Any:
        from duetime.errors import StoreUnavailable

        raise StoreUnavailable("no server")

    monkeypatch.setattr(app.store, "perform_blocking", interrupted)
    given = ("actions", "bulk", "shift", "--kind", "mail", "--shift", "1h", "--yes", "--app", shop)
    answer = duetime(*given)
    monkeypatch.undo()
    app.store.__dict__.pop("perform_blocking", None)
    assert answer.code == 1
    assert ("interrupted" if error else "no server") in answer.err
    cursor = answer.err.split("--cursor ")[1].strip("`\n")
    went_on = ("actions", "bulk", "shift", "--cursor", cursor, "--app", shop, "--json")
    rest = json.loads(duetime.ok(*went_on))
    assert rest["changed"] == (BULK_SIZE + 5 if error else 5)
    entries = [entry.subject_id for entry in app.sync.audit.export(verb="reschedule")]
    assert len({*entries}) == len(entries) == BULK_SIZE + 5


def test_a_bar_is_drawn_on_a_terminal_only(
    duetime: Duetimes, shop: str, app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    mails(app, 3)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    answer = duetime("actions", "bulk", "cancel", "--kind", "mail", "--yes", "--app", shop)
    assert answer.out == "cancelled: 3 actions\n"
    assert "3/3" in answer.err


MISTAKES = {
    "nothing selected": (["cancel", "--yes"], "filter"),
    "both": (["cancel", "--id", "0" * 32, "--kind", "mail", "--yes"], "not both"),
    "no time": (["shift", "--kind", "mail", "--yes"], "--shift"),
    "no instant": (["reschedule", "--kind", "mail", "--yes"], "--at"),
    "another verb's time": (["cancel", "--kind", "mail", "--shift", "1h", "--yes"], "takes none"),
    "not a time": (["shift", "--kind", "mail", "--shift", "soon", "--yes"], "not a delay"),
    "another verb": (["delete", "--kind", "mail", "--yes"], "delete"),
    "another state": (["cancel", "--state", "failed", "--yes"], "scheduled actions only"),
    "nobody to ask": (["cancel", "--kind", "mail"], "--yes"),
    "nobody to ask for JSON": (["cancel", "--kind", "mail", "--json"], "--yes"),
    "a cursor and more": (["cancel", "--cursor", "x", "--kind", "mail"], "--cursor goes on"),
    "a bad cursor": (["cancel", "--cursor", "x"], "cursor='x'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_change_nothing(duetime: Duetimes, shop: str, app: Duetime, mistake: str) -> None:
    [action] = mails(app, 1)
    arguments, said = MISTAKES[mistake]
    answer = duetime("actions", "bulk", *arguments, "--app", shop)
    assert answer.code in (1, 2)
    assert said in answer.err
    assert "Traceback" not in answer.err
    assert app.sync.get(action.id).modified_at is None


def test_repeat(duetime: Duetimes, shop: str, app: Duetime) -> None:
    [old] = mails(app, 1, correlation_id="c")
    app.sync.cancel(old.id)
    said = duetime.ok("actions", "repeat", str(old.id), "--delay", "2h", "--app", shop)
    assert said.startswith("scheduled anew: mail ")
    given = ("--payload", '{"to": "eve"}', "--note", "again", "--app", shop, "--json")
    document = json.loads(duetime.ok("actions", "repeat", str(old.id)[-7:], *given))
    assert (document["payload"]["to"], document["correlation_id"]) == ("eve", "c")
    entries = app.sync.audit.find(verb="repeat").items
    assert entries[0].after["repeated_as"] == document["id"]
    assert (entries[0].note, entries[0].source) == ("again", "cli")
    again = duetime("actions", "repeat", document["id"], "--app", shop)
    assert (again.code, "scheduled" in again.err) == (1, True)
    wrong = duetime("actions", "repeat", str(old.id), "--payload", "{}", "--app", shop)
    assert wrong.code == 1
    assert "to" in wrong.err
