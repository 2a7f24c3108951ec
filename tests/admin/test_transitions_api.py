"""Row transitions over HTTP: what is declared and due, sweeps, parked rows."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, validates

from admin.client import admin_of, client_of
from duetime import ANY, Duetime, Retry
from duetime.testing import FakeClock
from duetime.transitions import transition


class Base(DeclarativeBase):
    pass


class Post(Base):
    """A post that is published at its time, unless its text is bad."""

    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(default="good")
    state: Mapped[str] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(set_field="state", to="published")

    @validates("state")
    def refuse_bad_text(self, key: str, value: str) -> str:
        if value == "published" and self.text == "bad":
            raise ValueError("not fit to print")
        return value


class Unfit:
    """Rows that can never be published."""

    state: Mapped[str] = mapped_column(default="draft")

    @validates("state")
    def refuse(self, key: str, value: str) -> str:
        if value == "published":
            raise ValueError("not fit to print")
        return value


class KeyBase(DeclarativeBase):
    pass


class Letter(Unfit, KeyBase):
    __tablename__ = "letters"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    publish_at: Mapped[datetime | None] = transition(set_field="state", to="published")


class Seat(Unfit, KeyBase):
    __tablename__ = "seats"
    row: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    publish_at: Mapped[datetime | None] = transition(set_field="state", to="published")


@pytest.fixture
def engine(app: Duetime, tmp_path: Path) -> Iterator[Engine]:
    """The database of the posts, whose transitions the app has registered."""
    engine = create_engine(f"sqlite:///{tmp_path / 'blog.db'}")
    Base.metadata.create_all(engine)
    app.transitions.register(Base, engine, retry=Retry.none())
    yield engine
    engine.dispose()


@pytest.fixture
def keyed(app: Duetime, tmp_path: Path) -> Iterator[Engine]:
    """The database of rows with other keys than numbers."""
    engine = create_engine(f"sqlite:///{tmp_path / 'keyed.db'}")
    KeyBase.metadata.create_all(engine)
    app.transitions.register(KeyBase, engine, retry=Retry.none())
    yield engine
    engine.dispose()


def add(engine: Engine, *rows: object) -> None:
    with Session(engine) as session, session.begin():
        session.add_all(rows)


async def test_a_sweep_publishes_what_is_due(
    client: httpx.AsyncClient, engine: Engine, clock: FakeClock
) -> None:
    add(engine, Post(id=1, publish_at=clock.now()), Post(id=2))
    [declared] = (await client.get("/api/transitions")).json()["items"]
    assert (declared["model"], declared["column"]) == ("Post", "publish_at")
    [pending] = (await client.get("/api/transitions/pending")).json()["items"]
    assert pending["due"] == 1
    swept = await client.post("/api/transitions/sweep")
    assert (swept.status_code, swept.json()["updated"]) == (202, 1)
    with Session(engine) as session:
        assert [post.state for post in session.query(Post).order_by(Post.id)] == [
            "published",
            "draft",
        ]


async def test_a_sweep_is_audited_with_its_note(
    client: httpx.AsyncClient, app: Duetime, engine: Engine
) -> None:
    """Also if nothing was due: what a client was allowed to say is kept."""
    await client.post("/api/transitions/sweep", json={"note": "the disk is back"})
    [entry] = await app.audit.find(verb="sweep", tenant=ANY)
    assert (entry.by, entry.note, entry.source) == ("root", "the disk is back", "api")
    assert (entry.subject, entry.subject_id) == ("transition", "Post.publish_at")
    assert entry.address == "127.0.0.1"


async def test_sweeps_of_code_are_audited_if_they_name_somebody(
    app: Duetime, engine: Engine
) -> None:
    await app.transitions.sweep()
    await app.transitions.drain()
    assert not (await app.audit.find()).items
    await app.transitions.sweep(by="ann")
    await app.transitions.drain(note="by hand", parked=True)
    second, first = await app.audit.find()
    assert (first.verb, first.by, first.note) == ("sweep", "ann", None)
    assert (second.verb, second.note) == ("sweep", "by hand")


async def test_parked_rows_are_listed_and_retried(
    client: httpx.AsyncClient, app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    add(engine, *(Post(id=n, text="bad", publish_at=clock.now()) for n in range(3)))
    swept = (await client.post("/api/transitions/sweep")).json()
    assert (swept["failed"], len(swept["errors"])) == (3, 3)
    page = (await client.get("/api/transitions/parked", params={"limit": 2})).json()
    rest = await client.get("/api/transitions/parked", params={"cursor": page["next_cursor"]})
    rows = page["items"] + rest.json()["items"]
    assert [(row["id"], row["model"]) for row in rows] == [(n, "Post") for n in range(3)]
    retried = await client.post(
        "/api/transitions/parked/retry", json={"model": "Post", "ids": [1], "note": "mended"}
    )
    assert (retried.status_code, retried.json()) == (202, {"count": 1})
    [entry] = await app.audit.find(verb="retry", tenant=ANY)
    assert (entry.by, entry.note, entry.source) == ("root", "mended", "api")
    left = (await client.get("/api/transitions/parked")).json()["items"]
    assert [row["id"] for row in left] == [0, 2]


@pytest.mark.parametrize(
    ("model", "parts", "key"),
    [
        (Letter, {"id": UUID(int=7)}, str(UUID(int=7))),
        (Seat, {"row": "a", "day": date(2030, 1, 2)}, ["a", "2030-01-02"]),
    ],
    ids=["a UUID", "a text and a date"],
)
async def test_keys_of_parked_rows_are_sent_back_as_they_are_listed(
    client: httpx.AsyncClient,
    keyed: Engine,
    clock: FakeClock,
    model: type[Letter | Seat],
    parts: dict[str, object],
    key: object,
) -> None:
    add(keyed, model(**parts, publish_at=clock.now()))
    await client.post("/api/transitions/sweep")
    [parked] = (await client.get("/api/transitions/parked")).json()["items"]
    assert parked["id"] == key
    body = {"model": parked["model"], "ids": [parked["id"]]}
    retried = await client.post("/api/transitions/parked/retry", json=body)
    assert (retried.status_code, retried.json()) == (202, {"count": 1})
    wrong = {"model": "Letter", "ids": ["no-uuid"]}
    refused = await client.post("/api/transitions/parked/retry", json=wrong)
    assert (refused.status_code, "values of UUID" in refused.text) == (422, True)


async def test_an_app_without_transitions_has_none(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app)) as client:
        for path in ("", "/pending", "/parked"):
            assert (await client.get(f"/api/transitions{path}")).json()["items"] == []
        assert (await client.post("/api/transitions/sweep")).json()["updated"] == 0
    assert "transitions" not in vars(memory_app)
