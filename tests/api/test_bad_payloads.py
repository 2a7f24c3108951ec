"""Payloads that must not be stored: refused before anything is written, with the reason."""

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from api.apps import Note, case_id
from duetime import ANY, Duetime
from duetime.errors import DuetimeError, InvalidPayload, UnknownKind
from duetime.testing import FakeClock


@dataclass
class Bag:
    number: float | None = None
    text: str = ""
    anything: Any = None
    items: list[int] = field(default_factory=list)


class Model(BaseModel):
    number: float | None = None
    anything: Any = None

    @field_validator("number")
    @classmethod
    def small(cls, number: float | None) -> float | None:
        if number is not None and number > 100:
            raise ValueError("at most 100")
        return number


@dataclass
class Stranger:
    text: str = ""


@dataclass(frozen=True)
class NoteBook:
    text: str = ""


@pytest.fixture
def known(app: Duetime) -> Duetime:
    app.payload(Bag, kind="bag")
    app.payload(Model, kind="model")
    return app


NAN = math.nan
BAD: list[tuple[object, str]] = [
    (Bag(number=NAN), "JSON"),
    (Bag(number=math.inf), "JSON"),
    (Bag(anything=NAN), "JSON"),
    (Bag(anything={"deep": [1, (2, -math.inf)]}), "JSON"),
    (Model(number=NAN), "JSON"),
    (Model(anything=[NAN]), "JSON"),
    (Bag(anything={NAN: 1}), "JSON"),
    (Bag(number="seven"), "float"),  # type: ignore[arg-type]
    (Bag(text=7), "str"),  # type: ignore[arg-type]
    (Bag(items=["a"]), "int"),  # type: ignore[list-item]
    (Bag(items="abc"), "list"),  # type: ignore[arg-type]
    (Bag(anything=object()), "serialize"),
    (Bag(anything=b"\xff"), "utf-8"),
    (Bag(text="a\x00b"), "NUL"),
    (Bag(anything={"\x00": 1}), "NUL"),
    (Bag(text="\ud800"), "surrogates"),
    (Bag(anything=["\udfff"]), "surrogates"),
    (Model.model_construct(number=101), "at most 100"),
    (Model.model_construct(number="x"), "number"),
]


@pytest.mark.parametrize(("payload", "reason"), BAD, ids=[case_id(p) for p, _ in BAD])
async def test_data_that_cannot_be_kept_is_refused_and_nothing_is_written(
    known: Duetime, payload: Any, reason: str
) -> None:
    with pytest.raises(InvalidPayload, match=reason) as caught:
        await known.schedule(payload)
    assert caught.value.kind in ("bag", "model")
    assert caught.value.kind in str(caught.value)
    assert len(await known.find(tenant=ANY)) == 0


@pytest.mark.parametrize(("payload", "reason"), BAD, ids=[case_id(p) for p, _ in BAD])
async def test_a_bad_payload_among_many_is_refused_in_the_same_words(
    known: Duetime, payload: Any, reason: str
) -> None:
    many = [Bag(), Model(), payload, Bag(), Model()]
    with pytest.raises(InvalidPayload, match=reason) as alone:
        await known.schedule(payload)
    with pytest.raises(InvalidPayload, match=reason) as among:
        await known.schedule_many(known.request(item) for item in many)
    assert str(among.value) == str(alone.value)
    assert len(await known.find(tenant=ANY)) == 0


GOOD = [
    Bag(number=None, anything=None),
    Bag(number=-0.0, text="null", anything={"null": [None, 1.5]}),
    Bag(text="\\u0000 is only text, so is \\\\u0000", anything="\\"),
    Bag(text="😀\n\t\x01\x7f\u2028", anything=["\uffff"]),
    Bag(number=1.7976931348623157e308, items=[2**63, -(2**200)]),
]


@pytest.mark.parametrize("payload", GOOD, ids=case_id)
async def test_data_that_only_looks_dangerous_is_kept_as_it_is(
    known: Duetime, payload: Bag
) -> None:
    action = await known.schedule(payload)
    assert (await known.get(action.id)).payload == payload


async def test_many_that_only_look_dangerous_are_kept_as_they_are(known: Duetime) -> None:
    made = await known.schedule_many(known.request(payload) for payload in GOOD)
    assert [(await known.get(action.id)).payload for action in made] == GOOD


@pytest.mark.parametrize(
    ("payload", "hint"),
    [
        (Stranger(), "Stranger"),
        (NoteBook(), "did you mean 'Note'"),
    ],
    ids=case_id,
)
async def test_an_unregistered_type_is_an_unknown_kind(
    app: Duetime, payload: Any, hint: str
) -> None:
    with pytest.raises(UnknownKind, match=hint) as caught:
        await app.schedule(payload)
    assert "app.payload(" in str(caught.value)
    assert len(await app.find()) == 0


async def test_a_subclass_is_not_its_base(app: Duetime) -> None:
    class Special(Note):
        pass

    with pytest.raises(UnknownKind, match="Special"):
        await app.schedule(Special())


async def test_a_payload_over_the_limit_is_refused_and_says_both_sizes(
    url: str, clock: FakeClock
) -> None:
    async with Duetime(url, clock=clock, max_payload=100) as app:
        app.payload(Note, kind="note")
        fits = "x" * (100 - len('{"text":""}'))
        await app.schedule(Note(fits))
        with pytest.raises(InvalidPayload, match="101 bytes of JSON, max_payload is 100"):
            await app.schedule(Note(fits + "x"))
        # Bytes, not characters.
        with pytest.raises(InvalidPayload, match="bytes"):
            await app.schedule(Note("é" * len(fits)))
        assert len(await app.find()) == 1


async def test_a_megabyte_is_the_default_limit(app: Duetime) -> None:
    with pytest.raises(InvalidPayload, match="1,000,001 bytes"):
        await app.schedule(Note("x" * (1_000_001 - len('{"text":""}'))))
    fits = Note("x" * (1_000_000 - len('{"text":""}')))
    action = await app.schedule(fits)
    assert (await app.get(action.id)).payload == fits


async def test_a_payload_that_raises_when_it_is_read_back_is_refused(memory_app: Duetime) -> None:
    @dataclass
    class Picky:
        text: str

        def __post_init__(self) -> None:
            if self.text == "bad":
                raise KeyError("picky")

    memory_app.payload(Picky, kind="picky")
    payload = Picky("good")
    payload.text = "bad"
    with pytest.raises(InvalidPayload, match="KeyError: 'picky'"):
        await memory_app.schedule(payload)


async def test_every_error_has_the_one_root(known: Duetime) -> None:
    for payload in (Bag(number=NAN), Stranger()):
        with pytest.raises(DuetimeError):
            await known.schedule(payload)


@pytest.mark.parametrize(
    ("mistaken", "remedy"),
    [
        (Note, "you passed the class Note: pass an instance"),
        (print, "you passed a function"),
        ({"text": "a"}, "an instance of a dataclass or pydantic model"),
        (None, "an instance of a dataclass or pydantic model"),
        ("note", "an instance of a dataclass or pydantic model"),
    ],
)
async def test_a_value_that_is_no_payload_is_refused_with_a_remedy(
    known: Duetime, mistaken: Any, remedy: str
) -> None:
    with pytest.raises(UnknownKind, match=remedy):
        await known.schedule(mistaken)


async def test_a_value_of_a_wrong_type_is_reported_without_jargon(known: Duetime) -> None:
    wrong: Any = "5"
    with pytest.raises(InvalidPayload) as caught:
        await known.schedule(Bag(items=wrong))
    assert "\n" not in str(caught.value)
    assert "items: expected list[int], got '5' (str)" in str(caught.value)
