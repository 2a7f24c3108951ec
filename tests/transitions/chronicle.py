"""A versioned model: each change of an article leaves a line of history, with who made it.

Run as a program, it applies what is due until it is killed: `chronicle.py URL [HALT [PLANT]]`. HALT
is after how many changes it stands still, in the middle of a batch; with PLANT it commits each row
by itself, a mistake that the test must find.
"""

from __future__ import annotations

import sys
import threading
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Select, create_engine, event, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from duetime import Duetime
from duetime.transitions import transition


class Base(DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "articles"
    id: Mapped[int] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=0)
    status: Mapped[str] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(
        set_field="status", from_="draft", to="published"
    )
    __mapper_args__ = {"version_id_col": version}


class History(Base):
    __tablename__ = "history"
    id: Mapped[int] = mapped_column(primary_key=True)
    article_id: Mapped[int] = mapped_column(ForeignKey("articles.id"))
    status: Mapped[str]
    actor: Mapped[str]


def chronicling(engine: Any) -> sessionmaker[Session]:
    """Sessions as an application makes them: they write history."""
    sessions = sessionmaker(engine)
    event.listen(sessions, "before_flush", chronicle)
    return sessions


def chronicle(session: Session, *_: object) -> None:
    for one in session.dirty:
        if isinstance(one, Article):
            actor = session.info.get("by", "nobody")
            session.add(History(article_id=one.id, status=one.status, actor=actor))


def repeated() -> Select[int]:
    """Articles with more than one line of history."""
    many = select(History.article_id).group_by(History.article_id).having(func.count() > 1)
    return select(func.count()).select_from(many.subquery())


def work(url: str, halt: str | None = None, plant: str | None = None) -> None:
    sessions = chronicling(create_engine(url))
    app = Duetime("memory://")
    app.transitions.register(Base, sessions, batch=1 if plant else 50)
    if halt is not None:
        stand_still_after(int(halt))
    while True:
        if app.sync.transitions.sweep().changed == 0:
            print("done", flush=True)
            return


def stand_still_after(changes: int) -> None:
    left = changes

    def changed(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            print("halted", flush=True)
            threading.Event().wait()

    event.listen(Article, "after_update", changed)


if __name__ == "__main__":
    work(*sys.argv[1:])
