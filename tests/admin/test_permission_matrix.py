"""Every route, for everybody: who may call it, and about which rows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.requests import Request

from admin.cases import CASES, DECLARED, Case, Stock, Subjects, declare_broken
from admin.client import ADMINISTRATOR, OF_TENANT, USER, client_of, make_app
from admin.permission_table import NEEDS
from duetime import ANY, Duetime, Identity
from duetime.admin.declarations import DECLARATION_ATTRIBUTE, PUBLIC, RouteDeclaration
from duetime.admin.router import all_endpoints
from duetime.model.access.permissions import BUNDLES, PERMISSIONS, STORE_WIDE, included_in
from duetime.testing import FakeClock
from patching import planted

# All rights, as grants give them, over rows without a tenant.
UNTENANTED = Identity("uma", {"everything"})
CALLERS = {identity.user: identity for identity in (ADMINISTRATOR, OF_TENANT, UNTENANTED)}
FREE, BOUND = Identity("free", {"till"}), Identity("bound", {"till"}, "acme")
KNOWN = CALLERS | {identity.user: identity for identity in (FREE, BOUND)}
TENANTS = (None, "acme", "other")


def test_every_route_has_cases() -> None:
    assert {(case.method, case.path) for case in CASES} == DECLARED.keys()


@asynccontextmanager
async def served(app: Duetime) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app's API, who is whoever a header names."""
    declare_broken(app)
    roles = ADMINISTRATOR.roles
    asgi = app.admin(identify=lambda request: _sender(request), admin_roles=roles)
    async with client_of(asgi, sender=None) as client:
        yield client


def _sender(request: Request) -> Identity | None:
    return KNOWN.get(request.headers.get(USER, ""))


@pytest.fixture
async def app(clock: FakeClock) -> AsyncIterator[Duetime]:
    async with make_app(clock=clock) as app:
        yield app


# -- which permission opens which route ----------------------------------------------------------


@pytest.mark.parametrize("permission", ["nothing", *PERMISSIONS, *BUNDLES])
async def test_a_permission_opens_its_routes_and_no_others(app: Duetime, permission: Any) -> None:
    if permission != "nothing":
        await app.grants.set("till", permission)
    assert await wrongly_judged(app, {found.name for found in included_in(permission)}) == []


async def wrongly_judged(app: Duetime, opened: set[Any]) -> list[str]:
    """Return the requests that are not answered as the table says, to those who have the opened
    permissions: without a tenant, and of one."""
    wrong = []
    async with served(app) as client:
        for identity in (FREE, BOUND):
            stock = Stock(app, identity.tenant)
            for case in CASES:
                allowed = is_opened(case, opened, identity.tenant)
                is_there = allowed or case.also_needs
                subjects = await stock.subjects(case) if is_there else Subjects()
                response = await case.send(client, subjects, {USER: identity.user})
                if response.status_code != (case.status if allowed else 403):
                    wrong.append(f"{identity.user}: {case} is {response.status_code}")
    return wrong


def is_opened(case: Case, opened: set[Any], tenant: str | None) -> bool:
    needed = {NEEDS[case.method, case.path], *case.also_needs} - {PUBLIC, "any identity"}
    return needed <= (opened if tenant is None else opened - STORE_WIDE)


async def test_strangers_are_refused(app: Duetime) -> None:
    async with served(app) as client:
        for case in CASES:
            public = NEEDS[case.method, case.path] == PUBLIC
            response = await case.send(client, Subjects())
            assert response.status_code == (case.status if public else 401), case


# -- whose rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", CALLERS)
@pytest.mark.parametrize("tenant", TENANTS)
async def test_a_request_reaches_the_rows_of_its_sender(
    app: Duetime, user: str, tenant: str | None
) -> None:
    """Of a tenant's administrator, of somebody without a tenant who has every right but is no
    administrator, and of an administrator."""
    assert await wrongly_reached(app, CALLERS[user], tenant) == []


async def wrongly_reached(app: Duetime, caller: Identity, tenant: str | None) -> list[str]:
    """Return the requests about rows of a tenant that reach rows of others, or do not reach those
    of the caller."""
    for name in PERMISSIONS:
        await app.grants.set("everything", name)  # type: ignore[arg-type]
    wrong, stock = [], Stock(app, tenant)
    async with served(app) as client:
        for case in CASES:
            subjects = await stock.subjects(case)
            before = await stored(app, subjects) if case.named else []
            response = await case.send(client, subjects, {USER: caller.user})
            if response.status_code != expected(case, caller, tenant):
                wrong.append(f"{case} is {response.status_code}")
            if reaches(case, caller, tenant) or not case.named:
                continue
            never = Subjects()
            other = await case.send(client, never, {USER: caller.user})
            if masked(response, subjects) != masked(other, never):
                wrong.append(f"{case} tells what is there: {response.text}")
            if await stored(app, subjects) != before:
                wrong.append(f"{case} changes what is there")
    return wrong


def reaches(case: Case, caller: Identity, tenant: str | None) -> bool:
    # An administrator, too, schedules in one tenant, and the parent must be there.
    everywhere = caller is ADMINISTRATOR and not case.makes_child
    return everywhere or caller.tenant == tenant


def expected(case: Case, caller: Identity, tenant: str | None) -> int:
    if caller.tenant is not None and NEEDS[case.method, case.path] in STORE_WIDE:
        return 403
    has_tenant = bool(case.named) and "/queues/" not in case.path
    return case.absent if has_tenant and not reaches(case, caller, tenant) else case.status


def masked(response: httpx.Response, subjects: Subjects) -> tuple[int, str]:
    text = response.text
    for name in subjects.all():
        text = text.replace(name, "*")
    return response.status_code, text


async def stored(app: Duetime, subjects: Subjects) -> list[Any]:
    """What the store holds of the subjects, whoever asks."""
    actions = (subjects.scheduled, subjects.cancelled, subjects.failed)
    removed = await app.jobs.list(removed=True, q=subjects.removed, tenant=ANY)
    return [
        *[await app.get(UUID(action), tenant=ANY) for action in actions],
        await app.jobs.get(subjects.job, tenant=ANY),
        [job.name for job in removed],
        await app.jobs.runs(subjects.job, tenant=ANY),
        await app.notifications.get(subjects.subscription, tenant=ANY),
        await unread_of_somebody(app),
    ]


async def unread_of_somebody(app: Duetime) -> list[tuple[str, int]]:
    """How many notifications each caller has not marked."""
    counts = [(user, await app.notifications.unread(reader=user, tenant=ANY)) for user in KNOWN]
    return [*counts]


async def test_an_administrator_may_ask_as_a_tenant(app: Duetime) -> None:
    stock = Stock(app, "acme")
    async with served(app) as client:
        for case in CASES:
            if not case.named:
                continue
            subjects = await stock.subjects(case)
            asked = replace(case, url=f"{case.url}{'&' if '?' in case.url else '?'}tenant=other")
            response = await asked.send(client, subjects, {USER: ADMINISTRATOR.user})
            # As somebody who may do everything, and is not of this tenant.
            assert response.status_code == expected(case, UNTENANTED, "acme"), case


# -- faults that are planted are found ------------------------------------------------------------


async def test_a_planted_open_route_is_found(app: Duetime) -> None:
    [get_actions] = [
        endpoint
        for endpoint in all_endpoints()
        if getattr(endpoint, DECLARATION_ATTRIBUTE).path == "/api/actions"
        and getattr(endpoint, DECLARATION_ATTRIBUTE).method == "GET"
    ]
    declared: RouteDeclaration = getattr(get_actions, DECLARATION_ATTRIBUTE)
    opened = replace(declared, needs="any identity")
    with planted([(get_actions, DECLARATION_ATTRIBUTE, opened)]):
        wrong = await wrongly_judged(app, set())
    assert wrong
    assert all("GET /actions?" in each for each in wrong)


async def test_a_planted_read_across_tenants_is_found(app: Duetime) -> None:
    real = Duetime.get

    async def get_of_anybody(app: Duetime, action_id: Any, *, tenant: Any = None) -> Any:
        return await real(app, action_id, tenant=ANY)

    with planted([(Duetime, "get", get_of_anybody)]):
        wrong = await wrongly_reached(app, OF_TENANT, "other")
    assert any(each.startswith("GET /actions/<failed> is 200") for each in wrong)


async def test_a_planted_change_across_tenants_is_found(app: Duetime) -> None:
    real = Duetime.cancel

    async def cancel_of_anybody(app: Duetime, action_id: Any, **given: Any) -> Any:
        return await real(app, action_id, **given | {"tenant": ANY})

    with planted([(Duetime, "cancel", cancel_of_anybody)]):
        wrong = await wrongly_reached(app, OF_TENANT, "other")
    assert "DELETE /actions/<scheduled>?note=x changes what is there" in wrong
