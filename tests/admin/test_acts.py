"""Every act leaves its entry in the audit log: who, why, through which surface, from where; in the
transaction of the act."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from admin.cases import CASES, DECLARED, Case, Subjects, declare_broken, make_subjects
from admin.client import ADMINISTRATOR, OF_TENANT, admin_of, client_of, sent_by
from admin.permission_table import NEEDS, Place
from duetime import ANY, AuditEntry, Duetime
from duetime.model.access.permissions import STORE_WIDE

# What each route writes; a bulk, an entry for each action, too.
VERBS: dict[Place, str] = {
    ("POST", "/api/actions"): "schedule",
    ("POST", "/api/actions/many"): "schedule",
    ("POST", "/api/actions/{id}/repeat"): "repeat",
    ("DELETE", "/api/actions/{id}"): "cancel",
    ("PUT", "/api/actions/{id}/reschedule"): "reschedule",
    ("POST", "/api/actions/{id}/retry"): "retry",
    ("POST", "/api/actions/bulk"): "bulk",
    ("PUT", "/api/jobs/{name}"): "put",
    ("DELETE", "/api/jobs/{name}"): "remove",
    ("POST", "/api/jobs/{name}/restore"): "restore",
    ("POST", "/api/jobs/{name}/pause"): "pause",
    ("POST", "/api/jobs/{name}/resume"): "resume",
    ("POST", "/api/jobs/{name}/trigger"): "trigger",
    ("POST", "/api/jobs/{name}/backfill"): "backfill",
    ("POST", "/api/queues/{name:path}/pause"): "pause",
    ("POST", "/api/queues/{name:path}/resume"): "resume",
    ("POST", "/api/grants"): "set",
    ("DELETE", "/api/grants/{id}"): "remove",
    ("POST", "/api/api-keys"): "create",
    ("DELETE", "/api/api-keys/{id}"): "revoke",
    ("POST", "/api/subscriptions"): "subscribe",
    ("PATCH", "/api/subscriptions/{id}"): "change",
    ("DELETE", "/api/subscriptions/{id}"): "remove",
    ("POST", "/api/subscriptions/{id}/mute"): "mute",
    ("POST", "/api/subscriptions/{id}/test"): "test",
}
# By the verb in the body.
BY_BODY = {("POST", "/api/jobs/bulk")}
# They change nothing but a mark of the reader's, or not here: this app has no row transitions.
NO_ACTS = {
    ("POST", "/api/recurrences/preview"),
    ("POST", "/api/transitions/sweep"),
    ("POST", "/api/transitions/parked/retry"),
    ("POST", "/api/notifications/read"),
}
AWAY = "ALTER TABLE duetime_audit RENAME TO duetime_audit_away"


def acts() -> list[tuple[Case, str]]:
    found = []
    for case in CASES:
        place, is_dry = (case.method, case.path), "dry" in str(case) and "false" not in str(case)
        is_dry = is_dry or (case.path.endswith("/backfill") and case.status == 200)
        if case.method == "GET" or place in NO_ACTS or is_dry:
            continue
        verb = case.body["verb"] if place in BY_BODY else VERBS[place]
        found.append((case, verb))
    return found


ACTS = acts()


def test_every_route_that_changes_something_is_an_act() -> None:
    changing = {place for place in DECLARED if place[0] != "GET"}
    assert changing == VERBS.keys() | BY_BODY | NO_ACTS


def noted(case: Case) -> Case:
    """Return the act with a note."""
    if case.method != "DELETE":
        return replace(case, body=(case.body or {}) | {"note": "why"})
    return replace(case, url=f"{case.url.partition('?')[0]}?note=why")


def sender(case: Case) -> Any:
    return ADMINISTRATOR if NEEDS[case.method, case.path] in STORE_WIDE else OF_TENANT


@pytest.fixture
async def app(app: Duetime) -> Duetime:
    declare_broken(app)
    return app


async def prepared(app: Duetime, case: Case, verb: str) -> Subjects:
    tenant = sender(case).tenant
    subjects = await make_subjects(app, tenant)
    if verb == "resume":
        await app.jobs.pause(subjects.job, tenant=tenant)
        await app.queues.pause(subjects.job)
    return subjects


@pytest.mark.parametrize(("case", "verb"), ACTS, ids=str)
async def test_an_act_leaves_its_entry(memory_app: Duetime, case: Case, verb: str) -> None:
    declare_broken(memory_app)
    subjects, by = await prepared(memory_app, case, verb), sender(case).user
    async with client_of(admin_of(memory_app), sender=None) as client:
        response = await noted(case).send(client, subjects, sent_by(sender(case)))
    assert response.status_code == case.status, response.text
    entries = list(await memory_app.audit.find(by=by, tenant=ANY))
    assert verb in {entry.verb for entry in entries}
    for entry in entries:
        assert (entry.note, entry.source, entry.address) == ("why", "api", "127.0.0.1"), entry
        assert entry.tenant == (sender(case).tenant if has_tenant(entry) else None), entry


def has_tenant(entry: AuditEntry) -> bool:
    return entry.subject not in {"queue", "grant", "api-key"}


@pytest.mark.parametrize(("case", "verb"), ACTS, ids=str)
async def test_without_a_note_there_is_an_entry_too(
    memory_app: Duetime, case: Case, verb: str
) -> None:
    declare_broken(memory_app)
    subjects = await prepared(memory_app, case, verb)
    without = replace(case, url=case.url.partition("?")[0])
    async with client_of(admin_of(memory_app), sender=None) as client:
        await without.send(client, subjects, sent_by(sender(case)))
    entries = await memory_app.audit.find(by=sender(case).user, verb=verb, tenant=ANY)
    assert {entry.note for entry in entries} == {None}


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_without_its_entry_there_is_no_act(app: Duetime, url: str) -> None:
    """Where entries cannot be written, each act fails, and nothing of it stays."""
    prepared_for = [(case, verb, await prepared(app, case, verb)) for case, verb in ACTS]
    take_away_the_log(url)
    async with client_of(admin_of(app), sender=None) as client:
        for case, verb, subjects in prepared_for:
            before = await stored(app, subjects)
            response = await case.send(client, subjects, sent_by(sender(case)))
            assert response.status_code >= 500, (case, verb, response.text)
            assert await stored(app, subjects) == before, case


def take_away_the_log(url: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute(AWAY)
    else:
        with psycopg.connect(url) as connection_to_server:
            connection_to_server.execute(AWAY)


async def stored(app: Duetime, subjects: Subjects) -> list[Any]:
    return [
        list(await app.find(tenant=ANY, limit=200)),
        await app.jobs.get(subjects.job, tenant=ANY),
        [job.name for job in await app.jobs.list(removed=True, tenant=ANY, limit=200)],
        await app.grants.list(tenant=ANY),
        await app.api_keys.list(tenant=ANY),
        await app.notifications.subscriptions(tenant=ANY),
        list(await app.notifications.list(tenant=ANY, limit=200)),
        [(queue.name, queue.paused_at) for queue in await app.queues.list()],
    ]
