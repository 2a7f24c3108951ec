"""The API inside of other applications, and behind proxies."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from wsgiref.util import shift_path_info

import httpx
import pytest
from a2wsgi import ASGIMiddleware
from fastapi import FastAPI
from flask import Flask
from starlette.applications import Starlette
from starlette.routing import Mount
from uvicorn import Config, Server
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from admin.client import (
    ADMINISTRATOR,
    USER,
    admin_of,
    client_of,
    identify,
    make_app,
    problem,
)
from duetime import Duetime
from polling import until

BODY = {"kind": "parcel", "payload": {}, "delay": 60}


def in_fastapi(app: Duetime) -> Any:
    host = FastAPI()
    host.mount("/duetime", admin_of(app))
    return host


def in_starlette(app: Duetime) -> Any:
    return Starlette(routes=[Mount("/duetime", admin_of(app))])


def included(app: Duetime) -> Any:
    host = FastAPI()
    router = app.admin_router(identify=identify, admin_roles={"administrators"})
    host.include_router(router, prefix="/duetime")
    return host


def by_prefix(app: Duetime) -> Any:
    """Behind a proxy that passes the path on as it is."""
    return admin_of(app, prefix="/duetime")


def in_django(app: Duetime) -> Any:
    from django.core.asgi import get_asgi_application

    set_up_django()
    django, admin = get_asgi_application(), admin_of(app)

    async def dispatch(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].startswith("/duetime/"):
            await admin(scope | {"root_path": "/duetime"}, receive, send)
        else:
            await django(scope, receive, send)

    return dispatch


def in_flask(app: Duetime) -> Any:
    """By WSGI."""
    return DispatcherMiddleware(Flask("shop"), {"/duetime": as_wsgi(admin_of(app))})


def in_django_by_wsgi(app: Duetime) -> Any:
    from django.core.wsgi import get_wsgi_application

    set_up_django()
    django, admin = get_wsgi_application(), as_wsgi(admin_of(app))

    def dispatch(environ: Any, start_response: Any) -> Any:
        if environ["PATH_INFO"].startswith("/duetime/"):
            shift_path_info(environ)
            return admin(environ, start_response)
        return django(environ, start_response)

    return dispatch


def set_up_django() -> None:
    from django.conf import settings

    if not settings.configured:
        settings.configure()
    # Tests of other rooms may have configured it in this process.
    settings.ROOT_URLCONF, settings.SECRET_KEY, settings.ALLOWED_HOSTS = (), "x", ["*"]


def as_wsgi(asgi: Any) -> Any:
    return ASGIMiddleware(asgi)


HOSTS = [in_fastapi, in_starlette, included, by_prefix, in_django]
every_host = pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.__name__)
WSGI_HOSTS = [in_flask, in_django_by_wsgi]


@every_host
async def test_paths_are_those_of_the_mount(
    memory_app: Duetime, host: Callable[[Duetime], Any]
) -> None:
    async with client_of(host(memory_app)) as client:
        made = await client.post("/duetime/api/actions", json=BODY)
        assert made.status_code == 201
        location = made.headers["location"]
        assert location == f"/duetime/api/actions/{made.json()['id']}"
        assert (await client.get(location)).status_code == 200
        document = (await client.get("/duetime/api/openapi.json")).json()
        [path] = [path for path in document["paths"] if path.endswith("/api/health")]
        assert document["servers"][0]["url"].rstrip("/") + path == "/duetime/api/health"


@every_host
async def test_refusals_are_the_same_in_every_host(
    memory_app: Duetime, host: Callable[[Duetime], Any]
) -> None:
    asgi = host(memory_app)
    async with client_of(asgi, sender=None) as stranger, client_of(asgi) as client:
        for method, path, status in (
            *(("GET", "/api/actions", 401), ("GET", "/api/no", 401), ("PATCH", "/api/jobs", 401)),
            ("POST", "/api/actions", 401),
        ):
            response = await stranger.request(method, f"/duetime{path}", content=b"{broken")
            assert response.status_code == status, path
            assert response.headers["content-type"] == "application/problem+json"
        assert (await client.get("/duetime/api/no")).status_code == 404
        wrong = await client.patch("/duetime/api/jobs")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")


async def test_a_proxy_that_strips_the_prefix(memory_app: Duetime) -> None:
    """It says what it stripped as `root_path`, with the path as it was or without it."""
    admin = admin_of(memory_app)
    for path in ("/api/actions", "/ops/api/actions"):

        async def behind(scope: Any, receive: Any, send: Any, path: str = path) -> None:
            await admin(scope | {"root_path": "/ops", "path": path}, receive, send)

        async with client_of(behind) as client:
            made = await client.post("/api/actions", json=BODY)
            assert made.headers["location"] == f"/ops/api/actions/{made.json()['id']}"


@pytest.mark.parametrize(
    ("prefix", "root_path", "arrives_at"),
    [("", "/ops", "/api/actions"), ("/ops", "", "/ops/api/actions")],
    ids=["stripping", "passing"],
)
async def test_a_server_behind_a_proxy(
    memory_app: Duetime, prefix: str, root_path: str, arrives_at: str
) -> None:
    """What clients ask for as `/ops/api/actions` arrives with or without what the proxy strips."""
    config = Config(
        admin_of(memory_app, prefix=prefix), port=0, root_path=root_path, log_config=None
    )
    async with served(Server(config)) as url, httpx.AsyncClient(base_url=url) as client:
        headers = {USER: ADMINISTRATOR.user}
        made = await client.post(arrives_at, json=BODY, headers=headers)
        assert made.headers["location"] == f"/ops/api/actions/{made.json()['id']}"
        document = (await client.get(f"{prefix}/api/openapi.json", headers=headers)).json()
        [path] = [path for path in document["paths"] if path.endswith("/api/health")]
        assert document["servers"][0]["url"].rstrip("/") + path == "/ops/api/health"


@asynccontextmanager
async def served(server: Server) -> AsyncIterator[str]:
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started or serving.done())
    [socket] = server.servers[0].sockets
    yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    server.should_exit = True
    await serving


async def test_the_hosts_own_document_has_the_routes(memory_app: Duetime) -> None:
    async with client_of(included(memory_app)) as client:
        document = (await client.get("/openapi.json")).json()
        own = (await client.get("/duetime/api/openapi.json")).json()
    ours = {f"/duetime{path}" for path in own["paths"]}
    assert set(document["paths"]) == ours
    assert "/duetime/api/{path}" not in document["paths"]
    post = document["paths"]["/duetime/api/actions"]["post"]
    assert post["tags"] == ["duetime"]
    assert "application/problem+json" in post["responses"]["401"]["content"]


async def test_an_included_path_with_a_line_break_is_of_the_api(memory_app: Duetime) -> None:
    async with client_of(included(memory_app), sender=None) as stranger:
        for path in ("/queues/a%0Ab/pause", "/no%0A"):
            response = await stranger.post(f"/duetime/api{path}")
            assert (response.status_code, problem(response)) == (401, "not-authenticated")


@pytest.fixture
def wsgi_app() -> Iterator[Duetime]:
    app = make_app()
    yield app
    app.sync.close()


@pytest.mark.parametrize("host", WSGI_HOSTS, ids=lambda host: host.__name__)
def test_wsgi_hosts_mount_it(wsgi_app: Duetime, host: Callable[[Duetime], Any]) -> None:
    transport = httpx.WSGITransport(host(wsgi_app))
    sender = {USER: ADMINISTRATOR.user}
    with httpx.Client(transport=transport, base_url="http://testserver") as client:
        for method, path in (("GET", "/api/actions"), ("GET", "/api/no"), ("PATCH", "/api/jobs")):
            refused = client.request(method, f"/duetime{path}", content=b"{broken")
            assert (refused.status_code, problem(refused)) == (401, "not-authenticated")
        made = client.post("/duetime/api/actions", json=BODY, headers=sender)
        assert made.status_code == 201
        location = made.headers["location"]
        assert location == f"/duetime/api/actions/{made.json()['id']}"
        assert client.get(location, headers=sender).json()["state"] == "scheduled"
        document = client.get("/duetime/api/openapi.json", headers=sender).json()
        assert document["servers"] == [{"url": "/duetime"}]
        exported = client.get("/duetime/api/actions/export", headers=sender)
        assert len(exported.text.splitlines()) == 1
        assert client.get("/elsewhere").status_code == 404
    assert wsgi_app.sync.get(made.json()["id"]).state == "scheduled"


async def test_no_lifespan_is_needed_and_one_does_no_harm(memory_app: Duetime) -> None:
    admin = admin_of(memory_app)
    sent: list[Any] = []
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await admin({"type": "lifespan", "app": None}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    async with client_of(admin) as client:
        assert (await client.get("/api/actions")).status_code == 200


def test_building_it_starts_nothing(wsgi_app: Duetime) -> None:
    before = set(threading.enumerate())
    admin = admin_of(wsgi_app)
    assert set(threading.enumerate()) <= before
    assert isinstance(admin, FastAPI)


@pytest.mark.parametrize("prefix", ["duetime", "/duetime/", "/{x}"])
def test_prefixes_that_cannot_be(wsgi_app: Duetime, prefix: str) -> None:
    from duetime.errors import ConfigError

    with pytest.raises(ConfigError, match="prefix"):
        wsgi_app.admin(prefix=prefix)


def test_settings_set_what_is_not_given() -> None:
    app = make_app(route_prefix="/ops", required_role="operators", tag="later")
    client = httpx.Client(transport=httpx.WSGITransport(as_wsgi(admin_of(app))))
    response = client.get("http://x/ops/api/actions", headers={USER: ADMINISTRATOR.user})
    assert response.status_code == 403
