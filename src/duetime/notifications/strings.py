"""The words of messages that are not sentences of a template: names of severities, and the habits
of writing numbers and dates. A folder of templates may bring those of more languages."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from duetime.errors import ConfigError, did_you_mean, shown
from duetime.model.notifications.topics import Severity
from duetime.words.habits import Habits
from duetime.words.languages import LANGUAGES, language_of, name_of

STRINGS_FILE = "strings.toml"


class MessageStrings(NamedTuple):
    """The strings of one language."""

    severities: Mapping[str, str]
    habits: Habits

    def as_values(self) -> dict[str, str | tuple[str, ...]]:
        """Return them as a file has them, by name."""
        return {**self.severities, **self.habits._asdict()}


def own_strings(code: str) -> MessageStrings:
    """Return the strings of a language of ours; of another, those of English."""
    known = code if code in LANGUAGES else "en"
    severities = {str(each): name_of("severity", each, known) for each in Severity}
    return MessageStrings(severities, language_of(known).habits)


def strings_of(code: str, folder: Path | None) -> MessageStrings:
    """Return the strings of a language: those of its file, and for what that lacks our own."""
    own = own_strings(code)
    if folder is None:
        return own
    values = own.as_values() | read_strings(folder / code / STRINGS_FILE)
    habits = {name: values[name] for name in Habits._fields}
    severities = {name: str(values[name]) for name in own.severities}
    return MessageStrings(severities, Habits(**habits))  # type: ignore[arg-type]


def read_strings(path: Path) -> dict[str, str | tuple[str, ...]]:
    """Return the strings of a file; none if it is not there. ConfigError for one that is wrong."""
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from None
    expected = own_strings("en").as_values()
    return {name: _checked(path, name, value, expected) for name, value in found.items()}


def _checked(path: Path, name: str, value: Any, expected: Mapping[str, Any]) -> Any:
    if name not in expected:
        raise ConfigError(f"{path} has an unknown string {name!r}{did_you_mean(name, expected)}")
    wanted = expected[name]
    if isinstance(wanted, str):
        if isinstance(value, str):
            return value
        raise ConfigError(f"{path}: {name}={shown(value)} is not valid: give a text")
    texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if texts and len(value) == len(wanted):
        return tuple(value)
    raise ConfigError(f"{path}: {name}={shown(value)} is not valid: give {len(wanted)} texts")
