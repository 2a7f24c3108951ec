import asyncio
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import func, select

from duetime import Duetime
from duetime.testing import FakeClock
from saas import subscriptions
from saas.database import sessions
from saas.subscriptions import ChangePlan, RemindOfTrial, Subscription


async def subscribe(client: httpx.AsyncClient, email: str = "ann@example.org") -> int:
    answer = await client.post("/subscriptions", params={"email": email})
    assert answer.status_code == 201, answer.text
    id: int = answer.json()
    return id


async def plan_of(client: httpx.AsyncClient, id: int) -> str:
    plan: str = (await client.get(f"/subscriptions/{id}")).json()["plan"]
    return plan


async def test_a_trial_ends_by_itself(
    client: httpx.AsyncClient, due_app: Duetime, mails: list[str]
) -> None:
    id = await subscribe(client)
    await due_app.testing.advance(days=11)
    assert mails == ["ann@example.org: Your trial ends in three days."]
    assert await plan_of(client, id) == "trial"
    await due_app.testing.advance(days=3)
    assert mails[1:] == ["ann@example.org: Your plan is free now."]
    assert await plan_of(client, id) == "free"


async def test_a_request_that_fails_schedules_nothing(
    client: httpx.AsyncClient, due_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "TRIAL", "two weeks")
    with pytest.raises(ValueError, match="two weeks"):
        await subscribe(client)
    await due_app.testing.assert_not_scheduled(RemindOfTrial)
    async with sessions() as session:
        assert await session.scalar(select(func.count()).select_from(Subscription)) == 0


async def test_an_upgrade_cancels_what_the_trial_had_planned(
    client: httpx.AsyncClient, due_app: Duetime, mails: list[str]
) -> None:
    id = await subscribe(client)
    assert (await client.post(f"/subscriptions/{id}/upgrade")).json() == "pro"
    await due_app.testing.assert_not_scheduled(ChangePlan)
    await due_app.testing.assert_not_scheduled(RemindOfTrial)
    await due_app.testing.advance(days=20)
    assert mails == []
    assert (await client.post(f"/subscriptions/{id}/upgrade")).json() == "pro"


async def test_only_the_last_downgrade_counts(
    client: httpx.AsyncClient, due_app: Duetime, due_clock: FakeClock, mails: list[str]
) -> None:
    id = await subscribe(client)
    await client.post(f"/subscriptions/{id}/upgrade")
    for plan, days in (("free", 10), ("basic", 30)):
        at = (due_clock.now() + timedelta(days=days)).isoformat()
        answer = await client.put(f"/subscriptions/{id}/downgrade", params={"plan": plan, "at": at})
        assert answer.status_code == 200, answer.text
    assert (await client.get(f"/subscriptions/{id}")).json()["planned"].keys() == {"basic"}
    await due_app.testing.advance(days=29)
    assert await plan_of(client, id) == "pro"
    await due_app.testing.advance(days=1)
    assert await plan_of(client, id) == "basic"
    [replaced] = await due_app.audit.find(tenant="acme", verb="replace")
    assert replaced.by == "ann"


async def test_a_downgrade_can_be_cancelled(
    client: httpx.AsyncClient, due_app: Duetime, due_clock: FakeClock
) -> None:
    id = await subscribe(client)
    await client.post(f"/subscriptions/{id}/upgrade")
    at = (due_clock.now() + timedelta(days=1)).isoformat()
    await client.put(f"/subscriptions/{id}/downgrade", params={"plan": "free", "at": at})
    assert (await client.delete(f"/subscriptions/{id}/downgrade")).status_code == 204
    await due_app.testing.advance(days=2)
    assert await plan_of(client, id) == "pro"
    assert (await client.delete(f"/subscriptions/{id}/downgrade")).status_code == 404


async def test_other_tenants_see_no_subscription(client: httpx.AsyncClient) -> None:
    id = await subscribe(client)
    answer = await client.get(f"/subscriptions/{id}", headers={"tenant": "other"})
    assert answer.status_code == 404


async def test_what_is_about_to_happen_cannot_be_cancelled(
    client: httpx.AsyncClient, due_app: Duetime, due_clock: FakeClock
) -> None:
    id = await subscribe(client)
    due_clock.advance(days=14, seconds=-0.1)  # a worker claims what is due in half a second
    async with due_app.worker():
        async with asyncio.timeout(10):
            while not await due_app.find(
                kind="subscription-change-plan", state="running", tenant="acme"
            ):
                pass
        answer = await client.delete(f"/subscriptions/{id}/downgrade")
    assert answer.status_code == 409
    assert "it is running" in answer.json()["detail"]
