"""A versioned model: each change of an article adds a row of history with its author.

As a program it applies due transitions until it is killed: `versioned_app.py URL [HALT [PLANT]]`.
It freezes after HALT changes, in the middle of a batch. With PLANT it commits each row by itself,
a fault that the test must detect.
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


def versioned_sessions(engine: Any) -> sessionmaker[Session]:
    """Return sessions that write history, as an application would."""
    sessions = sessionmaker(engine)
    event.listen(sessions, "before_flush", write_history)
    return sessions


def write_history(session: Session, *_: object) -> None:
    for model in session.dirty:
        if isinstance(model, Article):
            actor = session.info.get("by", "nobody")
            session.add(History(article_id=model.id, status=model.status, actor=actor))


def articles_with_duplicate_history() -> Select[int]:
    """Count articles with more than one row of history."""
    many = select(History.article_id).group_by(History.article_id).having(func.count() > 1)
    return select(func.count()).select_from(many.subquery())


def work(url: str, halt: str | None = None, plant: str | None = None) -> None:
    sessions = versioned_sessions(create_engine(url))
    app = Duetime("memory://")
    app.transitions.register(Base, sessions, batch=1 if plant else 50)
    if halt is not None:
        freeze_after(int(halt))
    while True:
        if app.sync.transitions.sweep().changed == 0:
            print("done", flush=True)
            return


def freeze_after(changes: int) -> None:
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
