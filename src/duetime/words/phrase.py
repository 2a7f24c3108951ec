"""Phrases: texts of ours that know what they were made of, so that they can be said in any
language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import reduce
from typing import NamedTuple

from duetime.errors import nearest


class Phrase(str):
    """A text in English, with the template and the values from which it was made.

    Wherever a text is expected it is the English one. `said` says it in another language.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]


class WallClock(NamedTuple):
    """What a local clock shows; with its date, if that must be said."""

    at: datetime
    dated: bool


def phrase(template: str, **values: object) -> Phrase:
    """Return the text of a template, in which `{name}` stands for a value."""
    return _again(template, values)


def with_hint(text: str, word: str, known: Iterable[str]) -> Phrase:
    """Return a text that asks whether the nearest known word was meant, if one is near."""
    near = nearest(word, known)
    if near is None:
        return phrase("{text}", text=text)
    return phrase("{text} (did you mean {near!r}?)", text=text, near=near)


def joined(texts: Iterable[Phrase]) -> Phrase:
    """Return phrases one after another, with semicolons between them."""
    return reduce(lambda first, then: phrase("{first}; {then}", first=first, then=then), texts)


def comma_joined(texts: Iterable[Phrase]) -> Phrase:
    """Return phrases one after another, with commas between them."""
    return reduce(lambda first, then: phrase("{first}, {then}", first=first, then=then), texts)


def with_value(text: str, name: str, change: Callable[[str], str]) -> str:
    """Return a phrase whose value of this name is changed, also in the phrases that it is made of;
    any other text as it is."""
    if not isinstance(text, Phrase):
        return text
    values = {
        each: change(str(value)) if each == name else _deeper(value, name, change)
        for each, value in text.values.items()
    }
    return _again(text.template, values)


def _deeper(value: object, name: str, change: Callable[[str], str]) -> object:
    return with_value(value, name, change) if isinstance(value, Phrase) else value


def _again(template: str, values: Mapping[str, object]) -> Phrase:
    shown = {name: _in_english(value) for name, value in values.items()}
    made = Phrase(template.format(**shown))
    made.template, made.values = template, values
    return made


def _in_english(value: object) -> object:
    match value:
        case WallClock(at, dated):
            form = "%H:%M:%S" if at.second else "%H:%M"
            return at.strftime(f"%Y-%m-%d {form}" if dated else form)
        case datetime():
            return value.isoformat(timespec="seconds")
        case _:
            return value
