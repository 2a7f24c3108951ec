"""The commands and options in the documentation are those of the command line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from duetime.cli.commands import cli

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("cli*.md")))
SECTION = re.compile(r"^## (?P<command>duetime .+?)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.S)
OPTION = re.compile(r"^\| `(--[a-z-]+)` \|", re.MULTILINE)


def commands(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Every command that does something, with its options in order."""
    groups = getattr(command, "commands", {})
    if not groups or command.invoke_without_command:
        yield name, [p.opts[0] for p in command.params if p.param_type_name == "option"]
    for word, inner in groups.items():
        if inner.hidden:
            continue  # another name of a command that is shown
        yield from commands(inner, f"{name} {word}")


def test_the_documented_options_are_those_of_the_commands() -> None:
    sections = SECTION.finditer(TEXT)
    documented = {section["command"]: OPTION.findall(section["body"]) for section in sections}
    assert documented == dict(commands(get_command(cli), "duetime"))
