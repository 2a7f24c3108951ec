"""Subscriptions: a trial ends by itself, and a downgrade waits for the end of the paid month."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from duetime import Cancel, Duetime, Router
from duetime.errors import ActionNotFound
from saas.database import Base
from saas.mail import SendMail

Plan = Literal["trial", "pro", "basic", "free"]
TRIAL = timedelta(days=14)
REMINDER = timedelta(days=11)

router = Router()


class Subscription(Base):
    __tablename__ = "subscriptions"
    id: Mapped[int] = mapped_column(primary_key=True)
    tenant: Mapped[str] = mapped_column(index=True)
    email: Mapped[str]
    plan: Mapped[Plan] = mapped_column(default="trial")


@dataclass(frozen=True)
class RemindOfTrial:
    subscription: int


@dataclass(frozen=True)
class ChangePlan:
    subscription: int
    plan: Plan


# -- in the transaction of a request -------------------------------------------------


async def start_trial(due: Duetime, session: AsyncSession, tenant: str, email: str) -> Subscription:
    """Save a subscription together with the actions that end its trial: all of it, or nothing."""
    subscription = Subscription(tenant=tenant, email=email)
    session.add(subscription)
    await session.flush()  # it has an id from here on
    key = str(subscription.id)
    reminder, end = RemindOfTrial(subscription.id), ChangePlan(subscription.id, "free")
    await due.schedule(reminder, delay=REMINDER, key=key, connection=session)
    await due.schedule(end, delay=TRIAL, key=key, connection=session)
    return subscription


async def upgrade(due: Duetime, session: AsyncSession, subscription: Subscription) -> None:
    """Change to the pro plan now. Whatever was to happen to the old plan is cancelled."""
    subscription.plan = "pro"
    for kind in ("trial-remind", "subscription-change-plan"):
        with suppress(ActionNotFound):  # the reminder was sent, or nothing was planned
            await due.cancel(kind=kind, key=str(subscription.id), connection=session)


# -- later ---------------------------------------------------------------------------


@router.handler(kind="trial-remind", transactional=True)
async def remind_of_trial(payload: RemindOfTrial, session: AsyncSession, due: Duetime) -> None:
    subscription = await session.get(Subscription, payload.subscription)
    if subscription is None:
        raise Cancel("the subscription is gone")
    await due.schedule(SendMail(subscription.email, "Your trial ends in three days."))


@router.handler(kind="subscription-change-plan", transactional=True)
async def change_plan(payload: ChangePlan, session: AsyncSession, due: Duetime) -> str:
    """The new plan, the mail and the end of this action are committed together."""
    subscription = await session.get(Subscription, payload.subscription)
    if subscription is None:
        raise Cancel("the subscription is gone")
    old, subscription.plan = subscription.plan, payload.plan
    await due.schedule(SendMail(subscription.email, f"Your plan is {payload.plan} now."))
    return f"{old} -> {payload.plan}"
