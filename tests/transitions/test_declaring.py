"""A flawed declaration raises an error that names the remedy."""

import enum
import logging
import re
import warnings
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import pytest
from sqlalchemy import (
    JSON,
    Computed,
    Date,
    DateTime,
    Enum,
    ForeignKey,
    String,
    TypeDecorator,
    create_engine,
    func,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, Session, mapped_column
from sqlalchemy.pool import StaticPool

from duetime import Duetime
from duetime.errors import ConfigError, InvalidArgument
from duetime.transitions import SoftDeletable, declare, transition
from duetime.transitions.checks import TransitionWarning
from transitions.models import Post

engine = create_engine("sqlite://", poolclass=StaticPool)
Make = Callable[..., MappedColumn[Any]]


class Status(enum.Enum):
    DRAFT = "draft"
    PUBLISHED = "published"


class Named(enum.StrEnum):
    draft = "draft"
    published = "published"


class Wrapped(TypeDecorator[Status]):
    impl = Enum(Status)
    cache_ok = True


class Turned(TypeDecorator[str]):
    """Its values are names of the members, backwards."""

    impl = Enum(Status)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> Any:
        return None if value is None else value[::-1]


def registered(app: Duetime, at: MappedColumn[Any], *, soft: bool = False) -> type[Any]:
    """A model with one transition, registered."""

    class Base(DeclarativeBase):
        pass

    mixins = (SoftDeletable, Base) if soft else (Base,)
    annotations = {
        "id": Mapped[int],
        "state": Mapped[str],
        "status": Mapped[Status],
        "size": Mapped[Literal["small", "big"]],
        "kind": Mapped[Literal["news", "blog"]],
        "count": Mapped[int | None],
        "named": Mapped[Named],
        "double": Mapped[int],
        "extra": Mapped[dict[str, Any]],
        "at": Mapped[datetime | None],
    }
    body = {
        "__tablename__": "papers",
        "__annotations__": annotations,
        "__module__": __name__,
        "id": mapped_column(primary_key=True),
        "state": mapped_column(String(10)),
        "kind": mapped_column(String),
        "wrapped": mapped_column(Wrapped()),
        "turned": mapped_column(Turned()),
        "named": mapped_column(String),
        "double": mapped_column(Computed("count * 2")),
        "extra": mapped_column(JSON),
        "at": at,
    }
    Paper: type[Any] = type("Paper", mixins, body)
    Base.metadata.create_all(engine)
    app.transitions.register(Base, engine)
    return Paper


async def awaited(row: object) -> object:
    return row


BAD: list[tuple[MappedColumn[Any], str]] = [
    (transition(set_field="wrapped", to="publishd"), "to='publishd' does not fit wrapped: not one"),
    (transition(set_field="turned", to="flase"), "does not fit turned: not one of DRAFT"),
    (transition(set_field="turned", to=5), "does not fit turned: Turned rejected it: "),
    (
        transition(set_field="named", to="publishd"),
        r"to='publishd' does not fit named: the annotation allows 'draft', 'published' only",
    ),
    (transition(set_field="double", to=5), "set_field='double' is computed by the database"),
    (transition(set_field="id", to=5), "set_field='id' is part of the primary key"),
    (transition(set_field="extra", to={"a": 1}), "set_field='extra' is JSON"),
    (transition(set_field="status", from_="draft", to=Status.DRAFT), "it would change nothing"),
    (transition(hard_delete=True, action=awaited), "cannot be awaited: give a plain function"),
    (transition(hard_delete=True, where=lambda c: c.at < func.now()), r"uses now\(\), whose"),
    (
        transition(hard_delete=True, where=lambda c: c.id.in_(select(Post.id))),
        "where= uses a query: the condition is part of an index",
    ),
    (
        transition(hard_delete=True, where=lambda c: Post.title == "x"),
        "uses posts.title, which is not in table papers",
    ),
    (transition(), "Paper.at: it has no effect: give set_field="),
    (transition(soft_delete=True, hard_delete=True), "soft_delete and hard_delete are two effects"),
    (transition(set_field="state", to="x", soft_delete=True), "two effects: keep one"),
    (transition(Date, set_field="state", to="x"), "Date.*needs a timestamp: leave the type out"),
    (transition(soft_delete=True), "papers has neither deleted_at nor is_deleted: add the mixin"),
    (
        transition(set_field="stat", to="x"),
        r"'stat' is not a column of Paper \(did you mean 'state'",
    ),
    (transition(set_field="state"), "set_field='state' needs the value to set: give to="),
    (transition(to="x", hard_delete=True), "to without set_field="),
    (transition(from_="x", hard_delete=True), "from_ without set_field="),
    (transition(set_field="state", from_="x", to="x"), "both 'x': it would change nothing"),
    (transition(set_field="state", to=5), "to=5 does not fit state:.*give a str"),
    (transition(set_field="state", to=None), "to=None does not fit state: the column is NOT NULL"),
    (transition(set_field="state", to="x" * 11), "it has 11 characters, but the column holds 10"),
    (
        transition(set_field="status", to="publishd"),
        r"to='publishd' does not fit status: not one of DRAFT, PUBLISHED",
    ),
    (
        transition(set_field="status", from_="drft", to=Status.PUBLISHED),
        "from_='drft' does not fit status",
    ),
    (
        transition(set_field="size", to="smal"),
        r"to='smal' does not fit size: not one of small, big \(did you mean 'small'",
    ),
    (
        transition(set_field="kind", to="newz"),
        r"to='newz' does not fit kind: the annotation allows 'news', 'blog' only \(did you mean",
    ),
    (transition(set_field="at", to=None), "'at' is the column itself: clear=True empties it"),
    (transition(action=lambda row: row), "every row whose time has passed: give clear=True"),
    (transition(action="Remind", clear=True), "action='Remind' cannot be called"),  # type: ignore[arg-type]
    (transition(hard_delete=True, clear=True), "hard_delete=True removes: leave it out"),
    (
        transition(hard_delete=True, where=lambda c: c.nothing == 1),
        "where= failed: nothing; it is called with the columns of papers",
    ),
    (transition(hard_delete=True, where=lambda c: True), "where= gives True, not a condition"),
    (
        transition(nullable=False, hard_delete=False, action=str, clear=True),
        "clear=True empties the column, but it is NOT NULL",
    ),
]


@pytest.mark.parametrize(("column", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_mistakes_stop_the_start(app: Duetime, column: MappedColumn[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        registered(app, column)
    assert "Paper.at" in str(caught.value)


GOOD = [
    transition(set_field="wrapped", from_="draft", to=Status.PUBLISHED),
    transition(set_field="turned", to="TFARD"),
    transition(set_field="named", from_=Named.draft, to="published"),
    transition(set_field="status", from_="draft", to="PUBLISHED"),
    transition(set_field="status", to=Status.PUBLISHED),
    transition(set_field="size", from_="small", to="big"),
    transition(set_field="count", from_=None, to=1),
    transition(set_field="count", to=None),
    transition(DateTime(timezone=True), hard_delete=True, index=True),
    transition(hard_delete=True, where=lambda columns: columns.kind == "news"),
    transition(action=str, where=lambda columns: columns.count > 3),
]


@pytest.mark.parametrize("column", GOOD)
def test_what_fits_is_taken(column: MappedColumn[Any], sqlite_path: object) -> None:
    registered(Duetime("sqlite://", store=object()), column)  # type: ignore[arg-type]


class OtherBase(DeclarativeBase):
    pass


class Person(OtherBase):
    __tablename__ = "persons"
    id: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[str] = mapped_column(default="new")


class Employee(Person):
    __tablename__ = "employees"
    id: Mapped[int] = mapped_column(ForeignKey("persons.id"), primary_key=True)
    promote_at: Mapped[datetime | None] = transition(set_field="rank", to="old")


def test_field_and_time_must_be_in_one_table(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="'rank' is not in table employees, where promote_at is"):
        app.transitions.register(OtherBase, engine)


@pytest.mark.parametrize("models", [object(), int, "Post", Session])
def test_models_that_are_none(app: Duetime, models: object) -> None:
    with pytest.raises(ConfigError, match="not a model: give the declarative base"):
        app.transitions.register(models, engine)


@pytest.mark.parametrize("given", [None, "sqlite://", Session])
def test_engines_that_are_none(app: Duetime, given: object) -> None:
    with pytest.raises(ConfigError, match="not an engine: give an Engine"):
        app.transitions.register(OtherBase, given)


def test_a_database_for_each_thread_is_refused(app: Duetime) -> None:
    with pytest.raises(ConfigError, match="each thread a database of its own"):
        app.transitions.register(Person, create_engine("sqlite://"))


@pytest.mark.parametrize("options", [{"batch": 0}, {"batch": 5001}, {"interval": 0}])
def test_options_that_make_no_sense(app: Duetime, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(next(iter(options)))):
        app.transitions.register(Post, engine, **options)


def test_one_column_has_one_transition(app: Duetime) -> None:
    with pytest.raises(ConfigError, match=r"employees\.promote_at already has a transition"):
        declare(Employee.promote_at, hard_delete=True)
    with pytest.raises(ConfigError, match="not a column of a mapped class"):
        declare("publish_at", hard_delete=True)


def test_chains_without_a_guard_are_warned_of(app: Duetime) -> None:
    class Base(DeclarativeBase):
        pass

    class _Paper(Base):
        __tablename__ = "papers"
        id: Mapped[int] = mapped_column(primary_key=True)
        state: Mapped[str]
        publish_at: Mapped[datetime | None] = transition(
            set_field="state", from_="draft", to="published"
        )
        archive_at: Mapped[datetime | None] = transition(set_field="state", to="archived")

    with pytest.warns(TransitionWarning, match=r"Paper\.archive_at sets 'state'"):
        app.transitions.register(Base, engine)


def test_a_full_index_of_the_user_is_logged(app: Duetime, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), warnings.catch_warnings():
        registered(app, transition(hard_delete=True, index=True))
    assert "Paper.at uses your index ix_papers_at, which is not partial" in caplog.text


def test_a_model_mapped_after_register_is_refused(app: Duetime) -> None:
    """The next verb raises: the transition would never be applied."""

    class Base(DeclarativeBase):
        pass

    app.transitions.register(Base, engine)
    assert app.transitions.list() == []

    class _Late(Base):
        __tablename__ = "late"
        id: Mapped[int] = mapped_column(primary_key=True)
        at: Mapped[datetime | None] = transition(hard_delete=True)

    for ask in (
        app.transitions.list,
        app.transitions.runner,
        app.worker,
        app.sync.transitions.sweep,
    ):
        with pytest.raises(ConfigError, match=r"_Late\.at was mapped after register\(.*import its"):
            ask()


async def test_one_connection_for_all_has_no_runner(app: Duetime) -> None:
    """A sweep by hand is fine, in a test."""
    shared = create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    Post.metadata.create_all(shared)
    app.transitions.register(Post, shared)
    assert (await app.transitions.sweep()).errors == []
    for context in (app.transitions.runner(), app.worker()):
        with pytest.raises(ConfigError, match=r"one connection for all.*use a file, or call sweep"):
            await context.__aenter__()
    shared.dispose()
