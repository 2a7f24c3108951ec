"""Fields typed Any or object: what would come back as something else is refused, with its place."""

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints, field_validator
from typing_extensions import TypedDict

from duetime import ANY, Duetime
from duetime.errors import InvalidPayload

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
T = TypeVar("T")


class Color(Enum):
    red = 1


class Level(IntEnum):
    high = 3


class Word(StrEnum):
    yes = "yes"


@dataclass(frozen=True)
class Point:
    x: int


@dataclass(eq=False)
class Incomparable:
    at: datetime


@dataclass
class Webhook:
    """Every way to have an untyped part in a dataclass, and typed parts that need no check."""

    body: dict[str, object] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    bare: list = field(default_factory=list)  # type: ignore[type-arg]
    by_key: dict = field(default_factory=dict)  # type: ignore[type-arg]
    pair: tuple[int, Any] = (1, None)
    several: set[Any] = field(default_factory=set)
    maybe: Any | None = None
    either: datetime | Any = None
    in_order: Sequence[Any] = field(default_factory=list)
    mapped: Mapping[str, Any] = field(default_factory=dict)
    ends: deque[Any] = field(default_factory=deque)
    at: datetime = NOON
    typed: dict[str, datetime] = field(default_factory=dict)
    inner: Incomparable = field(default_factory=lambda: Incomparable(NOON))
    stripped: Annotated[str, StringConstraints(strip_whitespace=True)] = ""


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    number: int = 1


class TypedExtras(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, datetime]


class Tree(BaseModel):
    name: str = ""
    kids: list["Tree"] = []
    data: object = None
    hidden: Any = Field(default=None, exclude=True)

    @field_validator("data")
    @classmethod
    def as_it_is(cls, data: object) -> object:
        return data


class Shape(TypedDict, total=False):
    size: Any


class Row(NamedTuple):
    id: int
    value: Any


class Anything(RootModel[Any]):
    pass


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class Nested:
    shape: Shape = field(default_factory=lambda: Shape())
    row: Row = field(default_factory=lambda: Row(1, None))
    boxes: list[Box[Any]] = field(default_factory=list)
    tree: Tree = field(default_factory=Tree)
    open: Open | None = None
    extras: TypedExtras | None = None


@dataclass
class Typed:
    """No untyped part: nothing is compared, so what a validator changes is accepted."""

    text: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    inner: Incomparable = field(default_factory=lambda: Incomparable(NOON))


KINDS: dict[str, Any] = {
    "webhook": Webhook,
    "open": Open,
    "tree": Tree,
    "anything": Anything,
    "box": Box,
    "nested": Nested,
    "typed": Typed,
}


@pytest.fixture
def known(app: Duetime) -> Duetime:
    for kind, type_ in KINDS.items():
        app.payload(type_, kind=kind)
    return app


CHANGED: list[tuple[object, str]] = [
    (Webhook(body={"at": NOON}), "body.at: datetime comes back as str"),
    (Webhook(body={"on": date(2030, 1, 1)}), "body.on: date comes back as str"),
    (Webhook(body={"for": timedelta(1)}), "body.for: timedelta comes back as str"),
    (Webhook(body={"ids": {3}}), "body.ids: set comes back as list"),
    (Webhook(body={"ids": frozenset({3})}), "body.ids: frozenset comes back as list"),
    (Webhook(body={"pair": (1, 2)}), "body.pair: tuple comes back as list"),
    (Webhook(body={"price": Decimal("1.10")}), "body.price: Decimal comes back as str"),
    (Webhook(body={"n": {1: "x"}}), "body.n: a key of type int comes back as str"),
    (Webhook(body={"n": {None: "x"}}), "body.n: a key of type NoneType comes back as str"),
    (Webhook(body={"raw": b"ab"}), "body.raw: bytes comes back as str"),
    (Webhook(body={"id": UUID(int=1)}), "body.id: UUID comes back as str"),
    (Webhook(body={"color": Color.red}), "body.color: Color comes back as int"),
    (Webhook(body={"point": Point(1)}), "body.point: Point comes back as dict"),
    (Webhook(body={"deep": [1, {"a": [(2,)]}]}), "body.deep.1.a.0: tuple comes back as list"),
    (Webhook(items=[1, NOON]), "items.1: datetime comes back as str"),
    (Webhook(bare=[NOON]), "bare.0: datetime"),
    (Webhook(by_key={1: 2}), "by_key: a key of type int comes back as str"),
    (Webhook(pair=(1, NOON)), "pair.1: datetime"),
    (Webhook(several={NOON}), "several: set comes back as another set"),
    (Webhook(maybe=NOON), "maybe: datetime"),
    (Webhook(either={"at": NOON}), "either.at: datetime"),
    (Webhook(in_order=[NOON]), "in_order.0: datetime"),
    (Webhook(mapped={"at": NOON}), "mapped.at: datetime"),
    (Webhook(in_order=(1,)), "in_order: tuple comes back as list"),
    (Webhook(maybe=iter([1])), "maybe: list_iterator comes back as list"),
    (Webhook(ends=deque([NOON])), "ends.0: datetime"),
    (Open.model_validate({"at": NOON}), "at: datetime"),
    (Tree(data=NOON), "data: datetime"),
    (Tree(kids=[Tree(), Tree(kids=[Tree(data={"a": NOON})])]), "kids.1.kids.0.data.a: datetime"),
    (Anything((1, 2)), "root: tuple comes back as list"),
    (Box(NOON), "content: datetime"),
    (Nested(shape={"size": (1, 2)}), "shape.size: tuple"),
    (Nested(row=Row(1, NOON)), "row.1: datetime"),
    (Nested(boxes=[Box(1), Box((1,))]), "boxes.1.content: tuple"),
    (Nested(tree=Tree(data={3})), "tree.data: set"),
    (Nested(open=Open.model_validate({"at": {"a": NOON}})), "open.at.a: datetime"),
]


def numbered(payload: object) -> str:
    """A test id that is the same in every process, although sets have no order; pytest numbers
    those that are alike."""
    return type(payload).__name__


@pytest.mark.parametrize(("payload", "said"), CHANGED, ids=[numbered(p) for p, _ in CHANGED])
async def test_what_would_come_back_changed_is_refused_and_nothing_is_written(
    known: Duetime, payload: Any, said: str
) -> None:
    with pytest.raises(InvalidPayload) as alone:
        await known.schedule(payload)
    assert said in str(alone.value)
    assert "annotate the field with its type, or give JSON values" in str(alone.value)
    with pytest.raises(InvalidPayload) as among:
        await known.schedule_many(known.request(item) for item in [Webhook(), payload, Webhook()])
    assert str(among.value) == str(alone.value)
    assert len(await known.find(tenant=ANY)) == 0


def test_the_value_itself_is_not_in_the_error(known: Duetime) -> None:
    with pytest.raises(InvalidPayload) as raised:
        known.sync.schedule(Webhook(body={"secret": b"hunter2"}))
    assert "hunter2" not in str(raised.value)


JSON: dict[str, object] = {
    "text": "a",
    "numbers": [1, 2.5, -0.0, 2**70, True, None],
    "nested": {"a": {"b": []}},
}
KEPT: list[object] = [
    Webhook(body=JSON, items=[JSON], bare=[JSON], by_key=JSON, pair=(1, JSON), maybe=JSON),
    Webhook(several={1, "a", None}, either=JSON, in_order=[1], mapped=JSON, ends=deque([1])),
    Webhook(body=OrderedDict(JSON), maybe=[Level.high, Word.yes, {Word.yes: 1}]),
    Open.model_validate({"anything": JSON}),
    Tree(data=JSON, kids=[Tree(data=[1])], hidden=NOON),
    Anything(JSON),
    Box(JSON),
    Nested(shape={"size": JSON}, row=Row(1, JSON), boxes=[Box(JSON)]),
    Nested(extras=TypedExtras.model_validate({"at": NOON})),
]


@pytest.mark.parametrize("payload", KEPT, ids=numbered)
async def test_json_values_come_back_equal(known: Duetime, payload: Any) -> None:
    single = await known.schedule(payload)
    [many] = await known.schedule_many([known.request(payload)])
    for action in (single, many):
        found = (await known.get(action.id)).payload
        for name in ("body", "items", "maybe", "data", "root", "content", "shape", "extras"):
            assert getattr(found, name, None) == getattr(payload, name, None)


async def test_typed_parts_beside_untyped_ones_are_left_to_their_types(known: Duetime) -> None:
    action = await known.schedule(Webhook(stripped=" a ", typed={"at": NOON}))
    stored = (await known.get(action.id)).payload
    assert isinstance(stored, Webhook)
    assert (stored.stripped, stored.typed, stored.inner.at) == ("a", {"at": NOON}, NOON)


async def test_a_type_without_untyped_parts_is_not_compared(known: Duetime) -> None:
    assert known.runtime.payloads.named("typed").untyped is None
    assert known.runtime.payloads.named("webhook").untyped is not None
    await known.schedule(Typed(" a "))


def test_the_payload_of_a_job_is_checked_too(known: Duetime) -> None:
    with pytest.raises(InvalidPayload, match=r"body\.at: datetime"):

        @known.job("0 2 * * *", name="web-hook", payload=Webhook(body={"at": NOON}))
        def run(payload: Webhook) -> None: ...

    with pytest.raises(InvalidPayload, match=r"body\.at: datetime"):
        known.sync.jobs.put("web-hook", "0 2 * * *", payload=Webhook(body={"at": NOON}))
    assert not known.sync.jobs.list().items
