"""FastAPI's own Depends means the same here; its other markers are refused by name."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
from fastapi import Depends, FastAPI, Query, Security
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from api.apps import Note
from duetime import Duetime, State, current_tenant
from duetime.errors import ConfigError


def make() -> str:
    return "made"


async def test_the_marker_in_an_annotation_is_understood(memory_app: Duetime) -> None:
    @memory_app.handler()
    async def note(payload: Note, value: Annotated[str, Depends(make)]) -> str:
        return value

    action = await memory_app.schedule(Note())
    await memory_app.testing.drain()
    done = await memory_app.get(action.id)
    assert (done.state, done.result) == (State.succeeded, "made")


async def test_the_marker_as_a_default_is_understood(memory_app: Duetime) -> None:
    def nested(value: Any = Depends(make)) -> str:  # noqa: B008
        return f"nested {value}"

    @memory_app.handler()
    def note(payload: Note, value: Any = Depends(nested)) -> str:  # noqa: B008
        return str(value)

    action = await memory_app.schedule(Note())
    await memory_app.testing.drain()
    assert (await memory_app.get(action.id)).result == "nested made"


async def test_its_cache_switch_is_understood(memory_app: Duetime) -> None:
    made: list[object] = []

    def counted() -> int:
        made.append(None)
        return len(made)

    @memory_app.handler()
    async def note(
        payload: Note,
        a: Annotated[int, Depends(counted)],
        b: Annotated[int, Depends(counted)],
        c: Annotated[int, Depends(counted, use_cache=False)],
    ) -> list[int]:
        return [a, b, c]

    action = await memory_app.schedule(Note())
    await memory_app.testing.drain()
    assert (await memory_app.get(action.id)).result == [1, 1, 2]


@pytest.mark.parametrize("marker", [Query(), Security(make), Depends()])
def test_what_needs_a_request_is_refused_by_name(memory_app: Duetime, marker: Any) -> None:
    name = type(marker).__name__
    with pytest.raises(ConfigError, match=rf"'value' of .*note.* uses fastapi\.{name}"):

        @memory_app.handler()
        async def note(payload: Note, value: Annotated[str, marker]) -> None: ...

    with pytest.raises(ConfigError, match=rf"fastapi\.{name}.*duetime\.Depends"):

        @memory_app.handler()
        async def other(payload: Note, value: str = marker) -> None: ...


async def test_a_handler_may_share_the_session_of_the_routes(
    memory_app: Duetime, sqlite_path: Path
) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{sqlite_path}")

    async def get_session() -> AsyncIterator[AsyncSession]:
        async with AsyncSession(engine) as session:
            yield session

    @memory_app.handler()
    async def note(payload: Note, session: Annotated[AsyncSession, Depends(get_session)]) -> Any:
        async with session.begin():
            return await session.scalar(text("SELECT 7"))

    action = await memory_app.schedule(Note())
    await memory_app.testing.drain()
    assert (await memory_app.get(action.id)).result == 7
    await engine.dispose()


class TestActing:
    """In a dependency, for the request that it is made for."""

    @pytest.fixture
    def api(self, memory_app: Duetime) -> FastAPI:
        async def signed_in() -> AsyncIterator[None]:
            with memory_app.acting(tenant="acme"):
                yield

        def in_a_thread() -> Iterator[None]:
            with memory_app.acting(tenant="acme"):
                yield

        api = FastAPI()

        @api.get("/async", dependencies=[Depends(signed_in)])
        async def in_the_loop() -> str | None:
            return current_tenant()

        @api.get("/sync", dependencies=[Depends(signed_in)])
        def blocking() -> str | None:
            return current_tenant()

        @api.get("/lost", dependencies=[Depends(in_a_thread)])
        async def lost() -> str | None:
            return current_tenant()

        @api.get("/")
        async def alone() -> str | None:
            return current_tenant()

        return api

    @pytest.fixture
    async def client(self, api: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(api)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield client

    async def test_routes_of_both_kinds_see_it_and_no_other_request_does(
        self, client: httpx.AsyncClient
    ) -> None:
        paths = ("/async", "/sync", "/")
        assert [(await client.get(path)).json() for path in paths] == ["acme", "acme", None]

    async def test_where_the_route_could_not_see_it_that_is_said(
        self, client: httpx.AsyncClient
    ) -> None:
        with pytest.raises(ConfigError, match="async def"):
            await client.get("/lost")
