"""FastAPI's own Depends means the same here; its other markers are refused by name."""

from typing import Annotated, Any

import pytest
from fastapi import Depends, Query, Security

from api.apps import Note
from duetime import Duetime, State
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
