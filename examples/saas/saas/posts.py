"""Posts, which are published and deleted at the instants in their columns."""

from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Mapped, mapped_column

from duetime.transitions import SoftDeletable, transition
from saas.database import Base


class Post(SoftDeletable, Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    tenant: Mapped[str] = mapped_column(index=True)
    title: Mapped[str]
    status: Mapped[Literal["draft", "published"]] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(
        set_field="status", from_="draft", to="published"
    )
    expires_at: Mapped[datetime | None] = transition(soft_delete=True)
