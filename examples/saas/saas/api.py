"""The HTTP API: `uvicorn saas.api:api` serves it, and works off what is due."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime
from sqlalchemy.ext.asyncio import AsyncSession

from duetime.errors import ActionNotFound, IllegalState
from saas.database import create_tables, engine, get_session
from saas.due import due
from saas.posts import Post
from saas.subscriptions import ChangePlan, Plan, Subscription, start_trial, upgrade

logging.basicConfig(format="%(levelname)-7s %(name)s: %(message)s", level=logging.INFO)

Session = Annotated[AsyncSession, Depends(get_session)]
Name = Annotated[str, Header()]


async def sign_in(tenant: Name, user: Name) -> AsyncIterator[None]:
    """Stands for real authentication. What a request schedules belongs to its tenant."""
    with due.acting(tenant=tenant, by=user):
        yield


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    await create_tables()
    async with due, due.worker():
        yield
    await engine.dispose()


api = FastAPI(lifespan=lifespan, dependencies=[Depends(sign_in)])


@api.exception_handler(IllegalState)
async def refuse_what_came_too_late(request: Request, error: Exception) -> Response:
    """A handler runs already, so that its action can be neither moved nor cancelled."""
    return JSONResponse({"detail": str(error)}, 409)


async def own_subscription(id: int, tenant: Name, session: Session) -> Subscription:
    async with session.begin():
        subscription = await session.get(Subscription, id)
    if subscription is None or subscription.tenant != tenant:
        raise HTTPException(404)
    return subscription


Own = Annotated[Subscription, Depends(own_subscription)]

# -- subscriptions -------------------------------------------------------------------


@api.post("/subscriptions", status_code=201)
async def subscribe(email: str, tenant: Name, session: Session) -> int:
    async with session.begin():
        return (await start_trial(due, session, tenant, email)).id


@api.get("/subscriptions/{id}")
async def read_subscription(subscription: Own) -> dict[str, object]:
    changes = await due.find(
        kind="subscription-change-plan", key=str(subscription.id), state="scheduled"
    )
    planned = {change.payload.plan: change.due_at for change in changes}
    return {"plan": subscription.plan, "planned": planned}


@api.post("/subscriptions/{id}/upgrade")
async def upgrade_now(subscription: Own, session: Session) -> str:
    async with session.begin():
        await upgrade(due, session, subscription)
    return subscription.plan


@api.put("/subscriptions/{id}/downgrade")
async def plan_downgrade(plan: Plan, at: AwareDatetime, subscription: Own) -> datetime | None:
    """Only one change of a subscription waits: a second request replaces the first."""
    change, key = ChangePlan(subscription.id, plan), str(subscription.id)
    return (await due.schedule(change, at=at, key=key, if_exists="replace")).due_at


@api.delete("/subscriptions/{id}/downgrade", status_code=204)
async def cancel_downgrade(subscription: Own) -> None:
    try:
        await due.cancel(kind="subscription-change-plan", key=str(subscription.id))
    except ActionNotFound:
        raise HTTPException(404) from None


# -- posts ---------------------------------------------------------------------------


@api.post("/posts", status_code=201)
async def write_post(
    title: str,
    tenant: Name,
    session: Session,
    publish_at: AwareDatetime | None = None,
    expires_at: AwareDatetime | None = None,
) -> int:
    post = Post(tenant=tenant, title=title, publish_at=publish_at, expires_at=expires_at)
    async with session.begin():
        session.add(post)
    return post.id


@api.get("/posts/{id}")
async def read_post(id: int, tenant: Name, session: Session) -> dict[str, str]:
    post = await session.get(Post, id)
    if post is None or post.tenant != tenant or post.deleted_at is not None:
        raise HTTPException(404)
    return {"title": post.title, "status": post.status}
