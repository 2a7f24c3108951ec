"""Makes a folder of templates for another language, and names what is still to be translated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from duetime.errors import InvalidArgument
from duetime.notifications.placeholders import problems_of_language
from duetime.notifications.strings import STRINGS_FILE, own_strings
from duetime.notifications.topic_templates import OWN_TEMPLATES, TEMPLATE_FILES

CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
# The first line of a template that nobody has translated yet. Jinja2 leaves it out.
TO_TRANSLATE = "{# To be translated: then delete this line. #}\n"
# Before strings that nobody has translated yet, each of which is a comment.
STRINGS_HEAD = "# To be translated: then delete the mark at the beginning of the line.\n"


@dataclass(frozen=True, slots=True)
class Translation:
    """The state of a language in a folder: which files and strings were written now, which are
    still to be translated, and what is wrong with those that are."""

    written: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not (self.missing or self.wrong)


def translate(code: str, folder: Path) -> Translation:
    """Write every template and string of messages that a language lacks, in English or, if it is
    one of ours, in that language. What is there stays as it is."""
    if not CODE.fullmatch(code):
        raise InvalidArgument("language", code, "give the code of a language, as de or pt-BR")
    place = folder / code
    place.mkdir(parents=True, exist_ok=True)
    written = (*_write_templates(code, place), *_write_strings(code, place))
    missing = (*_missing_templates(place), *_missing_strings(place))
    return Translation(written, missing, tuple(problems_of_language(folder, code)))


def _write_templates(code: str, place: Path) -> Iterator[str]:
    own = OWN_TEMPLATES / code
    source, mark = (own, "") if own.is_dir() else (OWN_TEMPLATES / "en", TO_TRANSLATE)
    for name in TEMPLATE_FILES:
        if not (place / name).exists():
            text = (source / name).read_text(encoding="utf-8")
            (place / name).write_text(mark + text, encoding="utf-8")
            yield name


def _write_strings(code: str, place: Path) -> Iterator[str]:
    """Add the strings that a file neither has nor has as comments."""
    path = place / STRINGS_FILE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    mark = "" if (OWN_TEMPLATES / code).is_dir() else "# "
    known = own_strings(code).as_values()
    lacking = {name: value for name, value in known.items() if not _has_line(text, name, "(# *)?")}
    if not lacking:
        return
    lines = [f"{mark}{name} = {_toml(value)}\n" for name, value in lacking.items()]
    head = STRINGS_HEAD if mark and STRINGS_HEAD not in text else ""
    ended = "" if not text or text.endswith("\n") else "\n"
    path.write_text(f"{text}{ended}{head}{''.join(lines)}", encoding="utf-8")
    yield from (f"{STRINGS_FILE}: {name}" for name in lacking)


def _missing_templates(place: Path) -> Iterator[str]:
    for name in TEMPLATE_FILES:
        if TO_TRANSLATE.strip().encode() in (place / name).read_bytes():
            yield name


def _missing_strings(place: Path) -> Iterator[str]:
    text = (place / STRINGS_FILE).read_text(encoding="utf-8")
    for name in own_strings("en").as_values():
        if not _has_line(text, name, ""):
            yield f"{STRINGS_FILE}: {name}"


def _has_line(text: str, name: str, before: str) -> bool:
    return re.search(rf"^{before}{name} *=", text, re.MULTILINE) is not None


def _toml(value: str | tuple[str, ...]) -> str:
    """Return a value as TOML has it: its strings and lists are those of JSON."""
    return json.dumps(value, ensure_ascii=False)
