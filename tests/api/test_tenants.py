"""Tenants and actors: ambient, explicit, and closed by default on every verb."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from api.apps import Note
from duetime import ANY, Context, Duetime, Fail, current_tenant
from duetime.errors import ActionNotFound, InvalidArgument, JobNameTaken, JobNotFound

Verb = Callable[[Duetime, UUID], Awaitable[object]]

VERBS: dict[str, Callable[..., Awaitable[object]]] = {
    "get": lambda app, id_, **more: app.get(id_, **more),
    "runs": lambda app, id_, **more: app.runs(id_, **more),
    "cancel": lambda app, id_, **more: app.cancel(id_, **more),
    "reschedule": lambda app, id_, **more: app.reschedule(id_, delay=9, **more),
    "retry": lambda app, id_, **more: app.retry(id_, **more),
    "wait": lambda app, id_, **more: app.wait(id_, timeout=0, **more),
}


async def acme_action(app: Duetime, verb: str) -> UUID:
    """An action of tenant acme that the verb could be used on."""
    action = await app.schedule(Note(), tenant="acme", delay=5)
    if verb == "wait":
        await app.cancel(action.id, tenant="acme")
    if verb == "retry":

        @app.handler()
        async def note(payload: Note) -> Fail:
            return Fail("no")

        await app.testing.advance(5)
    return action.id


@pytest.mark.parametrize("verb", VERBS)
async def test_another_tenants_action_does_not_exist_for_any_verb(app: Duetime, verb: str) -> None:
    id_ = await acme_action(app, verb)
    before = await app.get(id_, tenant="acme")
    with pytest.raises(ActionNotFound):
        await VERBS[verb](app, id_)
    with pytest.raises(ActionNotFound):
        await VERBS[verb](app, id_, tenant=None)
    with pytest.raises(ActionNotFound):
        await VERBS[verb](app, id_, tenant="other")
    with app.acting(tenant="other"), pytest.raises(ActionNotFound):
        await VERBS[verb](app, id_)
    assert await app.get(id_, tenant="acme") == before


@pytest.mark.parametrize("how", ["explicit", "any", "ambient", "over the ambient one"])
@pytest.mark.parametrize("verb", VERBS)
async def test_the_right_tenant_or_any_reaches_the_action(
    app: Duetime, verb: str, how: str
) -> None:
    id_ = await acme_action(app, verb)
    if how == "ambient":
        with app.acting(tenant="acme"):
            await VERBS[verb](app, id_)
    elif how == "over the ambient one":
        with app.acting(tenant="other"):
            await VERBS[verb](app, id_, tenant="acme")
    else:
        await VERBS[verb](app, id_, tenant=ANY if how == "any" else "acme")


async def test_an_untenanted_action_is_not_seen_by_a_tenant(app: Duetime) -> None:
    action = await app.schedule(Note(), delay=5)
    for verb in VERBS:
        with pytest.raises(ActionNotFound):
            await VERBS[verb](app, action.id, tenant="acme")
    assert (await app.get(action.id)).tenant is None


async def test_find_is_closed_by_default(app: Duetime) -> None:
    ids = {
        tenant: (await app.schedule(Note(), delay=5, tenant=tenant)).id
        for tenant in (None, "acme", "other")
    }

    async def seen(**more: object) -> set[UUID]:
        return {a.id for a in await app.find(**more)}  # type: ignore[arg-type]

    assert await seen() == {ids[None]}
    assert await seen(tenant="acme") == {ids["acme"]}
    assert await seen(tenant=ANY) == set(ids.values())
    with app.acting(tenant="acme"):
        assert await seen() == {ids["acme"]}
        assert await seen(tenant=None) == {ids[None]}


async def test_many_stay_within_their_tenant(app: Duetime) -> None:
    for tenant in (None, "acme", "other"):
        await app.schedule(Note(), delay=5, tenant=tenant)
    assert await app.cancel_many(kind="note", tenant="acme") == 1
    assert await app.cancel_many(kind="note") == 1
    assert len(await app.find(state="scheduled", tenant=ANY)) == 1
    assert await app.cancel_many(kind="note", tenant=ANY) == 1


async def test_retry_many_stays_within_its_tenant(app: Duetime) -> None:
    @app.handler()
    async def note(payload: Note) -> Fail:
        return Fail("no")

    for tenant in (None, "acme", "other"):
        await app.schedule(Note(), tenant=tenant)
    await app.testing.drain()
    assert await app.retry_many(kind="note", tenant="acme") == 1
    assert await app.retry_many(kind="note") == 1
    assert len(await app.find(state="failed", tenant=ANY)) == 1


async def test_a_key_of_another_tenant_is_never_returned(app: Duetime) -> None:
    theirs = await app.schedule(Note("secret"), key="k", tenant="acme", delay=5)
    mine = await app.schedule(Note("mine"), key="k", tenant="other", delay=5)
    assert (mine.created, mine.payload) == (True, Note("mine"))
    assert mine.id != theirs.id


# -- acting --------------------------------------------------------------------------


async def test_acting_gives_the_tenant_and_the_actor_and_nests(app: Duetime) -> None:
    async def made() -> tuple[str | None, str]:
        action = await app.schedule(Note())
        assert current_tenant() == action.tenant
        return action.tenant, action.created_by

    assert await made() == (None, "system")
    with app.acting(tenant="acme", by="ann"):
        assert await made() == ("acme", "ann")
        with app.acting(by="bob"):
            assert await made() == ("acme", "bob")
            with app.acting(tenant=None):
                assert await made() == (None, "bob")
            assert await made() == ("acme", "bob")
        with app.acting(tenant="other"):
            assert await made() == ("other", "ann")
        assert await made() == ("acme", "ann")
    assert await made() == (None, "system")


async def test_acting_is_restored_after_an_error(memory_app: Duetime) -> None:
    with pytest.raises(RuntimeError), memory_app.acting(tenant="acme", by="ann"):
        raise RuntimeError
    assert current_tenant() is None
    assert (await memory_app.schedule(Note())).created_by == "system"


async def test_acting_of_one_task_is_not_seen_by_another(memory_app: Duetime) -> None:
    met = asyncio.Barrier(2)

    async def act(tenant: str) -> str | None:
        with memory_app.acting(tenant=tenant, by=tenant):
            await met.wait()
            return (await memory_app.schedule(Note())).tenant

    assert list(await asyncio.gather(act("a"), act("b"))) == ["a", "b"]


async def test_every_verb_notes_who_acted(app: Duetime) -> None:
    with app.acting(by="ann"):
        action = await app.schedule(Note(), delay=5)
        assert (await app.reschedule(action.id, delay=6)).modified_by == "ann"
        assert (await app.reschedule(action.id, delay=7, by="bob")).modified_by == "bob"
        assert (await app.cancel(action.id)).cancelled_by == "ann"


async def test_a_handler_runs_with_its_actions_tenant_and_actor(app: Duetime) -> None:
    seen: dict[str, object] = {}

    @app.handler()
    async def note(payload: Note, ctx: Context) -> None:
        seen["context"] = (ctx.tenant, ctx.by, current_tenant())
        if payload.text == "parent":
            child = await app.schedule(Note("child"))
            seen["child"] = (child.tenant, child.created_by)
            seen["parent"] = (await app.get(ctx.action_id)).created_by

    with app.acting(tenant="acme", by="ann"):
        await app.schedule(Note("parent"))
    await app.testing.drain()
    assert seen == {
        "context": ("acme", "ann", "acme"),
        "child": ("acme", "ann"),
        "parent": "ann",
    }
    assert current_tenant() is None


async def test_a_sync_handler_runs_with_its_actions_tenant_and_actor(app: Duetime) -> None:
    seen: list[object] = []

    @app.handler()
    def note(payload: Note) -> None:
        seen.append(current_tenant())
        if payload.text == "parent":
            child = app.sync.schedule(Note("child"))
            seen.append((child.tenant, child.created_by))

    await app.schedule(Note("parent"), tenant="acme", by="ann")
    await app.testing.drain()
    assert seen == ["acme", ("acme", "ann"), "acme"]


@pytest.mark.parametrize("bad", ["", " ", "a\x00b", "\ud800", "x" * 451, 7])
async def test_a_bad_ambient_tenant_is_refused_by_reads_too(app: Duetime, bad: str) -> None:
    with app.acting(tenant=bad):
        with pytest.raises(InvalidArgument, match="tenant"):
            await app.schedule(Note())
        with pytest.raises(InvalidArgument, match="tenant"):
            await app.find()
        with pytest.raises(InvalidArgument, match="tenant"):
            await app.cancel_many(kind="note")
    assert len(await app.find(tenant=ANY)) == 0


async def test_an_action_cannot_belong_to_any_tenant(app: Duetime) -> None:
    with pytest.raises(InvalidArgument, match="tenant=ANY"):
        await app.schedule(Note(), tenant=ANY)  # type: ignore[arg-type]


async def test_a_job_name_of_another_tenant_is_only_said_to_be_taken(app: Duetime) -> None:
    """Neither who has it nor what is behind it."""
    await app.jobs.put("digest-daily", "0 8 * * *", payload=Note("a"), tenant="acme", by="ann")
    other = Duetime(store=app.store, clock=app.clock, name="other")
    other.payload(Note, kind="note")
    said = set()
    for asked, tenant in ((app, "umbrella"), (app, None), (other, "umbrella")):
        with pytest.raises(JobNameTaken) as raised:
            await asked.jobs.put("digest-daily", "0 8 * * *", payload=Note("b"), tenant=tenant)
        assert raised.value.name == "digest-daily"
        said.add(str(raised.value))
    assert said == {
        "job name 'digest-daily' is taken: names of jobs are global, across tenants and apps; "
        "choose another one"
    }
    job = await app.jobs.get("digest-daily", tenant="acme")
    assert (job.payload, job.version) == (Note("a"), 1)
    for version in (0, 1, 7):
        with pytest.raises(JobNameTaken):
            await app.jobs.put(
                "digest-daily", "0 8 * * *", payload=Note(), tenant="umbrella", version=version
            )


async def test_a_job_that_code_declares_for_another_tenant_is_only_said_to_be_taken(
    app: Duetime,
) -> None:
    @app.job("0 8 * * *", name="digest-daily", tenant="acme")
    def digest() -> None: ...

    with pytest.raises(JobNameTaken) as raised:
        await app.jobs.put("digest-daily", "0 8 * * *", payload=Note(), tenant="umbrella")
    assert "code" not in str(raised.value)
    with pytest.raises(JobNameTaken, match="is declared in code: change it there"):
        await app.jobs.put("digest-daily", "0 8 * * *", payload=Note(), tenant="acme")


async def test_a_near_name_of_another_tenant_is_not_suggested(app: Duetime) -> None:
    @app.job("0 8 * * *", name="digest-daily", tenant="acme")
    def digest() -> None: ...

    with pytest.raises(JobNotFound) as raised:
        await app.jobs.get("digest-dayly", tenant="umbrella")
    assert "digest-daily" not in str(raised.value)
    with pytest.raises(JobNotFound, match="did you mean 'digest-daily'"):
        await app.jobs.get("digest-dayly", tenant="acme")
