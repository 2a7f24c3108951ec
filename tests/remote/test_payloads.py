"""Payloads of kinds that a connected app knows, and of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from duetime import Duetime, PlainPayload, Router, Secret
from duetime.errors import ConfigError, InvalidPayload, UnknownKind
from remote.conftest import Served
from remote.scenario import Parcel


class Letter(BaseModel):
    """A payload with a secret."""

    to: str
    pin: Secret
    code: SecretStr = SecretStr("none")


@dataclass(frozen=True)
class Order:
    """A payload with large numbers."""

    numbers: list[int]


@dataclass(frozen=True)
class Stream:
    """What a client has of it, with what can be read once."""

    numbers: Iterable[int]


@pytest.fixture
def received(served: Served) -> list[Any]:
    """What the handlers of the server got."""
    got: list[Any] = []

    @served.app.handler(kind="letter")
    async def send(letter: Letter) -> None:
        got.append(letter)

    @served.app.handler(kind="order", queue="orders")
    async def order(order: Order) -> dict[str, int]:
        got.append(order)
        return {"sum": sum(order.numbers)}

    return got


def test_a_kind_that_is_known_here_has_typed_payloads(served: Served, remote: Duetime) -> None:
    made = remote.sync.schedule(Parcel(7), delay=60)
    assert made.payload == Parcel(7)
    assert remote.sync.get(made.id).payload == Parcel(7)
    assert remote.sync.find().items[0].payload == Parcel(7)
    other = Duetime.connect(served.url, token=served.key)
    assert other.sync.get(made.id).payload == {"order": 7, "text": ""}
    other.sync.close()


def test_a_class_that_is_not_known_here_is_refused_here(remote: Duetime) -> None:
    with pytest.raises(UnknownKind, match="Order is not registered with this app"):
        remote.sync.schedule(Order([1]))
    with pytest.raises(InvalidPayload, match="order: expected int"):
        remote.sync.schedule(Parcel("many"))  # type: ignore[arg-type]


def test_plain_data_of_a_kind_need_no_class(served: Served, received: list[Any]) -> None:
    app = Duetime.connect(served.url, token=served.key)
    plain = PlainPayload("order", {"numbers": [1, 2**70]})
    made = app.sync.schedule(plain)
    assert (made.kind, made.queue, made.payload) == ("order", "orders", plain.data)
    many = app.sync.schedule_many([(plain, app.clock.now()), app.request(plain, delay=1)])
    assert [action.kind for action in many] == ["order", "order"]
    job = app.sync.jobs.put("shop-orders", "0 6 * * *", payload=plain)
    assert (job.kind, job.payload) == ("order", {"numbers": [1, 2**70]})
    served.app.sync.testing.drain()
    assert received[0] == Order([1, 2**70])
    assert app.sync.get(made.id).result == {"sum": 1 + 2**70}
    with pytest.raises(InvalidPayload, match="numbers"):
        app.sync.schedule(PlainPayload("order", {"numbers": "many"}))
    with pytest.raises(InvalidPayload, match="its data are no JSON"):
        app.sync.schedule(PlainPayload("order", {"numbers": {1, 2}}))
    with pytest.raises(InvalidPayload, match="its data are no JSON"):
        app.sync.schedule(PlainPayload("order", {"numbers": float("nan")}))
    with pytest.raises(UnknownKind, match="nothing is not registered"):
        app.sync.schedule(PlainPayload("nothing", {}))
    app.sync.close()


def test_plain_data_are_for_connected_apps(served: Served) -> None:
    with pytest.raises(UnknownKind, match="PlainPayload is not registered"):
        served.app.sync.schedule(PlainPayload("order", {}))


def test_what_can_be_read_once_is_sent_whole(
    served: Served, remote: Duetime, received: list[Any]
) -> None:
    remote.payload(Stream, kind="order")

    def numbers() -> Iterator[int]:
        yield from (1, 2, 3)

    remote.sync.schedule(Stream(numbers()))
    remote.sync.schedule_many(remote.request(Stream(numbers())) for _ in range(2))
    served.app.sync.testing.drain()
    assert received == [Order([1, 2, 3])] * 3


def test_secrets_reach_the_handler_and_nobody_else(
    served: Served, remote: Duetime, received: list[Any]
) -> None:
    remote.payload(Letter, kind="letter")
    letter = Letter(to="ann", pin=Secret("1234"), code=SecretStr("5678"))
    made = remote.sync.schedule(letter, note="first")
    shown = remote.sync.get(made.id).payload
    assert isinstance(shown, Letter)
    assert (shown.to, shown.pin.get_secret_value()) == ("ann", "**********")
    served.app.sync.testing.drain()
    assert received[0].pin.get_secret_value() == "1234"
    assert received[0].code.get_secret_value() == "5678"


def test_data_that_may_not_be_read_are_none(served: Served) -> None:
    action = served.app.sync.schedule(Parcel(7))
    served.app.sync.testing.drain()
    app = served.connect(served.key_of("actions.read", "actions.schedule"))
    found = app.sync.get(action.id)
    assert (found.payload, found.result, found.progress) == (None, None, None)
    assert [run.result for run in app.sync.runs(action.id)] == [None]
    assert app.sync.schedule(Parcel(8)).payload == Parcel(8)  # it is known here
    app.sync.close()


def test_data_that_do_not_fit_the_type_here_are_shown_as_they_are(
    served: Served, remote: Duetime
) -> None:
    @dataclass(frozen=True)
    class Newer:
        order: str

    app = Duetime.connect(served.url, token=served.key)
    app.payload(Newer, kind="parcel", version=2, upgrades={1: lambda data: data})
    action = remote.sync.schedule(Parcel(7))
    assert app.sync.get(action.id).payload == {"order": 7, "text": ""}
    with pytest.raises(InvalidPayload, match="order"):
        app.sync.schedule(Newer("many"))
    app.sync.close()


def test_a_router_names_the_kinds_of_its_handlers(served: Served, received: list[Any]) -> None:
    router, ran = Router(), []

    @router.handler(kind="order", aliases=["orders"])
    async def order(order: Order, tool: Parcel) -> None:
        ran.append(order)

    @router.job("0 6 * * *", name="shop-nightly")
    async def nightly() -> None: ...

    app = Duetime.connect(served.url, token=served.key)
    app.include(router)
    made = app.sync.schedule(Order([5]))
    served.app.sync.testing.drain()
    assert (received, ran) == ([Order([5])], [])
    assert app.sync.get(made.id).payload == Order([5])
    with pytest.raises(ConfigError, match=r"app\.handler is not available over HTTP.*app\.payload"):
        app.handler(kind="other")
    app.sync.close()
