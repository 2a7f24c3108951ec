"""What every button sends is refused without the right to it and without the form's token, and does
nothing when it is only opened. The acts are those of the tables, present and future."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import cast
from urllib.parse import urlencode

from sqlalchemy import Engine
from starlette.routing import compile_path

from admin.client import Parcel
from duetime import ANY, Duetime, Retry
from duetime.admin.declarations import ANY_IDENTITY, PUBLIC, RouteDeclaration, declaration_of
from duetime.admin.pages.router import ALL_PAGES, places
from duetime.model.access.permissions import PERMISSIONS, GrantableName
from duetime.testing import FakeClock
from pages.broken import Broken
from pages.browser import Browser, Form
from pages.notified import failure, happen
from pages.places import ROLE, new_key
from pages.readers import administrator_of
from pages.test_transitions_page import Essay, add, engine

__all__ = ["engine"]

JOB, PAUSED_JOB, FAILING_JOB = "shop-daily", "shop-weekly", "shop-failing"
PAUSED_QUEUE = "mail"
# The form of this page asks here while it is filled in.
CHECKED = {"/schedule": "/schedule/check"}
# Not of a page: what a path and a page share is only read.
READ = {200, 405}
DECLARED: list[RouteDeclaration] = [
    declaration
    for table in ALL_PAGES
    for declaration in map(declaration_of, table.endpoints)
    if declaration.method == "POST" and declaration.needs not in (PUBLIC, ANY_IDENTITY)
]


async def test_nobody_acts_without_the_right_or_the_token_or_by_a_link(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    """One test, since what is stocked serves all acts, of which none may change it."""
    addresses = await stock(app, engine, clock)
    async with administrator_of(app) as administrator:
        forms = await forms_at(administrator, addresses)
        assert {act.path for act in DECLARED} - forms.keys() == set(), "acts that no page offers"
        before = await changes(app)
        for act in DECLARED:
            for form in forms[act.path]:
                tokenless = {k: v for k, v in form.fields.items() if k != "token"}
                sent = await administrator.post(Form(form.action, "post", tokenless))
                assert sent.status_code == 403, f"{form.action} without a token"
                query = urlencode(form.fields)
                read = await administrator.client.get(f"{form.action}?{query}")
                assert read.status_code in READ, f"{form.action} by GET: {read.status_code}"
                async with everybody_but(app, act) as (reader, token):
                    stolen = Form(form.action, "post", form.fields | {"token": token})
                    sent = await reader.post(stolen)
                    assert sent.status_code == 403, f"{form.action} without {act.needs}"
                assert await changes(app) == before, form.action


async def stock(app: Duetime, engine: Engine, clock: FakeClock) -> list[str]:
    """Put something on every page; return the addresses of pages and dialogs with buttons."""

    @app.handler(kind="broken", retry=Retry(attempts=1))
    async def fail(broken: Broken) -> None:
        raise ValueError(broken.text)

    failed = await app.schedule(Broken())
    await app.jobs.put(FAILING_JOB, "0 2 * * *", payload=Broken(), alert_after=1)
    await app.jobs.trigger(FAILING_JOB)
    await app.testing.drain()
    add(engine, Essay(publish_at=clock.now(), text="bad"))
    await app.transitions.sweep()
    for name in (JOB, PAUSED_JOB):
        await app.jobs.put(name, "0 2 * * *", payload=Parcel())
    await app.jobs.pause(PAUSED_JOB)
    clock.advance(timedelta(days=2))
    await app.schedule(Parcel(), queue=PAUSED_QUEUE)
    await app.queues.pause(PAUSED_QUEUE)
    scheduled = await app.schedule(Parcel(), delay=60, queue="parcels")
    await app.api_keys.create("a key", ["nobody"], None)
    await app.grants.set("nobody", "actions.read")
    for _ in range(2):
        subscription = await app.notifications.add("action-failed", in_app=True, tenant=ANY)
    until = clock.now() + timedelta(days=9)
    await app.notifications.mute(subscription.id, until=until, tenant=ANY)
    await happen(app, failure())
    times = {"first": clock.now() - timedelta(days=9), "last": clock.now() - timedelta(days=3)}
    backfill = {name: f"{at:%Y-%m-%dT%H:%M}" for name, at in times.items()}
    return [
        *(place.path for place in places()),
        *(f"/actions/{action.id}" for action in (scheduled, failed)),
        *(f"/jobs/{name}" for name in (JOB, PAUSED_JOB)),
        f"/jobs/{JOB}?{urlencode({'dialog': 'backfill'} | backfill)}",
        f"/jobs?dialog=pause&of={JOB}",
        f"/jobs?dialog=resume&of={PAUSED_JOB}",
        f"/actions?dialog=bulk&bulk=cancel&of=ids&ids={scheduled.id}",
        "/schedule?kind=parcel",
        "/alerts/subscriptions",
    ]


async def forms_at(browser: Browser, addresses: list[str]) -> dict[str, list[Form]]:
    """The forms that act, by the path of their route, on these pages and in the dialogs that they
    open."""
    found: dict[str, dict[str, Form]] = {}
    waiting, seen = [*addresses], set[str]()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        page = await browser.open(address)
        assert page.response.status_code == 200, f"{address}: {page.response.status_code}"
        for form in page.forms:
            action = form.action.partition("?")[0]
            if form.method == "post":
                for path in (action, CHECKED.get(action)):
                    if path is not None and (route := route_of(path)) is not None:
                        of_route = found.setdefault(route, {})
                        of_route.setdefault(path, Form(path, "post", form.fields))
            elif "dialog" in form.fields and form.fields["dialog"] != "bulk":
                waiting.append(f"{action}?{urlencode(form.fields)}")
    return {route: [*forms.values()] for route, forms in found.items()}


def route_of(path: str) -> str | None:
    """The declared path of an act; the first that matches is the one that answers."""
    for act in DECLARED:
        if re.fullmatch(compile_path(act.path)[0], path):
            return act.path
    return None


@asynccontextmanager
async def everybody_but(app: Duetime, act: RouteDeclaration) -> AsyncIterator[tuple[Browser, str]]:
    """A reader who may do all but this act, and a token that is good for their forms."""
    role = f"all but {act.needs}"
    for name in PERMISSIONS:
        await app.grants.set(role, cast("GrantableName", name), allowed=name != act.needs)
    async with Browser(app.admin(admin_roles={ROLE})) as reader:
        await reader.sign_in(await new_key(app, role))
        yield reader, (await reader.open("/settings")).form("Sign out").fields["token"]


async def changes(app: Duetime) -> tuple[int, list[str]]:
    """What has been changed, by its entries in the audit log, and the actions that there are. How
    readers were given their rights is left out, and that they were refused."""
    entries = await app.audit.find(limit=200, tenant=ANY)
    done = [
        f"{entry.verb} {entry.subject_id}"
        for entry in entries
        if entry.source == "dashboard"
        if entry.verb not in ("refuse", "sign-in")
    ]
    return (await app.stats(tenant=ANY)).scheduled, done
