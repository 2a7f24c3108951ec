"""Who is refused, and in which order; what the build of an administration refuses."""

from itertools import product
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from admin.client import (
    ADMINISTRATOR,
    NOBODY,
    OF_OTHER,
    OF_TENANT,
    Parcel,
    admin_of,
    client_of,
    make_app,
    problem,
    sent_by,
)
from duetime import Duetime, Identity
from duetime.admin.bodies import read_body
from duetime.admin.declarations import PUBLIC, RouteDeclaration, declaration_of
from duetime.admin.gate import Gate
from duetime.admin.router import all_endpoints, check_routes
from duetime.errors import ConfigError
from duetime.model.access.permissions import PERMISSIONS
from patching import planted

BROKEN = b'{"broken'
BAD_BODIES: list[dict[str, Any]] = [
    {"content": BROKEN},
    {"content": BROKEN, "headers": {"content-type": "application/json"}},
    {"content": b"", "headers": {"content-length": "999999999"}},
    {"json": {"unknown": 1}},
]

DECLARATIONS = [declaration_of(endpoint) for endpoint in all_endpoints()]
GUARDED = [route for route in DECLARATIONS if route.needs != PUBLIC]


def path_of(route: Any) -> str:
    return str(
        route.path.replace("{id}", str(uuid4()))
        .replace("{name:path}", "x")
        .replace("{name}", "a-b")
    )


async def test_strangers_learn_nothing_of_any_route(memory_app: Duetime) -> None:
    expected = (401, "not-authenticated")
    assert {answer for _, answer in await answers_to_bodies(memory_app, None)} == {expected}


async def test_rights_are_checked_before_the_body(memory_app: Duetime) -> None:
    for route, answer in await answers_to_bodies(memory_app, NOBODY):
        if route.needs in PERMISSIONS:
            assert answer == (403, "permission-denied"), route
        else:
            assert answer == (200, None)


async def test_a_planted_check_behind_the_body_is_found(memory_app: Duetime) -> None:
    real = Gate.admit

    async def admit_late(gate: Gate, request: Request, route: RouteDeclaration) -> Any:
        if route.takes_body:
            await read_body(request, 1_000_000)
        return await real(gate, request, route)

    with planted([(Gate, "admit", admit_late)]):
        for sender in (None, NOBODY):
            names = {name for _, (_, name) in await answers_to_bodies(memory_app, sender)}
            assert {"unsupported-media-type", "invalid-json", "body-too-large"} <= names


async def answers_to_bodies(
    app: Duetime, sender: Identity | None
) -> list[tuple[RouteDeclaration, tuple[int, str | None]]]:
    """Send bodies that are wrong in different ways to each route, and return the answers
    to them."""
    answers = []
    async with client_of(admin_of(app), sender) as client:
        for route, bad in product(GUARDED, BAD_BODIES):
            response = await client.request(route.method, path_of(route), **bad)
            name = problem(response) if response.is_error else None
            answers.append((route, (response.status_code, name)))
            is_unknown = response.status_code == 401
            assert response.headers.get("www-authenticate") == ("Bearer" if is_unknown else None)
    return answers


async def test_the_required_role_is_needed_by_administrators_too(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app, required_role="operators")) as client:
        for route in GUARDED:
            response = await client.request(route.method, path_of(route))
            found = (response.status_code, problem(response))
            assert found == (403, "permission-denied"), route


@pytest.mark.parametrize(
    "path",
    [
        *("/api/no", "/api/actions/x/no", "/api/x-health", "/api/", "/api/a%0Ab", "/api/me%0A"),
        *("/api/queues/a%0Ab/pause", "/api/queues/x/pause%0A"),
    ],
)
async def test_strangers_do_not_learn_which_paths_there_are(memory_app: Duetime, path: str) -> None:
    async with client_of(admin_of(memory_app), sender=None) as client:
        for method in ("GET", "POST", "PATCH", "HEAD", "OPTIONS", "QUERY"):
            response = await client.request(method, path)
            assert response.status_code == 401, method


async def test_a_path_that_is_not_there_comes_before_rights(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app), NOBODY) as client:
        response = await client.get("/api/no")
        assert (response.status_code, problem(response)) == (404, "not-found")
        response = await client.patch("/api/actions", content=BROKEN)
        assert (response.status_code, problem(response)) == (405, "method-not-allowed")
        assert response.headers["allow"] == "GET, POST"


async def test_the_order_within_the_body(memory_client: httpx.AsyncClient) -> None:
    """Too large, then not JSON, then nothing of that name, then what is wrong in it."""
    path = f"/api/actions/{uuid4()}/retry"
    json_type = {"content-type": "application/json"}
    large = await memory_client.post(path, content=b"x" * 20_000_000)
    assert (large.status_code, problem(large)) == (413, "body-too-large")
    other = await memory_client.post(path, content=BROKEN, headers={"content-type": "text/plain"})
    assert (other.status_code, problem(other)) == (415, "unsupported-media-type")
    for content in (BROKEN, b'{"unknown": 1}', b"{}"):
        absent = await memory_client.post(path, content=content, headers=json_type)
        assert (absent.status_code, problem(absent)) == (404, "action-not-found")


async def test_what_is_wrong_is_said_of_what_is_there(
    memory_app: Duetime, memory_client: httpx.AsyncClient
) -> None:
    action = await memory_app.schedule(Parcel(), delay=60)
    response = await memory_client.post(f"/api/actions/{action.id}/retry", json={"unknown": 1})
    assert (response.status_code, problem(response)) == (422, "invalid-argument")
    assert response.json()["errors"][0]["pointer"] == "#/unknown"


async def test_only_administrators_name_a_tenant(memory_app: Duetime) -> None:
    asgi = admin_of(memory_app)
    async with client_of(asgi) as client:
        for sender in (NOBODY, OF_TENANT):
            for tenant in ("acme", "other", "", "\x00"):
                response = await client.get(
                    "/api/actions", params={"tenant": tenant}, headers=sent_by(sender)
                )
                assert (response.status_code, problem(response)) == (403, "permission-denied")
        await memory_app.schedule(Parcel(1), tenant="acme")
        await memory_app.schedule(Parcel(2))
        found = {
            tenant: [
                item["payload"]["order"]
                for item in (await client.get("/api/actions", params=query)).json()["items"]
            ]
            for tenant, query in {
                "all": {},
                "acme": {"tenant": "acme"},
                "none": {"tenant": ""},
            }.items()
        }
    assert found == {"all": [2, 1], "acme": [1], "none": [2]}


async def test_another_tenants_action_is_one_that_never_was(memory_app: Duetime) -> None:
    action = await memory_app.schedule(Parcel(), delay=60, tenant="acme")
    async with client_of(admin_of(memory_app), OF_OTHER) as client:
        for route in DECLARATIONS:
            if route.subject != "action":
                continue
            answers = {
                (response.status_code, response.content, *response.headers.items())
                for found in (action.id, uuid4())
                for response in [
                    await client.request(
                        route.method,
                        route.path.format(id=found),
                        json={"note": "x"} if route.takes_body else None,
                    )
                ]
            }
            assert len(answers) == 1
            assert {answer[0] for answer in answers} == {404}
    assert (await memory_app.get(action.id, tenant="acme")).state == "scheduled"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"cookie": "session=1"}, 403),
        ({"cookie": "session=1", "sec-fetch-site": "cross-site"}, 403),
        ({"cookie": "session=1", "sec-fetch-site": "same-site"}, 403),
        ({"cookie": "session=1", "origin": "https://evil.example"}, 403),
        ({"cookie": "session=1", "origin": "null"}, 403),
        ({"cookie": "session=1", "origin": "http://["}, 403),
        ({"cookie": "session=1", "sec-fetch-site": "same-origin"}, 422),
        ({"cookie": "session=1", "origin": "http://testserver"}, 422),
        ({}, 422),
    ],
)
async def test_another_site_cannot_use_the_hosts_cookie(
    memory_client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    response = await memory_client.post("/api/actions", json={}, headers=headers)
    assert response.status_code == status
    if status == 403:
        assert problem(response) == "cross-site-request"
    read = await memory_client.get("/api/actions", headers=headers)
    assert read.status_code == 200


EVIL = "https://evil.example"
BASIC = "Basic YW5uOnNlY3JldA=="


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": EVIL}, 403),
        ({"origin": EVIL, "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": EVIL, "authorization": BASIC}, 403),
        ({"origin": EVIL, "sec-fetch-site": "cross-site", "authorization": BASIC}, 403),
        ({"origin": EVIL, "authorization": "Token x"}, 202),
        ({"origin": "http://testserver", "authorization": BASIC}, 202),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, 202),
        ({"authorization": BASIC, "cookie": "session=1"}, 202),
        ({}, 202),
    ],
)
async def test_another_site_cannot_use_what_browsers_know_without_a_cookie(
    memory_client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    """Its forms can send no JSON, but an act may have no body."""
    response = await memory_client.post("/api/transitions/sweep", headers=headers)
    assert response.status_code == status


async def test_another_site_cannot_act_on_a_developers_machine(memory_app: Duetime) -> None:
    async with client_of(memory_app.admin(development=True), None) as client:
        for headers, status in (({"origin": EVIL}, 403), ({}, 202)):
            here = {"host": "localhost:8000"} | headers
            response = await client.post("/api/transitions/sweep", headers=here)
            assert response.status_code == status


async def test_the_origin_is_that_of_the_base_url(memory_app: Duetime) -> None:
    asgi = admin_of(memory_app, base_url="https://shop.example/duetime")
    async with client_of(asgi) as client:
        for origin, status in (
            ("https://shop.example", 422),
            ("http://shop.example", 403),
            ("http://testserver", 403),
        ):
            headers = {"cookie": "session=1", "origin": origin}
            response = await client.post("/api/actions", json={}, headers=headers)
            assert response.status_code == status, origin


@pytest.mark.parametrize(
    ("headers", "peer", "status"),
    [
        ({}, "127.0.0.1", 200),
        ({"host": "localhost:8000"}, "::1", 200),
        ({"host": "evil.example"}, "127.0.0.1", 401),
        ({"x-forwarded-for": "127.0.0.1"}, "127.0.0.1", 401),
        ({"forwarded": "for=127.0.0.1"}, "127.0.0.1", 401),
        ({}, "192.0.2.1", 401),
    ],
)
async def test_developers_are_on_this_machine(
    headers: dict[str, str], peer: str, status: int
) -> None:
    transport = httpx.ASGITransport(make_app().admin(development=True), client=(peer, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        assert (await client.get("/api/actions", headers=headers)).status_code == status


async def test_nobody_comes_in_unless_somebody_is_named(memory_app: Duetime) -> None:
    async with client_of(memory_app.admin()) as client:
        assert (await client.get("/api/me")).status_code == 401
        assert (await client.get("/api/health")).status_code == 200


async def test_roles_administer_only_if_they_are_named(memory_app: Duetime) -> None:
    from admin.client import identify

    async with client_of(memory_app.admin(identify=identify), ADMINISTRATOR) as client:
        assert (await client.get("/api/actions")).status_code == 403


async def unguarded() -> Response:
    return Response("nobody asked who you are")


def test_an_unguarded_route_is_refused_at_build(memory_app: Duetime) -> None:
    router = memory_app.admin_router()
    with pytest.raises(ConfigError, match="declares no permission"):
        router.add_api_route("/api/secret", unguarded)


def test_a_route_of_another_class_is_found(memory_app: Duetime) -> None:
    router = memory_app.admin_router()
    check_routes(router)
    router.add_route("/api/secret", lambda request: Response("x"))
    with pytest.raises(ConfigError, match="declares no permission"):
        check_routes(router)
