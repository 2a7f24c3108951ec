"""Bulks that are interrupted at every statement: each action is changed once, none is missed."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.audit import AuditFilter
from duetime.model.bulk import BulkCall, BulkVerb
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Flow, Steps
from duetime.store.sql.postgres.store import PostgresStore
from store.killed_bulk import COUNT, DUE_AT, SHIFT, open_store
from store.postgres_helpers import end_others, fresh

TESTS = Path(__file__).parents[1]
# Each takes half a minute on a busy machine: `make soak` takes the others.
VERBS = [
    "shift",
    "retry",
    *(pytest.param(verb, marks=pytest.mark.soak) for verb in ("cancel", "reschedule")),
]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    name = "sqlite_path" if request.param == "sqlite" else "postgres_url"
    return str(request.getfixturevalue(name))


def shifts(store: Store, before: int) -> set[int]:
    """Return how far actions were shifted, in steps of SHIFT."""
    found = store.perform_blocking(store.find(Filter(limit=2 * COUNT)))
    assert len(found) == COUNT
    return {((record.due_at or 0) - before) // SHIFT for record in found}


@pytest.mark.parametrize("verb", VERBS)
def test_a_process_killed_at_every_statement_and_taken_up_again(url: str, verb: BulkVerb) -> None:
    killed = subprocess.run(
        [sys.executable, "-m", "store.killed_bulk", url, verb],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert killed.returncode == 0, killed.stderr
    rounds = int(killed.stdout)
    # Two steps of several statements each, the commits and the lost replies.
    assert rounds > 20
    store = open_store(url)
    found = store.perform_blocking(store.find(Filter(limit=2 * rounds * COUNT)))
    entries = store.perform_blocking(store.audit(AuditFilter(limit=9 * rounds * COUNT)))
    store.close()
    assert [is_changed(verb, record) for record in found] == [True] * rounds * COUNT
    audited = Counter(entry.verb for entry in entries)
    changes = "reschedule" if verb == "shift" else verb
    assert audited == {"bulk": rounds, changes: rounds * COUNT}
    changed = {entry.subject_id for entry in entries if entry.verb == changes}
    assert changed == {str(record.id) for record in found}


def is_changed(verb: BulkVerb, record: Record) -> bool:
    """Return whether an action is as the verb leaves it, once."""
    if verb == "cancel":
        return record.state is State.cancelled
    if verb == "retry":
        return record.state is State.scheduled and record.attempt == 1
    assert record.due_at is not None
    return record.due_at == (DUE_AT if verb == "reschedule" else record.created_at + SHIFT)


def cut_off(flow: Flow[Any], url: str, at: int, passed: list[int]) -> Flow[Any]:
    """End the store's sessions at the server before its statement `at` is sent, once."""

    def steps() -> Steps[Any]:
        running, answer, sent = flow.start(), None, 0
        while True:
            if sent == at and not passed:
                passed.append(at)
                end_others(url)
            try:
                step = running.send(answer) if answer is not None else next(running)
            except StopIteration as end:
                return end.value
            answer, sent = (yield step), sent + 1

    return Flow(steps, flow.mode, flow.resend)


def test_a_step_whose_connection_dies_at_any_statement_is_sent_again_by_the_store(
    postgres_url: str,
) -> None:
    store = PostgresStore(postgres_url, listen=False)
    store.perform_blocking(store.add(fresh(COUNT), "return"))
    [before] = {record.due_at or 0 for record in store.perform_blocking(store.find(Filter()))}
    rounds = 0
    while True:
        passed: list[int] = []
        call = BulkCall(next(iter(fresh(1))).id, 0, Act("bob"), "shift", ANY, Filter(), shift=SHIFT)
        flow = cut_off(store.step_bulk(call), postgres_url, rounds, passed)
        answer = store.perform_blocking(flow)
        assert answer.changed == COUNT
        rounds += 1
        if not passed:
            break
    assert rounds > 8
    assert shifts(store, before) == {rounds}
    store.close()
