"""Billing: every night each paying subscription is charged once."""

import logging
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import ForeignKey, UniqueConstraint, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from duetime import ActionFailed, Context, Duetime, JobFailing, Retry, Router
from saas.database import Base
from saas.mail import SendMail
from saas.subscriptions import Subscription

PARIS = "Europe/Paris"
CENTS_A_DAY = {"pro": 97, "basic": 30}
OPERATORS = "operators@example.org"

log = logging.getLogger("saas.billing")
router = Router()


class Payment(Base):
    __tablename__ = "payments"
    __table_args__ = (UniqueConstraint("subscription_id", "day"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    subscription_id: Mapped[int] = mapped_column(ForeignKey("subscriptions.id"))
    day: Mapped[date]
    cents: Mapped[int]
    receipt: Mapped[str]


class CardDeclined(Exception): ...


class Bank:
    """Stands for a payment service, which charges once for each idempotency key."""

    async def charge(self, email: str, cents: int, idempotency_key: str) -> str:
        if email.startswith("broke"):
            raise CardDeclined(f"the card of {email} is declined")
        log.info("%d cents of %s", cents, email)
        return f"receipt for {idempotency_key}"


router.provide(Bank, Bank)


@dataclass(frozen=True)
class Charge:
    subscription: int
    email: str
    day: date
    cents: int


@dataclass(frozen=True)
class RecordPayment:
    subscription: int
    day: date
    cents: int


# -- every night ---------------------------------------------------------------------


@router.job("0 2 * * *", name="billing-nightly", tz=PARIS, transactional=True)
async def bill(ctx: Context, session: AsyncSession, due: Duetime) -> int:
    """Schedule all charges of the day, or none. A second run for a day charges nobody twice:
    charges on their way have keys, and the others are found in the payments."""
    day = (ctx.tick or due.clock.now()).astimezone(ZoneInfo(PARIS)).date()
    charged = select(Payment.subscription_id).where(Payment.day == day)
    paying = Subscription.plan.in_(CENTS_A_DAY), Subscription.id.not_in(charged)
    subscriptions = (await session.scalars(select(Subscription).where(*paying))).all()
    for subscription in subscriptions:
        await charge_for(due, subscription, day)
    return len(subscriptions)


async def charge_for(due: Duetime, subscription: Subscription, day: date) -> None:
    id, cents, key = subscription.id, CENTS_A_DAY[subscription.plan], f"{subscription.id} {day}"
    with due.acting(tenant=subscription.tenant):
        charge = await due.schedule(Charge(id, subscription.email, day, cents), key=key)
        await due.schedule(RecordPayment(id, day, cents), key=key, after=charge)


# A bank that does not answer is asked again for most of a day. A declined card stays declined.
@router.handler(
    kind="billing-charge",
    queue="bank",
    timeout=30,
    retry=Retry(attempts=24, delay=60, max_delay=3600, never=CardDeclined),
)
async def charge(payload: Charge, bank: Bank) -> str:
    """An attempt that died may have charged, so the bank must know that it is the same charge."""
    key = f"{payload.subscription} {payload.day}"
    return await bank.charge(payload.email, payload.cents, idempotency_key=key)


@router.handler(kind="billing-record", transactional=True)
async def record_payment(payload: RecordPayment, session: AsyncSession, ctx: Context) -> None:
    charge = await ctx.parent()
    assert charge is not None, "billing-record follows a charge"
    paid = Payment(subscription_id=payload.subscription, day=payload.day, cents=payload.cents)
    paid.receipt = str(charge.result)
    session.add(paid)


# -- when it fails -------------------------------------------------------------------


async def stop_plan(event: ActionFailed, session: AsyncSession, due: Duetime) -> None:
    """Nobody paid: the subscription is free from now on, and its owner gets a mail."""
    charge = (await due.get(event.action_id)).payload
    subscription = await session.get_one(Subscription, charge.subscription)
    subscription.plan = "free"
    await due.schedule(SendMail(subscription.email, f"We could not charge you: {event.error}"))


async def call_operators(event: JobFailing, due: Duetime) -> None:
    await due.schedule(SendMail(OPERATORS, f"{event.job} fails: {event.error}"))


router.on(ActionFailed, stop_plan, kind="billing-charge", durable=True, transactional=True)
router.on(JobFailing, call_operators, job="billing-nightly", durable=True)
