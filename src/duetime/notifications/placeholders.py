"""What is wrong with templates of users: unknown files, values, filters, blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

from duetime.errors import ConfigError, did_you_mean
from duetime.notifications.environment import environment_of
from duetime.notifications.strings import STRINGS_FILE, read_strings
from duetime.notifications.topic_templates import (
    HTML_LAYOUT,
    OPTIONAL_FILES,
    OWN_TEMPLATES,
    TEMPLATE_FILES,
    TEXT_LAYOUT,
)
from duetime.notifications.values import EVENT_NAMES, LAYOUT_NAMES, MESSAGE_NAMES, LineValues

BLOCKS = ("subject", "event", "advice")
KNOWN_FILES = (*TEMPLATE_FILES, *OPTIONAL_FILES)
MAX_NAMED = 5


def refuse_wrong_templates(folder: Path, languages: Sequence[str]) -> None:
    """Raise ConfigError that names what is wrong with the templates and strings of a folder."""
    found = [problem for code in languages for problem in problems_of_language(folder, code)]
    if found:
        more = f"; and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        raise ConfigError(f"templates of {folder}: {'; '.join(found[:MAX_NAMED])}{more}")


def problems_of_language(folder: Path, code: str) -> Iterator[str]:
    """Yield what is wrong with the files of a language, each with the name of its file."""
    for path in sorted((folder / code).glob("*")):
        if path.suffix in (".txt", ".html"):
            yield from (f"{code}/{path.name}: {problem}" for problem in _problems_of_file(path))
    try:
        read_strings(folder / code / STRINGS_FILE)
    except ConfigError as error:
        yield str(error)


def _problems_of_file(path: Path) -> Iterator[str]:
    if path.name not in KNOWN_FILES:
        yield f"there is no such template{did_you_mean(path.name, KNOWN_FILES)}"
        return
    try:
        source = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        yield f"it is no UTF-8: {error}"
        return
    yield from problems_of_template(path.name, source)


def problems_of_template(name: str, source: str) -> Iterator[str]:
    """Yield what is wrong with the source of a template."""
    environment = environment_of(None)
    try:
        tree = environment.parse(source)
        # Filters are only looked up when a template is compiled.
        environment.compile(source)
    except TemplateSyntaxError as error:
        yield f"line {error.lineno}: {error.message}"
        return
    except TemplateError as error:
        yield str(error)
        return
    yield from _unknown_values(name, tree)
    yield from _unknown_event_values(tree)
    yield from _wrong_blocks(name, tree, environment)


def _unknown_values(name: str, tree: nodes.Template) -> Iterator[str]:
    is_topic = name.endswith(".txt") and name != TEXT_LAYOUT
    known = MESSAGE_NAMES | ({"event"} if is_topic else LAYOUT_NAMES)
    for found in sorted(find_undeclared_variables(tree) - known):
        yield f"unknown value {{{{ {found} }}}}{did_you_mean(found, known)}"


def _unknown_event_values(tree: nodes.Template) -> Iterator[str]:
    """Yield wrong values of events and lines, which a template knows as `event` or `first`, or by a
    name of its own in a loop."""
    holders = {"event": EVENT_NAMES, "first": EVENT_NAMES, **dict(_loop_names(tree))}
    for found in tree.find_all(nodes.Getattr):
        holder = found.node
        if not isinstance(holder, nodes.Name) or holder.name not in holders:
            continue
        known = holders[holder.name]
        if found.attr not in known:
            near = did_you_mean(found.attr, known)
            yield f"unknown value {{{{ {holder.name}.{found.attr} }}}}{near}"


def _loop_names(tree: nodes.Template) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names that loops give to events and lines, each with the values that it has."""
    members = {"events": EVENT_NAMES, "lines": frozenset(LineValues._fields)}
    for loop in tree.find_all(nodes.For):
        match loop.iter, loop.target:
            case nodes.Name(name=collection), nodes.Name(name=name) if collection in members:
                yield name, members[collection]


def _wrong_blocks(name: str, tree: nodes.Template, environment: Environment) -> Iterator[str]:
    """Yield blocks that the template of a topic lacks, or that are no blocks of such a template."""
    if not name.endswith(".txt") or name in (TEXT_LAYOUT, HTML_LAYOUT):
        return
    given = _blocks(tree)
    own = _blocks(environment.parse((OWN_TEMPLATES / "en" / name).read_text(encoding="utf-8")))
    for missing in sorted((own & {"subject", "event"}) - given):
        yield f"the block {missing} is missing"
    for unknown in sorted(given - set(BLOCKS)):
        yield f"unknown block {unknown}{did_you_mean(unknown, BLOCKS)}"


def _blocks(tree: nodes.Template) -> set[str]:
    return {block.name for block in tree.find_all(nodes.Block)}
