"""The commands and options in the documentation are those of the command line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from duetime.cli.commands import cli
from duetime.cli.server import REFUSED_COMMANDS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("cli*.md")))
SECTION = re.compile(r"^## (?P<command>duetime .+?)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.S)
OPTION = re.compile(r"^\| `(--[a-z-]+)` \|", re.MULTILINE)


# Options that every command has, described once.
SERVER_OPTIONS = ("--server", "--token", "--token-file")


def commands(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Every command that does something, with its options in order."""
    groups = getattr(command, "commands", {})
    if not groups or command.invoke_without_command:
        options = [p.opts[0] for p in command.params if p.param_type_name == "option"]
        yield name, [option for option in options if option not in SERVER_OPTIONS]
    for word, inner in groups.items():
        if inner.hidden:
            continue  # another name of a command that is shown
        yield from commands(inner, f"{name} {word}")


def test_the_documented_options_are_those_of_the_commands() -> None:
    sections = SECTION.finditer(TEXT)
    documented = {section["command"]: OPTION.findall(section["body"]) for section in sections}
    assert documented == dict(commands(get_command(cli), "duetime"))


def test_the_options_of_a_server_are_documented_once() -> None:
    [section] = re.findall(r"^## A server\n(.*?)^## ", TEXT, re.MULTILINE | re.S)
    assert sorted(OPTION.findall(section)) == sorted(SERVER_OPTIONS)
    [refused] = re.findall(r"((?:`[a-z ]+`(?:, | and )?)+)\s*refuse it", section)
    assert set(re.findall(r"`([a-z ]+)`", refused)) == set(REFUSED_COMMANDS)
