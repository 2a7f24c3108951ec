"""Kinds over time: aliases, versions, unknown ones and data that no longer fits."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from duetime import Action, Duetime, Retry, State
from duetime.errors import ConfigError
from duetime.testing import FakeClock


@dataclass(frozen=True)
class V1:
    name: str


@dataclass(frozen=True)
class V2:
    first: str
    last: str


@dataclass(frozen=True)
class V3:
    first: str
    last: str
    title: str = ""


class Model(BaseModel):
    first: str
    last: str


def split(data: dict[str, Any]) -> dict[str, Any]:
    first, last = data["name"].split(" ")
    return {"first": first, "last": last}


class Shop:
    """One store, used by one deployment of an app after another."""

    def __init__(self, url: str, clock: FakeClock) -> None:
        self._url = url
        self._clock = clock
        self._store = Duetime(url, clock=clock).store if url == "memory://" else None

    def deploy(self) -> Duetime:
        return Duetime(self._url, clock=self._clock, store=self._store)


@pytest.fixture
def shop(url: str, clock: FakeClock) -> Shop:
    return Shop(url, clock)


async def stored(shop: Shop, payload: object, kind: str, **more: Any) -> Action:
    async with shop.deploy() as app:
        app.payload(type(payload), kind=kind, **more)
        return await app.schedule(payload)


async def test_an_action_stored_under_an_old_name_still_runs(shop: Shop) -> None:
    action = await stored(shop, V1("ann bee"), "person.v1")
    ran: list[V1] = []
    async with shop.deploy() as app:

        @app.handler(kind="person", aliases=["people", "person.v1"])
        async def person(payload: V1) -> None:
            ran.append(payload)

        assert (await app.get(action.id)).payload == V1("ann bee")
        await app.testing.drain()
        assert (await app.get(action.id)).state is State.succeeded
        assert (await app.schedule(V1("x"))).kind == "person"
    assert ran == [V1("ann bee")]


async def test_an_alias_declared_separately_from_the_handler_runs_too(shop: Shop) -> None:
    action = await stored(shop, V1("ann bee"), "person.v1")
    async with shop.deploy() as app:

        @app.handler(kind="person")
        async def person(payload: V1) -> str:
            return payload.name

        app.payload(V1, kind="person", aliases=["person.v1"])
        await app.testing.drain()
        assert (await app.get(action.id)).result == "ann bee"


@pytest.mark.parametrize("new", [V2, Model])
async def test_an_old_version_is_upgraded_step_by_step(shop: Shop, new: type[Any]) -> None:
    old = await stored(shop, V1("ann bee"), "person")
    ran: list[object] = []
    async with shop.deploy() as app:

        async def person(payload: V2) -> None:
            ran.append(payload)

        person.__annotations__["payload"] = new
        app.handler(kind="person", version=2, upgrades={1: split})(person)
        current = await app.schedule(new(first="cy", last="dee"))
        assert (await app.get(old.id)).payload == new(first="ann", last="bee")
        await app.testing.drain()
        assert {(await app.get(a.id)).state for a in (old, current)} == {State.succeeded}
    assert sorted(map(repr, ran)) == sorted(
        [repr(new(first="ann", last="bee")), repr(new(first="cy", last="dee"))]
    )


async def test_a_step_without_a_function_leaves_it_to_validation(shop: Shop) -> None:
    action = await stored(shop, V1("ann bee"), "person")
    async with shop.deploy() as app:

        @app.handler(kind="person", version=3, upgrades={1: split})
        async def person(payload: V3) -> list[str]:
            return [payload.first, payload.last, payload.title]

        await app.testing.drain()
        assert (await app.get(action.id)).result == ["ann", "bee", ""]


async def test_a_newer_version_than_known_is_parked_until_a_worker_knows_it(shop: Shop) -> None:
    new = await stored(shop, V2("ann", "bee"), "person", version=2)
    async with shop.deploy() as app:

        @app.handler(kind="person")
        async def person(payload: V1) -> str:
            return payload.name

        neighbour = await app.schedule(V1("cy dee"))
        await app.testing.drain()
        parked = await app.get(new.id)
        assert (parked.state, parked.attempt) == (State.scheduled, 0)
        assert parked.error is not None
        assert "parked" in parked.error
        assert "version 2" in parked.error
        assert parked.payload == {"first": "ann", "last": "bee"}
        assert (await app.get(neighbour.id)).state is State.succeeded
        assert await app.testing.drain() == 0
    async with shop.deploy() as app:

        @app.handler(kind="person", version=2, upgrades={1: split})
        async def newer(payload: V2) -> str:
            return payload.last

        await app.testing.drain()
        done = await app.get(new.id)
        assert (done.result, done.attempt, done.error) == ("bee", 1, None)


async def test_an_unknown_kind_is_parked_and_its_neighbours_run(shop: Shop) -> None:
    action = await stored(shop, V1("ann"), "person")
    async with shop.deploy() as app:

        @app.handler(kind="other")
        async def other(payload: V2) -> None: ...

        neighbour = await app.schedule(V2("a", "b"))
        await app.testing.drain()
        parked = await app.get(action.id)
        assert (parked.state, parked.attempt, parked.worker) == (State.scheduled, 0, None)
        assert "'person'" in str(parked.error)
        assert (await app.get(neighbour.id)).state is State.succeeded
        run = (await app.runs(action.id))[0]
        assert (run.outcome, run.error) == ("released", parked.error)


async def test_a_parked_action_can_be_cancelled_and_rescheduled(shop: Shop) -> None:
    first, second = await stored(shop, V1("1"), "person"), await stored(shop, V1("2"), "person")
    async with shop.deploy() as app:
        await app.testing.drain()
        assert (await app.cancel(first.id)).state is State.cancelled
        moved = await app.reschedule(second.id, delay=60)
        assert moved.state is State.scheduled
        assert await app.testing.advance(120) == 0
        assert (await app.get(second.id)).error == moved.error


async def test_data_that_no_longer_fits_fails_with_its_reason_and_can_be_retried(
    shop: Shop,
) -> None:
    bad = await stored(shop, V1("ann"), "person")
    async with shop.deploy() as app:

        @app.handler(kind="person", retry=Retry(delays=[1, 1, 1]))
        async def person(payload: V2) -> None: ...

        good = await app.schedule(V2("a", "b"))
        await app.testing.advance(60)
        failed = await app.get(bad.id)
        assert (failed.state, failed.attempt) == (State.failed, 1)
        assert str(failed.error).startswith("InvalidPayload: ")
        assert "first: Field required" in str(failed.error)
        assert "if V2 has changed since it was stored, declare the kind with version=2 and " in str(
            failed.error
        )
        assert "upgrades={1: f}, deploy, and retry the action" in str(failed.error)
        assert failed.payload == {"name": "ann"}
        assert (await app.get(good.id)).state is State.succeeded
        assert [a.id for a in await app.find()] == [good.id, bad.id]
    async with shop.deploy() as app:

        @app.handler(kind="person")
        async def mended(payload: V1) -> str:
            return payload.name

        await app.retry(bad.id)
        await app.testing.drain()
        done = await app.get(bad.id)
        assert (done.state, done.result, done.attempt) == (State.succeeded, "ann", 2)


async def test_an_upgrade_that_raises_fails_the_action_with_its_reason(shop: Shop) -> None:
    bad = await stored(shop, V1("onlyone"), "person")
    good = await stored(shop, V1("ann bee"), "person")
    async with shop.deploy() as app:

        @app.handler(kind="person", version=2, upgrades={1: split})
        async def person(payload: V2) -> None: ...

        await app.testing.drain()
        failed = await app.get(bad.id)
        assert failed.state is State.failed
        assert "InvalidPayload" in str(failed.error)
        assert "upgrade from version 1" in str(failed.error)
        assert "the kind is at version 2: convert it by upgrades={1: f}, deploy" in str(
            failed.error
        )
        assert (await app.get(good.id)).state is State.succeeded


async def test_a_version_that_nothing_bridges_names_the_upgrade(shop: Shop) -> None:
    bad = await stored(shop, V1("ann"), "person")
    async with shop.deploy() as app:

        @app.handler(kind="person", version=3)
        async def person(payload: V2) -> None: ...

        await app.testing.drain()
        events = str((await app.get(bad.id)).error)
        assert (
            "stored in version 1, and the kind is at version 3: convert it by upgrades={1: f}"
            in events
        )


async def test_the_payload_of_a_job_has_no_upgrades(shop: Shop) -> None:
    async with shop.deploy() as app:
        app.job("0 * * * *", name="shop-greet", payload=V1("ann"))(takes_v1)
        await app.testing.drain()
        made = await app.jobs.trigger("shop-greet")
    async with shop.deploy() as app:
        app.job("0 * * * *", name="shop-greet", payload=V2("a", "b"))(takes_v2)
        await app.testing.drain()
        events = str((await app.get(made.id)).error)
        assert "if V2 has changed since it was stored, give new fields a default" in events
        assert "upgrades" not in events


async def takes_v1(payload: V1) -> None: ...


async def takes_v2(payload: V2) -> None: ...


async def test_a_payload_class_that_raises_anything_spoils_no_page(shop: Shop) -> None:
    bad = await stored(shop, V1("bad"), "person")
    good = await stored(shop, V1("good"), "person")

    @dataclass(frozen=True)
    class Picky:
        name: str

        def __post_init__(self) -> None:
            if self.name == "bad":
                raise KeyError(self.name)

    async with shop.deploy() as app:

        @app.handler(kind="person", retry=Retry(delays=[1, 1]))
        async def person(payload: Picky) -> None: ...

        assert [a.payload for a in await app.find()] == [Picky("good"), {"name": "bad"}]
        await app.testing.advance(60)
        failed = await app.get(bad.id)
        assert (failed.state, failed.attempt) == (State.failed, 1)
        assert "InvalidPayload" in str(failed.error)
        assert "KeyError" in str(failed.error)
        assert (await app.get(good.id)).state is State.succeeded


async def test_kinds_that_contradict_each_other_are_refused(memory_app: Duetime) -> None:
    app = memory_app
    app.payload(V1, kind="v1", aliases=["v0"])
    with pytest.raises(ConfigError, match="'v0' already means V1"):
        app.payload(V2, kind="v0")
    with pytest.raises(ConfigError, match="'v1' already means V1"):
        app.payload(V2, kind="v2", aliases=["v1"])
    with pytest.raises(ConfigError, match="already registered as kind 'v1'"):
        app.payload(V1, kind="v9")
    with pytest.raises(ConfigError, match=r"aliases=\['v9'\]"):
        app.payload(V3, kind="v3", aliases="v9")
    with pytest.raises(ConfigError, match="name version 2, but it is at version 2"):
        app.payload(V3, kind="v3", version=2, upgrades={2: split})
    with pytest.raises(ConfigError, match="versions start at 1"):
        app.payload(V3, kind="v3", version=-1)
