"""What users mistype. A type checker finds an error in each line marked `# E`, and no other."""

from dataclasses import dataclass
from datetime import UTC, datetime

from duetime import Action, ActionCancelled, ActionFailed, CallNext, Context, Duetime, Router

Duetime(leese=3)  # E
Duetime("memory://", lease="5")  # E
Duetime("memory://", "shop")  # E

app = Duetime("memory://")
router = Router()
now = datetime.now(UTC)


@dataclass
class Note:
    text: str


@dataclass
class Other:
    number: int


def failed(event: ActionFailed) -> None: ...


async def schedule() -> None:
    await app.schedule("text")  # E
    await app.schedule(3)  # E
    await app.schedule([Note("")])  # E
    await app.schedule(None)  # E
    await app.schedule(Note)  # E
    await app.schedule(Note(""), at="tomorrow")  # E
    await app.schedule(Note(""), priority="hihg")  # E
    await app.series("latency_p99")  # E
    app.sync.series("executed", by="tenant")  # E
    await app.schedule(Note(""), if_exists="ignore")  # E
    await app.schedule(Note(""), wehn=5)  # E
    await app.schedule(Note(""), after=app, on="succeeded")  # E
    await app.schedule(Note(""), on="done")  # E
    await app.schedule_many([("text", now)])  # E
    app.request("text")  # E
    app.request(Note(""), priority="hihg")  # E
    (await app.schedule(Note(""))).idd  # E
    (await app.schedule(Note(""))).payload.number  # E


def schedule_blocking() -> None:
    app.sync.schedule("text")  # E
    app.sync.schedule(Note(""), priority="hihg")  # E
    app.sync.schedule_many([(3, now)])  # E
    app.sync.schedule(Note("")).payload.number  # E


async def read(action: Action[Note]) -> None:
    await app.find(state="schedulled")  # E
    await app.cancel_many(state="schedulled")  # E
    await app.cancel(kind="note", key=7)  # E
    await app.cancel("note", "k")  # E
    await app.retry_many(state="failled")  # E
    await app.reschedule("x", delay="5")  # E
    app.sync.find(limit="5")  # E
    app.sync.find(state="schedulled")  # E
    await app.wait(3)  # E
    (await app.wait(action)).payload.number  # E
    other: Action[Other] = await app.wait(action)  # E
    print(other)


def declare() -> None:
    app.on(ActionCancelled, failed)  # E
    router.on(ActionCancelled, failed)  # E
    app.handler(kind="x", retry=3)  # E
    router.handler(kind="x", timeout="5")  # E
    app.job("@daily", name="demo-tick", misfire="onec")  # E
    router.job("@daily", name="demo-tick", overlap="skp")  # E
    router.job("@daily", name="demo-tick", priority="hihg")  # E
    router.job("@daily", name="demo-tick", payload="text")  # E
    app.include(app)  # E


async def operate_jobs() -> None:
    await app.jobs.put("demo-put", "@daily", payload="text")  # E
    await app.jobs.put("demo-put", "@daily", payload=Note(""), misfire="onec")  # E
    app.sync.jobs.put("demo-put", "@daily", payload=Note(""), overlap="skp")  # E
    await app.jobs.put("demo-put", "@daily", payload=Note(""), retry=3)  # E
    await app.jobs.list(state="puased")  # E
    await app.jobs.list(sort="age")  # E
    await app.jobs.runs("demo-put", outcome="failure")  # E
    await app.jobs.bulk("stop", ["demo-put"])  # E


async def grant() -> None:
    await app.grants.set("support", "actions.raed")  # E
    app.sync.grants.set("support", "jobs.manage", allowed="no")  # E
    await app.api_keys.create("deploy", 7)  # E


@app.middleware  # E
def plain(ctx: Context, call_next: CallNext) -> object:
    return 1


@router.middleware  # E
async def short(ctx: Context) -> object:
    return 1
