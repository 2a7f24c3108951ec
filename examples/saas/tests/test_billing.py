from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from duetime import ANY, Duetime
from duetime.testing import FakeClock
from saas.billing import Bank, Payment
from saas.database import sessions
from saas.subscriptions import Plan, Subscription

EVENING = datetime(2030, 3, 29, 20, 0, tzinfo=UTC)


@pytest.fixture
def due_clock() -> FakeClock:
    return FakeClock(EVENING)


async def add(email: str, plan: Plan = "pro", tenant: str = "acme") -> int:
    async with sessions.begin() as session:
        session.add(subscription := Subscription(tenant=tenant, email=email, plan=plan))
    return subscription.id


async def plan_of(id: int) -> str:
    async with sessions() as session:
        return (await session.get_one(Subscription, id)).plan


async def payments() -> list[tuple[str, int]]:
    async with sessions() as session:
        paid = await session.scalars(select(Payment).order_by(Payment.id))
        return [(payment.day.isoformat(), payment.cents) for payment in paid]


async def test_each_night_every_paying_subscription_is_charged(due_app: Duetime) -> None:
    await add("ann@example.org")
    await add("bob@example.org", "free")
    await due_app.testing.advance(days=2)
    assert await payments() == [("2030-03-30", 97), ("2030-03-31", 97)]


async def test_the_clocks_change_and_the_night_is_billed_once(due_app: Duetime) -> None:
    await add("ann@example.org", "basic")
    await due_app.testing.advance(days=3)
    ticks = [run.tick for run in await due_app.jobs.runs("billing-nightly")]
    # At 02:00 in Paris; the night of the 31st has no 02:00, so it is 03:00 there.
    assert ticks == [
        datetime(2030, 4, 1, 0, tzinfo=UTC),
        datetime(2030, 3, 31, 1, tzinfo=UTC),
        datetime(2030, 3, 30, 1, tzinfo=UTC),
    ]
    assert len(await payments()) == 3


async def test_a_night_that_is_triggered_again_charges_nobody_twice(due_app: Duetime) -> None:
    await add("ann@example.org")
    await due_app.testing.advance(hours=12)
    await due_app.jobs.trigger("billing-nightly", by="operator")
    await due_app.testing.drain()
    assert await payments() == [("2030-03-30", 97)]


async def test_a_bank_that_is_away_is_asked_again(
    due_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []

    async def charge(self: Bank, email: str, cents: int, idempotency_key: str) -> str:
        keys.append(idempotency_key)
        if len(keys) < 3:
            raise ConnectionError("the bank does not answer")
        return "receipt"

    monkeypatch.setattr(Bank, "charge", charge)
    await add("ann@example.org")
    await due_app.testing.advance(hours=6)
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert await payments() == [("2030-03-30", 97)]


async def test_who_cannot_pay_is_not_asked_again(due_app: Duetime, mails: list[str]) -> None:
    id = await add("broke@example.org")
    await due_app.testing.advance(hours=12)
    [failed] = await due_app.find(kind="billing-charge", tenant="acme")
    assert (failed.state, failed.attempt) == ("failed", 1)
    [recording] = await due_app.find(kind="billing-record", tenant="acme")
    assert recording.state == "cancelled"
    assert await payments() == []
    assert await plan_of(id) == "free"
    assert mails[-1].startswith("broke@example.org: We could not charge you: CardDeclined")


async def test_each_tenant_sees_its_own_charges(due_app: Duetime) -> None:
    for tenant in ("acme", "other"):
        await add(f"ann@{tenant}.org", tenant=tenant)
    await due_app.testing.advance(hours=12)
    [charge] = await due_app.find(kind="billing-charge", tenant="other")
    assert charge.payload.email == "ann@other.org"
    assert len(await due_app.find(kind="billing-charge", tenant=ANY)) == 2


async def test_operators_get_a_mail_when_nights_fail(
    due_app: Duetime, mails: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saas.billing.CENTS_A_DAY", {"pro": "97 cents"})
    await add("ann@example.org")
    await due_app.testing.advance(days=4)
    assert len(mails) == 1
    assert mails[0].startswith("operators@example.org: billing-nightly fails")
