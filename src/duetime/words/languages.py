"""The languages in which duetime speaks, each in a folder of its own, imported when first asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from string import Formatter
from typing import Any

from duetime.errors import DuetimeError, InvalidArgument, shown
from duetime.words.habits import ENGLISH_HABITS, Habits
from duetime.words.phrase import Phrase
from duetime.words.plural import Plural
from duetime.words.rule_grammar import RuleGrammar

# A new language is named here, and its folder beside this file has a LANGUAGE.
LANGUAGES = ("en", "fr")


@dataclass(frozen=True, slots=True)
class Language:
    """One language: the grammar of rules, the texts of phrases by their English templates, the
    names of codes by their nouns, a sentence for each class of errors, and the habits of writing
    numbers and dates.

    `show` formats a number, instant or clock, and `typeset` sets the spaces of a sentence. English
    has no texts but the templates themselves. `invalid` is said of an argument, its value and the
    remedy, `other` of an error without a sentence, and `quoted` of an English text within another.
    """

    rules: RuleGrammar
    show: Callable[[object, str], str] = format
    texts: Mapping[str, str | Plural] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sentences: Mapping[type[DuetimeError], Callable[[Any], str]] = field(default_factory=dict)
    typeset: Callable[[str], str] = str
    invalid: str = "{argument}={value} is not valid: {remedy}"
    other: str = "{text}"
    quoted: str = "{text}"
    habits: Habits = ENGLISH_HABITS


@cache
def language_of(code: str) -> Language:
    """Return the language of a code, as `fr`."""
    if code not in LANGUAGES:
        raise InvalidArgument("language", code, f"give one of {', '.join(LANGUAGES)}")
    language: Language = import_module(f"duetime.words.{code}").LANGUAGE
    return language


def said(text: str, code: str) -> str:
    """Return a text of ours in a language; as it is if that language has no words for it."""
    return text if code == "en" else _said(text, language_of(code))


def error_said(error: DuetimeError, code: str) -> str:
    """Return what an error means to people, in a language; its English text if that has none."""
    if code == "en":
        return str(error)
    language = language_of(code)
    if isinstance(error, InvalidArgument):
        remedy = _remedy(error.remedy, language)
        value = shown(error.value)
        return language.invalid.format(argument=error.argument, value=value, remedy=remedy)
    known = (language.sentences[base] for base in type(error).__mro__ if base in language.sentences)
    sentence = next(known, None)
    return (
        language.other.format(text=error) if sentence is None else language.typeset(sentence(error))
    )


def _remedy(remedy: str, language: Language) -> str:
    known = isinstance(remedy, Phrase) or remedy in language.texts
    return _said(remedy, language) if known else language.quoted.format(text=remedy)


def name_of(noun: str, value: str, code: str) -> str:
    """Return what people call a value of a noun, as `failed` of `state`."""
    return language_of(code).names.get(noun, {}).get(value, str(value))


def _said(text: str, language: Language) -> str:
    if not isinstance(text, Phrase):
        known = language.texts.get(text)
        return known if isinstance(known, str) else str(text)
    form = language.texts.get(text.template, text.template)
    if isinstance(form, Plural):
        form = form.form(text.values[form.by])
    return _Saying(language).vformat(form, (), text.values)


class _Saying(Formatter):
    """Fills a template with values as a language writes them."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, Phrase):
            return _said(value, self._language)
        return self._language.show(value, format_spec)
