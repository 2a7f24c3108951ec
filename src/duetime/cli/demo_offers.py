"""The demo's offers: rows of a table of its own, which open and close at their times."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, validates

from duetime.app import Duetime
from duetime.model.actions.retry import Retry
from duetime.transitions import transition

COUNT = 500
SECONDS_BETWEEN = 5
# One offer in so many cannot open.
WITHOUT_PRICE = 7

Status = Literal["planned", "open", "closed"]


class OfferBase(DeclarativeBase):
    pass


class Offer(OfferBase):
    """An offer of the shop."""

    __tablename__ = "offers"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    price: Mapped[int | None]
    status: Mapped[Status] = mapped_column(default="planned")
    opens_at: Mapped[datetime | None] = transition(set_field="status", from_="planned", to="open")
    closes_at: Mapped[datetime | None] = transition(set_field="status", from_="open", to="closed")

    @validates("status")
    def _refuse_without_price(self, field: str, status: Status) -> Status:
        if status == "open" and self.price is None:
            raise ValueError(f"{self.name} has no price")
        return status


@asynccontextmanager
async def open_offers(app: Duetime, folder: Path) -> AsyncIterator[None]:
    """Let the app's workers open and close offers, in a database in this folder."""
    engine = create_engine(f"sqlite:///{folder / 'offers.db'}")
    try:
        OfferBase.metadata.create_all(engine)
        app.transitions.register(OfferBase, engine, retry=Retry(attempts=2, delay=1))
        _plan(engine, app.clock.now())
        yield
    finally:
        engine.dispose()


def _plan(engine: Engine, now: datetime) -> None:
    """Plan offers: those before now are due at once."""
    with Session(engine) as session:
        for number in range(1, COUNT + 1):
            opens_at = now + timedelta(seconds=SECONDS_BETWEEN * (number - 10))
            offer = Offer(
                name=f"Offer {number}",
                price=None if number % WITHOUT_PRICE == 0 else 10 * number,
                opens_at=opens_at,
                closes_at=opens_at + timedelta(seconds=30),
            )
            session.add(offer)
        session.commit()
