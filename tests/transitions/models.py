"""Models of a blog, and of what else rows may look like."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

from sqlalchemy import DateTime, ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duetime.transitions import SoftDeletable, transition


class Base(DeclarativeBase):
    pass


class Post(SoftDeletable, Base):
    """Published, archived, deleted softly, removed: each at its own time."""

    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(default="")
    status: Mapped[str | None] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(
        set_field="status", from_="draft", to="published"
    )
    archive_at: Mapped[datetime | None] = transition(
        set_field="status", from_="published", to="archived"
    )
    expires_at: Mapped[datetime | None] = transition(soft_delete=True)
    purge_at: Mapped[datetime | None] = transition(hard_delete=True)


class Comment(Base):
    """Holds its post, so that it cannot be removed."""

    __tablename__ = "comments"
    id: Mapped[int] = mapped_column(primary_key=True)
    post_id: Mapped[int] = mapped_column(ForeignKey("posts.id"))


class Mood(enum.Enum):
    calm = "is calm"
    angry = "is angry"


class Order(Base):
    """Reserved words, a key of two parts, an Enum, a flag for deletion, times without zone."""

    __tablename__ = "order"
    group: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    select: Mapped[Mood | None] = mapped_column(default=Mood.calm)
    is_deleted: Mapped[bool | None] = mapped_column(default=False)
    when: Mapped[datetime | None] = transition(DateTime(), set_field="select", to="is angry")
    end: Mapped[datetime | None] = transition(DateTime(), soft_delete=True)


class Ticket(Base):
    """A UUID for a key; a Literal; any state but the last becomes the last."""

    __tablename__ = "tickets"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    state: Mapped[Literal["open", "closed"] | None]
    close_at: Mapped[datetime | None] = transition(set_field="state", to="closed")
