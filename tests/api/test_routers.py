"""Routers: declarations of modules that have no app at hand."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psycopg
import pytest

from api.apps import Log, Note, Other
from duetime import (
    ActionFailed,
    ActionSucceeded,
    CallNext,
    Context,
    Depends,
    Duetime,
    Every,
    Retry,
    Router,
    State,
)
from duetime.errors import ConfigError, DuetimeError, InvalidArgument, InvalidPayload
from duetime.model.actions.action import Action
from duetime.testing import FakeClock
from polling import until

THIS_FILE = Path(__file__).name


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
def app(url: str, clock: FakeClock) -> Duetime:
    """An app that knows no kind yet."""
    return Duetime(url, clock=clock)


async def finished(app: Duetime, payload: Any) -> Action:
    action = await app.schedule(payload)
    await app.testing.drain()
    return await app.get(action.id)


def declared(app: Duetime) -> tuple[Any, ...]:
    """Return everything that is declared with the app."""
    runtime = app.runtime
    return (
        runtime.payloads.kinds(),
        runtime.handlers.kinds(),
        runtime.jobs.names(),
        {type_: [*kinds] for type_, kinds in runtime.subscriber_kinds.items()},
        {event: runtime.events.has_subscribers(event) for event in (ActionFailed, ActionSucceeded)},
        dict(app._registrar.providers),
        len(app._registrar.included),
    )


async def is_known(app: Duetime, job: str) -> bool:
    return job in {found.name for found in await app.jobs.list()}


def declare_note(router: Router | Duetime, result: str = "done") -> None:
    @router.handler(kind="note")
    async def note(payload: Note) -> str:
        return result


class TestIncluded:
    async def test_handlers_jobs_payloads_and_subscribers_take_effect(
        self, app: Duetime, router: Router
    ) -> None:
        log = Log()

        @router.handler(kind="note", queue="mail", retry=Retry.none(), timeout=30)
        async def note(payload: Note, ctx: Context) -> str:
            if payload.text == "bad":
                raise ValueError(payload.text)
            return f"{payload.text} in {ctx.kind}"

        @router.job(Every(minutes=5), name="demo-tick", payload=Other(3))
        def tick(payload: Other) -> None:
            log(f"tick {payload.number}")

        router.payload(Elsewhere, kind="elsewhere")
        router.on(ActionFailed, lambda event: log(f"failed {event.kind}"), kind="note")

        async def durable(event: ActionFailed) -> None:
            log(f"durable {event.kind}")

        router.on(ActionFailed, durable, durable=True)

        async with app:
            app.include(router)
            done = await finished(app, Note("hello"))
            assert (done.state, done.result, done.queue) == (
                State.succeeded,
                "hello in note",
                "mail",
            )
            assert (await app.schedule(Elsewhere())).kind == "elsewhere"
            assert (await app.schedule(Note())).queue == "mail"
            assert (await finished(app, Note("bad"))).state is State.failed
            await app.testing.advance(minutes=6)
        assert log.lines == ["failed note", "durable note", "tick 3"]

    async def test_one_router_serves_several_apps(self, clock: FakeClock, router: Router) -> None:
        declare_note(router)
        for _ in range(2):
            async with Duetime("memory://", clock=clock) as app:
                app.include(router)
                assert (await finished(app, Note())).result == "done"

    async def test_a_running_worker_seeds_its_jobs(self, router: Router) -> None:
        @router.job(Every(minutes=5), name="demo-tick")
        async def tick() -> None: ...

        async with Duetime("memory://") as app, app.worker():
            app.include(router)
            await until(lambda: is_known(app, "demo-tick"))

    async def test_routers_may_include_routers(self, app: Duetime, router: Router) -> None:
        inner = Router()
        declare_note(inner)
        router.include(inner)
        router.payload(Other, kind="other")
        async with app:
            app.include(router)
            assert (await finished(app, Note())).result == "done"
            assert (await app.schedule(Other())).kind == "other"

    async def test_annotations_may_name_local_variables(self, app: Duetime, router: Router) -> None:
        @dataclass(frozen=True)
        class Local:
            number: int

        def double() -> int:
            return 2

        @router.handler(kind="local")
        async def local(payload: "Local", factor: "Annotated[int, Depends(double)]") -> int:
            return payload.number * factor

        async with app:
            app.include(router)
            assert (await finished(app, Local(4))).result == 8

    async def test_each_declaration_in_a_loop_keeps_its_own_names(self, router: Router) -> None:
        types: list[Any] = []
        for kind in ("a", "b"):

            @dataclass(frozen=True)
            class Local:
                number: int = 1

            types.append(Local)

            @router.handler(kind=kind)
            async def local(payload: "Local", ctx: Context) -> str:
                return ctx.kind

        async with Duetime("memory://") as app:
            app.include(router)
            assert [(await finished(app, type_())).result for type_ in types] == ["a", "b"]

    async def test_aliases_may_be_an_iterator(self, app: Duetime, router: Router) -> None:
        @router.handler(kind="note", aliases=(name for name in ["old-note"]))
        async def note(payload: Note) -> None: ...

        app.include(router)
        assert app.runtime.handlers.kinds() == ["note", "old-note"]


@dataclass(frozen=True)
class Elsewhere:
    pass


class Db:
    def __init__(self, name: str) -> None:
        self.name = name


class TestProvided:
    async def test_by_the_app_before_it_includes(self, app: Duetime, router: Router) -> None:
        @router.handler(kind="note")
        async def note(payload: Note, db: Db) -> str:
            return db.name

        async with app:
            app.provide(Db, lambda: Db("app"))
            app.include(router)
            assert (await finished(app, Note())).result == "app"

    async def test_what_a_router_provides_is_for_its_own_handlers(
        self, app: Duetime, router: Router
    ) -> None:
        router.provide(Db, lambda: Db("router"))

        @router.handler(kind="note")
        async def note(payload: Note, db: Db) -> str:
            return db.name

        async with app:
            app.provide(Db, lambda: Db("app"))
            app.include(router)

            @app.handler(kind="other")
            async def other(payload: Other, db: Db) -> str:
                return db.name

            assert (await finished(app, Note())).result == "router"
            assert (await finished(app, Other())).result == "app"

    async def test_a_jobs_first_parameter_may_be_provided(
        self, app: Duetime, router: Router
    ) -> None:
        seen: list[Note] = []

        @router.job(Every(minutes=5), name="demo-tick")
        async def tick(note: Note) -> None:
            seen.append(note)

        async with app:
            app.provide(Note, lambda: Note("provided"))
            app.include(router)
            await app.testing.advance(minutes=6)
        assert seen == [Note("provided")]


class TestMiddleware:
    async def test_of_a_router_is_for_its_own_handlers_inside_of_the_apps(
        self, app: Duetime, router: Router
    ) -> None:
        log, inner = Log(), Router()

        def logging(name: str) -> Any:
            async def middleware(ctx: Context, call_next: CallNext) -> object:
                log(f"{name} {ctx.kind}")
                return await call_next()

            return middleware

        declare_note(inner)
        inner.middleware(logging("inner"))
        router.include(inner)
        router.payload(Other, kind="other")
        router.middleware(logging("outer"))
        async with app:
            app.include(router)
            app.middleware(logging("app"))

            @app.handler(kind="other")
            async def other(payload: Other) -> None: ...

            await finished(app, Note())
            await finished(app, Other())
        assert log.lines == ["app note", "outer note", "inner note", "app other"]

    async def test_the_same_in_router_and_app_is_refused(
        self, app: Duetime, router: Router
    ) -> None:
        async def m(ctx: Context, call_next: CallNext) -> object:
            return await call_next()

        router.middleware(m)
        with pytest.raises(ConfigError, match="middleware twice"):
            router.middleware(m)
        declare_note(router)
        app.middleware(m)
        before = declared(app)
        with pytest.raises(ConfigError, match="middleware twice"):
            app.include(router)
        assert declared(app) == before

    async def test_the_same_in_app_after_router_is_refused(
        self, app: Duetime, router: Router
    ) -> None:
        async def m(ctx: Context, call_next: CallNext) -> object:
            return await call_next()

        router.middleware(m)
        declare_note(router)
        app.include(router)
        with pytest.raises(ConfigError, match="middleware twice"):
            app.middleware(m)


class TestRefusedWhereDeclared:
    """Without an app, with the error that the app's own method raises."""

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"kind": ""}, "kind"),
            ({}, "has no kind"),
            ({"kind": "note", "retry": 3}, "retry=3"),
            ({"kind": "note", "timeout": -1}, "timeout=-1"),
            ({"kind": "note", "aliases": "old"}, "aliases"),
            ({"kind": "note", "version": 0}, "version"),
            ({"kind": "note", "queue": ""}, "queue"),
        ],
        ids=lambda value: str(value) if isinstance(value, dict) else "",
    )
    def test_handlers(self, router: Router, options: dict[str, Any], says: str) -> None:
        async def note(payload: Note) -> None: ...

        with pytest.raises(DuetimeError, match=says):
            router.handler(**options)(note)
        assert router.declared.declarations == []

    def test_functions_that_cannot_be_handlers(self, router: Router) -> None:
        async def stream(payload: Note) -> Any:
            yield 1

        async def untyped(payload) -> None: ...  # type: ignore[no-untyped-def]
        async def no_data(payload: int) -> None: ...
        async def unfillable(payload: Note, db) -> None: ...  # type: ignore[no-untyped-def]

        wrong: list[Any] = [stream, untyped, no_data, unfillable]
        for function in wrong:
            with pytest.raises(ConfigError, match=r"yields|annotation|cannot be"):
                router.handler(kind="note")(function)
        assert router.declared.declarations == []

    def test_jobs(self, router: Router) -> None:
        async def tick() -> None: ...

        with pytest.raises(InvalidArgument, match="name"):
            router.job("* * * * *", name="tick")
        with pytest.raises(InvalidArgument, match="minute"):
            router.job("99 * * * *", name="demo-tick")(tick)
        with pytest.raises(InvalidArgument, match="did you mean 'skip'"):
            router.job("* * * * *", name="demo-tick", overlap="skp")(tick)  # type: ignore[arg-type]
        with pytest.raises(InvalidPayload):
            router.job("* * * * *", name="demo-tick", payload=Note())(tick)
        router.job("* * * * *", name="demo-tick")(tick)
        with pytest.raises(ConfigError, match="two jobs are named 'demo-tick'"):
            router.job("* * * * *", name="demo-tick")(tick)

    def test_clashes_within_the_router(self, router: Router) -> None:
        declare_note(router)
        with pytest.raises(ConfigError, match="already handled"):
            declare_note(router)
        with pytest.raises(ConfigError, match="already means Note"):
            router.payload(Other, kind="note")
        assert len(router.declared.declarations) == 1

    def test_subscribers(self, router: Router) -> None:
        wrong: Any = "ActionFailed"
        with pytest.raises(ConfigError, match="without quotes"):
            router.on(wrong, print)
        with pytest.raises(ConfigError, match="retry='ActionFailed'"):
            router.on(ActionFailed, print, durable=True, name="x", retry=wrong)
        assert router.declared.declarations == []

    def test_parentheses_are_required(self, router: Router) -> None:
        async def note(payload: Note) -> None: ...

        handler: Any = router.handler
        with pytest.raises(ConfigError, match="parentheses"):
            handler(note)


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    [number] = [n for n, line in enumerate(lines, 1) if line.strip().endswith(text)]
    return number


class TestRefusedWhereIncluded:
    """With the line of the declaration, and the app left as it was."""

    def refuses(self, app: Duetime, router: Router, says: str) -> None:
        before = declared(app)
        with pytest.raises(ConfigError, match=re.escape(says)):
            app.include(router)
        assert declared(app) == before

    def test_a_kind_that_is_taken(self, app: Duetime, router: Router) -> None:
        router.payload(Other, kind="other")
        router.on(ActionFailed, print)
        router.on(ActionFailed, print, durable=True, name="x")
        router.provide(Db, lambda: Db(""))

        @router.job("* * * * *", name="demo-tick")
        async def tick() -> None: ...

        @router.handler(kind="note")  # taken
        async def note(payload: Note) -> None: ...

        declare_note(app)
        line = line_of("# taken")
        self.refuses(app, router, f"{THIS_FILE}:{line} declares: kind 'note' is already handled")

    def test_a_job_that_is_taken(self, app: Duetime, router: Router) -> None:
        async def tick() -> None: ...

        router.payload(Other, kind="other")
        router.job("* * * * *", name="demo-tick")(tick)
        app.job("* * * * *", name="demo-tick")(tick)
        self.refuses(app, router, "two jobs are named 'demo-tick'")

    def test_a_parameter_that_the_app_does_not_provide(self, app: Duetime, router: Router) -> None:
        @router.handler(kind="note")  # unfilled
        async def note(payload: Note, db: Db) -> None: ...

        line = line_of("# unfilled")
        self.refuses(app, router, f"{THIS_FILE}:{line} declares: parameter 'db'")
        app.provide(Db, lambda: Db("now"))
        app.include(router)

    def test_a_job_whose_payload_is_missing(self, app: Duetime, router: Router) -> None:
        @router.job("* * * * *", name="demo-tick")
        async def tick(payload: Note) -> None: ...

        self.refuses(app, router, "give payload=Note(...)")

    @pytest.mark.parametrize("url", ["memory://", "sqlite:///unused.db"])
    def test_a_transaction_of_another_store(self, url: str, router: Router) -> None:
        @router.handler(kind="note", transactional=True)  # lent
        async def note(payload: Note, db: psycopg.AsyncConnection[Any]) -> None: ...

        self.refuses(Duetime(url), router, f"{THIS_FILE}:{line_of('# lent')} declares: ")

    def test_a_payload_beyond_the_apps_limit(self, router: Router) -> None:
        @router.job("* * * * *", name="demo-tick", payload=Note("x" * 200))
        async def tick(payload: Note) -> None: ...

        self.refuses(Duetime("memory://", max_payload=100), router, "100")

    def test_included_twice(self, app: Duetime, router: Router) -> None:
        router.on(ActionFailed, print)
        app.include(router)  # once
        self.refuses(app, router, f"included before, at {__file__}:{line_of('# once')}")

    def test_included_twice_through_another(self, app: Duetime, router: Router) -> None:
        inner = Router()
        inner.on(ActionFailed, print)
        router.include(inner)
        app.include(inner)
        self.refuses(app, router, "included before")
        other = Duetime("memory://")
        other.include(router)
        self.refuses(other, inner, "included before")

    def test_what_is_no_router(self, app: Duetime, router: Router) -> None:
        wrong: list[Any] = [None, app, Router, "shop.mail", object()]
        for value in wrong:
            with pytest.raises(ConfigError, match="is not a router"):
                app.include(value)
        with pytest.raises(ConfigError, match="cannot include itself"):
            router.include(router)

    def test_declarations_after_it_was_included(self, app: Duetime, router: Router) -> None:
        declare_note(router)
        app.include(router)

        async def m(ctx: Context, call_next: CallNext) -> object:
            return await call_next()

        inner = Router()
        late: list[Any] = [
            lambda: router.payload(Other, kind="other"),
            lambda: router.middleware(m),
            lambda: router.include(inner),
            lambda: router.on(ActionFailed, print),
        ]
        for declare in late:
            with pytest.raises(ConfigError, match=r"included already, at .*declare first"):
                declare()
        # A refused router is not included: it may still be completed.
        inner.payload(Other, kind="other")

    def test_after_a_refusal_it_can_be_corrected(self, app: Duetime, router: Router) -> None:
        router.on(ActionFailed, print, durable=True, name="x")
        app.on(ActionFailed, print, durable=True, name="x")
        self.refuses(app, router, "is already the kind of ActionFailed")
        router.payload(Other, kind="other")
        other = Duetime("memory://")
        other.include(router)
        assert "other" in other.runtime.payloads.kinds()
