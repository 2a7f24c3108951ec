"""Models whose rows schedule actions when their time comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from duetime.transitions import transition


@dataclass(frozen=True)
class Remind:
    visit: int


class Base(DeclarativeBase):
    pass


def reminder(visit: Visit) -> Remind | None:
    if visit.guest == "nobody":
        return None
    if visit.guest == "trouble":
        raise ValueError("whom?")
    return Remind(visit.id)


class Visit(Base):
    """Reminded once, which clears the time; reported at the end, which sets a field."""

    __tablename__ = "visits"
    id: Mapped[int] = mapped_column(primary_key=True)
    guest: Mapped[str] = mapped_column(default="ann")
    reported: Mapped[bool] = mapped_column(default=False)
    remind_at: Mapped[datetime | None] = transition(action=reminder, clear=True)
    ends_at: Mapped[datetime | None] = transition(
        action=lambda visit: [Remind(visit.id), Remind(-visit.id)], set_field="reported", to=True
    )
    watch_at: Mapped[datetime | None] = transition(
        action=reminder, where=lambda columns: columns.guest == "bob"
    )
