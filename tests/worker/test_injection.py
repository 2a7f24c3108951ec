"""Dependencies: created for a run, shared within it, closed when it finishes."""

import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pytest

from api.apps import Log, Note
from duetime import Clock, Context, Depends, Duetime, Retry, State, current_tenant
from duetime.testing import FakeClock


@dataclass
class Db:
    name: str = "db"


log = Log()


@pytest.fixture(autouse=True)
def empty_log() -> None:
    log.lines.clear()


def plain() -> Db:
    return Db("plain")


async def coroutine() -> Db:
    return Db("coroutine")


def generator() -> Iterator[Db]:
    log("open generator")
    try:
        yield Db("generator")
    finally:
        log("close generator")


async def async_generator() -> AsyncIterator[Db]:
    log("open async generator")
    try:
        yield Db("async generator")
    finally:
        log("close async generator")


async def run(app: Duetime, text: str = "x", seconds: float = 0) -> Any:
    action = await app.schedule(Note(text))
    await app.testing.advance(seconds)
    return await app.get(action.id)


app = pytest.fixture(lambda memory_app: memory_app, name="app")


@pytest.mark.parametrize("make", [plain, coroutine, generator, async_generator])
@pytest.mark.parametrize("style", ["sync", "async"])
async def test_a_dependency_may_be_made_in_four_ways(app: Duetime, make: Any, style: str) -> None:
    def note(payload: Note, db: Db) -> str:
        log(f"handle with {db.name}")
        return db.name

    async def note_async(payload: Note, db: Db) -> str:
        return note(payload, db)

    function = note if style == "sync" else note_async
    function.__annotations__["db"] = Annotated[Db, Depends(make)]
    app.handler()(function)
    done = await run(app)
    name = make.__name__.replace("_", " ")
    assert (done.state, done.result) == (State.succeeded, name)
    if make in (generator, async_generator):
        assert log.lines == [f"open {name}", f"handle with {name}", f"close {name}"]


async def test_a_marker_may_be_a_default_value_too(app: Duetime) -> None:
    @app.handler()
    async def note(payload: Note, db: Any = Depends(plain)) -> str:  # noqa: B008
        return str(db.name)

    assert (await run(app)).result == "plain"


async def test_dependencies_nest_and_close_in_reverse_order(app: Duetime) -> None:
    def inner() -> Iterator[str]:
        log("open inner")
        yield "inner"
        log("close inner")

    async def middle(value: Annotated[str, Depends(inner)]) -> AsyncIterator[str]:
        log("open middle")
        yield f"middle of {value}"
        log("close middle")

    def outer(value: Annotated[str, Depends(middle)]) -> Iterator[str]:
        log("open outer")
        yield f"outer of {value}"
        log("close outer")

    @app.handler()
    async def note(payload: Note, value: Annotated[str, Depends(outer)]) -> str:
        log("handle")
        return value

    assert (await run(app)).result == "outer of middle of inner"
    assert log.lines == [
        *("open inner", "open middle", "open outer"),
        "handle",
        *("close outer", "close middle", "close inner"),
    ]


@pytest.mark.parametrize("style", ["sync", "async"])
async def test_dependencies_are_closed_also_when_the_handler_fails(
    app: Duetime, style: str
) -> None:
    seen: list[str] = []

    def first() -> Iterator[int]:
        try:
            yield 1
        except ValueError as error:
            seen.append(f"first saw {error}")
            raise
        finally:
            seen.append("first closed")

    def second() -> Iterator[int]:
        try:
            yield 2
        finally:
            seen.append("second closed")

    def note(
        payload: Note, a: Annotated[int, Depends(first)], b: Annotated[int, Depends(second)]
    ) -> None:
        raise ValueError("broken")

    async def note_async(
        payload: Note, a: Annotated[int, Depends(first)], b: Annotated[int, Depends(second)]
    ) -> None:
        raise ValueError("broken")

    app.handler(retry=Retry.none())(note if style == "sync" else note_async)
    failed = await run(app)
    assert (failed.state, failed.error) == (State.failed, "ValueError: broken")
    assert seen == ["second closed", "first saw broken", "first closed"]


async def test_what_was_opened_is_closed_when_the_next_dependency_fails(app: Duetime) -> None:
    def broken(db: Annotated[Db, Depends(generator)]) -> Db:
        raise ConnectionError("no database")

    @app.handler(retry=Retry.none())
    async def note(payload: Note, db: Annotated[Db, Depends(broken)]) -> None:
        log("never")

    failed = await run(app)
    assert failed.error == "ConnectionError: no database"
    assert log.lines == ["open generator", "close generator"]


async def test_a_dependency_that_fails_is_retried_like_its_handler(app: Duetime) -> None:
    def flaky(ctx: Context) -> Db:
        if ctx.attempt == 1:
            raise ConnectionError
        return Db("second time")

    @app.handler(retry=Retry(delays=[5]))
    async def note(payload: Note, db: Annotated[Db, Depends(flaky)]) -> str:
        return db.name

    assert (await run(app, seconds=10)).result == "second time"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_dependency_cannot_swallow_the_failure_of_its_handler(
    app: Duetime, asynchronous: bool
) -> None:
    """`except: rollback()` without `raise` must not turn a failure into a success."""

    def swallow() -> Iterator[int]:
        try:
            yield 1
        except ValueError:
            log("rolled back")

    async def swallow_async() -> AsyncIterator[int]:
        try:
            yield 1
        except ValueError:
            log("rolled back")

    make = swallow_async if asynchronous else swallow

    @app.handler(retry=Retry.none())
    async def note(payload: Note, n: Annotated[int, Depends(make)]) -> None:
        raise ValueError("broken")

    failed = await run(app)
    assert log.lines == ["rolled back"]
    assert (failed.state, failed.error) == (State.failed, "ValueError: broken")


async def test_a_dependency_that_fails_while_closing_fails_the_attempt(app: Duetime) -> None:
    def commits() -> Iterator[int]:
        yield 1
        raise ConnectionError("commit failed")

    @app.handler(retry=Retry.none())
    async def note(payload: Note, n: Annotated[int, Depends(commits)]) -> str:
        return "looked good"

    failed = await run(app)
    assert (failed.state, failed.error) == (State.failed, "ConnectionError: commit failed")


async def test_within_a_run_each_dependency_is_made_once(app: Duetime) -> None:
    made: list[str] = []

    def shared() -> object:
        made.append("shared")
        return object()

    def left(value: Annotated[object, Depends(shared)]) -> object:
        return value

    @app.handler()
    async def note(
        payload: Note,
        a: Annotated[object, Depends(shared)],
        b: Annotated[object, Depends(left)],
        c: Annotated[object, Depends(shared, use_cache=False)],
    ) -> list[bool]:
        return [a is b, a is c]

    assert (await run(app)).result == [True, False]
    assert made == ["shared"] * 2
    await run(app)
    assert made == ["shared"] * 4


async def test_a_type_may_be_provided_by_the_app(app: Duetime) -> None:
    app.provide(Db, generator)

    @app.handler()
    async def note(payload: Note, db: Db, again: Annotated[Db, "with a remark"]) -> list[object]:
        return [db.name, db is again]

    assert (await run(app)).result == ["generator", True]
    assert log.lines == ["open generator", "close generator"]


async def test_a_class_may_be_its_own_dependency(app: Duetime) -> None:
    class Service:
        def __init__(self, db: Annotated[Db, Depends(coroutine)], clock: Clock) -> None:
            self.text = f"{db.name} {clock.now().year}"

    @app.handler()
    def note(payload: Note, service: Annotated[Service, Depends(Service)]) -> str:
        return service.text

    assert (await run(app)).result == "coroutine 2030"


async def test_a_partial_and_a_callable_object_may_be_dependencies(app: Duetime) -> None:
    async def named(name: str = "") -> Db:
        return Db(name)

    class Maker:
        async def __call__(self) -> Db:
            return Db("object")

    @app.handler()
    async def note(
        payload: Note,
        a: Annotated[Db, Depends(partial(named, name="partial"))],
        b: Annotated[Db, Depends(Maker())],
    ) -> list[str]:
        return [a.name, b.name]

    assert (await run(app)).result == ["partial", "object"]


async def test_the_clock_and_the_context_come_by_type_everywhere(
    app: Duetime, clock: FakeClock
) -> None:
    def when(clock: Clock, ctx: Context) -> str:
        return f"{clock.now().isoformat()} {ctx.attempt}"

    @app.handler()
    async def note(
        payload: Note, clock: Clock, ctx: Context, text: Annotated[str, Depends(when)]
    ) -> list[object]:
        return [clock.now() == ctx.due_at, text]

    assert (await run(app)).result == [True, f"{clock.now().isoformat()} 1"]


async def test_defaults_and_variadics_are_left_alone(app: Duetime) -> None:
    @app.handler()
    async def note(
        payload: Note, size: int = 5, *more: int, tag: Annotated[str, []] = "t", **rest: int
    ) -> object:
        return [size, more, tag, rest]

    assert (await run(app)).result == [5, [], "t", {}]


async def test_blocking_dependencies_of_an_async_handler_leave_the_loop_alone(
    app: Duetime,
) -> None:
    threads: dict[str, int] = {}

    def blocking() -> Iterator[str]:
        threads["open"] = threading.get_ident()
        yield current_tenant() or "none"
        threads["close"] = threading.get_ident()

    @app.handler()
    async def note(payload: Note, tenant: Annotated[str, Depends(blocking)]) -> str:
        threads["handler"] = threading.get_ident()
        return tenant

    with app.acting(tenant="acme"):
        assert (await run(app)).result == "acme"
    assert threads["handler"] == threading.get_ident()
    assert threads["open"] != threading.get_ident() != threads["close"]


async def test_a_blocking_dependency_that_raises_stop_iteration_fails_the_attempt(
    app: Duetime,
) -> None:
    def empty() -> int:
        return next(iter(()))

    @app.handler(retry=Retry.none())
    async def note(payload: Note, n: Annotated[int, Depends(empty)]) -> None: ...

    failed = await run(app)
    assert failed.state is State.failed
    assert "StopIteration" in str(failed.error)
