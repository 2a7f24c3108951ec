"""What users write. A type checker understands all of it, and knows the types asserted here."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, assert_type
from uuid import UUID

import pydantic.dataclasses
from pydantic import BaseModel

from duetime import (
    ANY,
    Action,
    ActionCancelled,
    ApiKey,
    CallNext,
    Context,
    Depends,
    Duetime,
    Grant,
    Identity,
    Job,
    JobBulk,
    Misfire,
    Occurrence,
    Overlap,
    Page,
    Priority,
    Retry,
    Router,
    Run,
    State,
    current_tenant,
)

app = Duetime("memory://", lease=timedelta(seconds=5), concurrency=3)
router = Router()


@dataclass
class Note:
    text: str


class Model(BaseModel):
    number: int


@pydantic.dataclasses.dataclass
class Validated:
    number: int


def make() -> int:
    return 1


@app.handler(kind="note", retry=Retry(attempts=5), timeout=timedelta(seconds=5))
async def note(payload: Note, ctx: Context, n: Annotated[int, Depends(make)]) -> str:
    await ctx.progress(1)
    return payload.text


@router.handler(kind="model", queue="models")
def plain(payload: Model) -> int:
    return payload.number


@router.job("0 2 * * *", name="demo-tick", misfire="skip", overlap="queue", priority="low")
async def tick(ctx: Context) -> None: ...


@app.job("@daily", name="demo-daily", misfire=Misfire.all(limit=3), overlap=Overlap.allow)
def daily() -> None: ...


@app.middleware
async def timed(ctx: Context, call_next: CallNext) -> object:
    return await call_next()


@router.middleware
async def counted(ctx: Context, call_next: CallNext) -> None:
    await call_next()


def cancelled(event: ActionCancelled) -> None:
    assert_type(event.by, str)


app.on(ActionCancelled, cancelled)
router.on(ActionCancelled, cancelled, kind="note")
router.payload(Validated, kind="validated")
router.provide(datetime, datetime.now)
app.include(router)


async def schedule(when: datetime) -> None:
    async_series = await app.series("lateness_p99", since=when, step=60, by="kind")
    values: list[float | None] = [point.value for line in async_series for point in line.points]
    shown: list[Action] | list[str] = [str(ran.id) for ran in (await app.timeline(when, when)).ran]
    print(values, shown, app.sync.series("executed").points)
    action = await app.schedule(Note(""), at=when, key="k", if_exists="raise")
    assert_type(action, Action[Note])
    assert_type(action.payload, Note)
    assert_type(await app.schedule(Model(number=1), priority="high"), Action[Model])
    assert_type(await app.schedule(Validated(1), priority=Priority.low), Action[Validated])
    child = await app.schedule(Note(""), delay=timedelta(1), after=action, on="failed")
    assert_type(child, Action[Note])
    made = await app.schedule_many([(Note(""), when), app.request(Model(number=1), delay=1)])
    assert_type(made, list[Action])
    assert_type(app.sync.schedule(Note("")), Action[Note])
    assert_type(app.sync.schedule_many([(Note(""), when)]), list[Action])


async def wait(action: Action[Note], action_id: UUID) -> None:
    assert_type(await app.wait(action, timeout=timedelta(seconds=5)), Action[Note])
    assert_type((await app.wait(action)).payload.text, str)
    assert_type(await app.wait(action_id), Action)
    assert_type(await app.wait(str(action_id), tenant=ANY), Action)
    assert_type(app.sync.wait(action), Action[Note])
    assert_type(app.sync.wait(action_id, timeout=5), Action)


async def change(action: Action[Note]) -> None:
    assert_type(await app.cancel(action.id, by="x", running=True), Action)
    assert_type(await app.cancel(kind="note", key="k"), Action)
    assert_type(await app.reschedule(kind="note", key="k", delay=5), Action)
    assert_type(app.sync.retry(kind="note", key="k"), Action)
    assert_type(await app.reschedule(action.id, delay=5), Action)
    assert_type(await app.retry(action.id), Action)
    assert_type(await app.cancel_many(kind="note", state="scheduled"), int)
    assert_type(await app.retry_many(correlation_id="x", state=State.failed), int)
    assert_type(app.sync.cancel_many(kind="note"), int)


async def read(action_id: UUID) -> None:
    assert_type(await app.get(action_id, tenant=ANY), Action)
    assert_type(await app.get(kind="note", key="k"), Action)
    assert_type((await app.get(action_id)).payload, Any)
    assert_type(await app.find(state="failed"), Page[Action])
    assert_type(await app.find(state=State.failed), Page[Action])
    assert_type(await app.runs(action_id), list[Run])
    assert_type(app.sync.find(), Page[Action])
    assert_type(app.sync.runs(action_id), list[Run])
    for found in await app.find():
        assert_type(found, Action)
    assert_type(current_tenant(), str | None)


async def operate_jobs() -> None:
    job = await app.jobs.put("demo-put", "@daily", payload=Note(""), misfire="once", overlap="skip")
    assert_type(job, Job)
    assert_type(await app.jobs.trigger("demo-put"), Action)
    assert_type(app.sync.jobs.put("demo-put", "@daily", payload=Model(number=1)), Job)
    assert_type(await app.jobs.list(state="paused", sort="-next_due_at"), Page[Job])
    assert_type(await app.jobs.runs("demo-put", outcome="skipped"), list[Occurrence])
    assert_type(await app.jobs.bulk("pause", ["demo-put"]), JobBulk)


async def call(action_id: UUID) -> None:
    """Decorators return the function unchanged, so that a test just calls it."""
    assert_type(await note(Note(""), Context(action_id=action_id), 1), str)
    assert_type(plain(Model(number=1)), int)
    unchanged: Callable[[], None] = daily
    unchanged()
    async with app, app.worker(concurrency=3, queues={"a": 1}):
        pass


async def operate_access() -> None:
    grant = await app.grants.set("support", "actions.manage", tenant="acme", allowed=False)
    assert_type(grant, Grant)
    assert_type(app.sync.grants.list(role="support", tenant=ANY), list[Grant])
    key = await app.api_keys.create("deploy", {"support"}, "acme", datetime.now(UTC), by="ann")
    assert_type(key.key, str)
    assert_type(app.sync.api_keys.revoke(key.id), ApiKey)
    assert_type(Identity("ann", ["a"], tenant="acme").roles, frozenset[str])
