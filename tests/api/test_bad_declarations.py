"""Declarations that cannot work are refused where they are made, with the remedy."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import pytest

from api.apps import Note, Other
from duetime import Context, Depends, Duetime, Retry
from duetime.errors import ConfigError, DuetimeError, InvalidArgument, UnknownKind


@pytest.fixture
def app() -> Duetime:
    return Duetime("memory://")


class Db: ...


def test_a_handler_without_a_payload_annotation_is_refused(app: Duetime) -> None:
    with pytest.raises(ConfigError, match=r"no payload annotation: write `payload: YourPayload`"):

        @app.handler(kind="note")
        async def note(payload) -> None:  # type: ignore[no-untyped-def]
            ...


def test_a_handler_without_parameters_is_refused(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="takes no payload"):

        @app.handler(kind="note")
        async def note() -> None: ...


@pytest.mark.parametrize(
    "annotation",
    [int, str, dict, list[Note], Note | Other, Any, object, type, None, "Nowhere"],
    ids=repr,
)
def test_a_payload_that_is_no_dataclass_or_model_is_refused(app: Duetime, annotation: Any) -> None:
    async def note(payload: Note) -> None: ...

    note.__annotations__["payload"] = annotation
    with pytest.raises(ConfigError) as caught:
        app.handler(kind="note")(note)
    assert "payload" in str(caught.value) or "Nowhere" in str(caught.value)


@pytest.mark.parametrize("place", ["payload", "db"])
def test_a_type_that_is_not_defined_yet_names_the_remedy(app: Duetime, place: str) -> None:
    async def note(payload: Note, db: Db | None = None) -> None: ...

    note.__annotations__[place] = "Later"
    with pytest.raises(ConfigError, match=r"'Later' is not defined; .*: define the type above it"):
        app.handler(kind="note")(note)


def test_two_handlers_of_one_kind_are_refused_and_the_first_stays(app: Duetime) -> None:
    @app.handler(kind="note")
    async def first(payload: Note) -> None: ...

    with pytest.raises(ConfigError, match=r"'note' is already handled by .*first.*second"):

        @app.handler(kind="note")
        async def second(payload: Note) -> None: ...

    with pytest.raises(ConfigError, match="'note' already means Note"):

        @app.handler(kind="note")
        async def third(payload: Other) -> None: ...

    handler = app.runtime.handlers.get("note")
    assert handler is not None
    assert handler.function is first


def test_a_handler_without_a_kind_needs_a_payload_that_has_one(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="Note has no kind"):

        @app.handler()
        async def note(payload: Note) -> None: ...


@pytest.mark.parametrize("kind", ["", " ", "k" * 201, "a\x00b", "\ud800", 7])
def test_a_kind_that_cannot_be_stored_is_refused(app: Duetime, kind: Any) -> None:
    with pytest.raises(DuetimeError, match="kind"):
        app.payload(Note, kind=kind)
    with pytest.raises(DuetimeError, match="aliases"):
        app.payload(Note, kind="note", aliases=[kind])
    with pytest.raises(DuetimeError, match="queue"):
        app.payload(Note, kind="note", queue=kind or "\x00")


def test_a_parameter_that_cannot_be_injected_is_refused_by_name(app: Duetime) -> None:
    with pytest.raises(ConfigError, match=r"'db' of .*note.* cannot be filled.*app\.provide"):

        @app.handler(kind="note")
        async def note(payload: Note, db: Db) -> None: ...


def test_a_dependency_that_cannot_be_injected_is_refused_by_name(app: Duetime) -> None:
    def make(url: str) -> Db:
        return Db()

    with pytest.raises(ConfigError, match=r"'url' of .*make"):

        @app.handler(kind="note")
        async def note(payload: Note, db: Annotated[Db, Depends(make)]) -> None: ...


def test_a_dependency_on_itself_is_refused(app: Duetime) -> None:
    def make(db: Any) -> Db:
        return Db()

    make.__annotations__["db"] = Annotated[Db, Depends(make)]
    with pytest.raises(ConfigError, match="depends on itself"):

        @app.handler(kind="note")
        async def note(payload: Note, db: Annotated[Db, Depends(make)]) -> None: ...


def test_a_handler_that_yields_is_refused(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="yields"):

        @app.handler(kind="note")
        def note(payload: Note) -> Any:
            yield

    with pytest.raises(ConfigError, match="yields"):

        @app.handler(kind="other")
        async def other(payload: Other) -> Any:
            yield


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), "5", True])
def test_a_timeout_that_is_no_duration_is_refused(app: Duetime, timeout: Any) -> None:
    with pytest.raises(InvalidArgument, match="timeout"):

        @app.handler(kind="note", timeout=timeout)
        async def note(payload: Note) -> None: ...


@pytest.mark.parametrize("retry", [3, True, "3", [1, 2], Retry])
def test_a_retry_that_is_no_policy_is_refused(app: Duetime, retry: Any) -> None:
    with pytest.raises(ConfigError, match=r"retry=.*Retry\("):

        @app.handler(kind="note", retry=retry)
        async def note(payload: Note) -> None: ...


@pytest.mark.parametrize(
    "queues", ["mail", {"mail": 0}, {"mail": -1}, {"mail": True}, {"mail": 1.5}, [""], [7]]
)
def test_queues_that_make_no_sense_are_refused(app: Duetime, queues: Any) -> None:
    with pytest.raises(DuetimeError, match="queues"):
        app.worker(queues=queues)


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, "five", True])
def test_a_concurrency_that_is_none_is_refused(app: Duetime, concurrency: Any) -> None:
    with pytest.raises(ConfigError, match="concurrency"):
        app.worker(concurrency=concurrency)


async def test_a_worker_runs_once(app: Duetime) -> None:
    worker = app.worker()
    async with worker:
        pass
    with pytest.raises(ConfigError, match=r"app\.worker\(\) creates a new one"):
        await worker.__aenter__()


def test_a_payload_with_a_field_pydantic_cannot_know_is_refused(app: Duetime) -> None:
    @dataclass
    class Odd:
        db: Db

    with pytest.raises(ConfigError, match="Odd"):
        app.payload(Odd, kind="odd")


@pytest.mark.parametrize("misplaced", ["note", print, Note])
def test_a_decorator_without_parentheses_is_refused_with_a_remedy(
    app: Duetime, misplaced: Any
) -> None:
    with pytest.raises(ConfigError, match=r"write @app\.handler\(kind="):
        app.handler(misplaced)


def test_a_payload_must_be_the_first_parameter(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="the payload comes first"):

        @app.handler(kind="note")
        async def note(ctx: Context, payload: Note) -> None: ...


@pytest.mark.parametrize("timeout", [0, timedelta()])
def test_a_timeout_of_no_time_is_refused(app: Duetime, timeout: Any) -> None:
    with pytest.raises(InvalidArgument, match="timeout"):

        @app.handler(kind="note", timeout=timeout)
        async def note(payload: Note) -> None: ...


def test_what_was_refused_leaves_nothing_behind(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="'db'"):

        @app.handler(kind="oops")
        async def wrong(payload: Note, db: Db) -> None: ...

    @app.handler(kind="note")
    async def right(payload: Note) -> None: ...

    assert app.sync.schedule(Note()).kind == "note"


def test_a_payload_of_a_redefined_class_is_explained(app: Duetime) -> None:
    app.payload(dataclass(type("Twin", (), {})), kind="twin")
    with pytest.raises(ConfigError, match="another class named Twin"):
        app.payload(dataclass(type("Twin", (), {})), kind="twin")


@pytest.mark.parametrize("make", [Db(), None, "Db"], ids=["value", "none", "text"])
def test_what_is_no_function_cannot_be_provided(app: Duetime, make: Any) -> None:
    with pytest.raises(
        ConfigError,
        match=r"provide\(Db, .*: give a function that makes it, such as `lambda: value`",
    ):
        app.provide(Db, make)


@pytest.mark.parametrize("type_", ["Db", Db(), None], ids=["text", "value", "none"])
def test_only_for_a_type_something_can_be_provided(app: Duetime, type_: Any) -> None:
    with pytest.raises(ConfigError, match=r"is not a type: handlers ask for it by annotation"):
        app.provide(type_, Db)


async def test_an_undeclared_type_may_be_declared_in_a_router(app: Duetime) -> None:
    with pytest.raises(UnknownKind, match=r"or include the router that declares it"):
        await app.schedule(Note())
