"""Jinja2, as the templates of messages use it: those of a folder of users' lie over ours.

A template of a topic, `<language>/<topic>.txt`, has the blocks `subject`, `event` (one line about
one event) and `advice`. `message.txt` and `message.html` put them together; `<topic>.html` replaces
`message.html` for its topic, if it is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from duetime.errors import ConfigError
from duetime.notifications.topic_templates import HTML_LAYOUT, OWN_TEMPLATES, TEXT_LAYOUT

try:
    from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as missing:
    raise ConfigError(
        "messages of notifications need Jinja2: pip install 'duetime[notify]'"
    ) from missing

from duetime.notifications.formats import FILTERS

SPACES = re.compile(r"[ \t\r\n]+")


class MessageTemplates:
    """The templates of one language, and English ones for those that it lacks. Every value goes
    through the template; none is read as one."""

    def __init__(self, folder: Path | None, language: str) -> None:
        self._environment = environment_of(folder)
        self._languages = (language, "en")

    def block(self, template: str, name: str, values: Mapping[str, Any]) -> str:
        """Return a block as one line; an empty text if the template has no such block."""
        found = self._find(f"{template}.txt")
        render = found.blocks.get(name)
        if render is None:
            return ""
        return SPACES.sub(" ", "".join(render(found.new_context(dict(values))))).strip()

    def text(self, values: Mapping[str, Any]) -> str:
        return f"{self._find(TEXT_LAYOUT).render(values).strip()}\n"

    def html(self, template: str, values: Mapping[str, Any]) -> str:
        return self._find(f"{template}.html", HTML_LAYOUT).render(values)

    def _find(self, *names: str) -> Template:
        places = [f"{code}/{name}" for code in self._languages for name in names]
        return self._environment.select_template(places)


@cache
def environment_of(folder: Path | None) -> ImmutableSandboxedEnvironment:
    folders = [OWN_TEMPLATES] if folder is None else [folder, OWN_TEMPLATES]
    made = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(each) for each in folders]),
        autoescape=_is_html,
        undefined=StrictUndefined,
        finalize=_empty_if_none,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    return made


def _is_html(name: str | None) -> bool:
    return name is None or not name.endswith(".txt")


def _empty_if_none(value: Any) -> Any:
    return "" if value is None else value
