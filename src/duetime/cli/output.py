"""The output of commands: everything that they print passes through here.

Stored and given text (errors, payloads, names, notes) must neither steer the terminal nor pretend
to be lines of ours, so it is made safe: `print_lines` for lines, `safe_cell` for parts of tables,
`print_json` for JSON.
"""

from __future__ import annotations

import json
import os
import sys

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.text import Text

from duetime.model.safe_text import safe_json, safe_text

# The width where the output is a pipe, which has none: wide enough for whole lines.
PIPE_WIDTH = 250


def print_lines(*lines: str, err: bool = False) -> None:
    """Print lines; a newline inside one of them is shown as an escape."""
    for line in lines:
        typer.echo(safe_text(line), err=err)


def print_json(document: object) -> None:
    """Print a document as JSON."""
    typer.echo(safe_json(json.dumps(document, indent=2, ensure_ascii=False)))


def print_json_line(document: object) -> None:
    """Print a document as one line of JSON."""
    typer.echo(safe_json(json.dumps(document, ensure_ascii=False)))


def safe_cell(text: str, style: str = "") -> Text:
    """A part of a table or a line that shows the text as it is, markup included."""
    return Text(safe_text(text), style=style)


def make_console() -> Console:
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    width = PIPE_WIDTH if piped else None
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    console.push_render_hook(EscapingHook())
    return console


class EscapingHook(RenderHook):
    """Escapes what cells left unescaped; newlines stay, since rich made them."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [SafeOutput(renderable) for renderable in renderables]


class SafeOutput:
    """What rich makes of something, without unsafe characters but those that rich added."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._inner, options):
            yield Segment(text if control else _safe_lines(text), style, control)


def _safe_lines(text: str) -> str:
    return text if text.isprintable() else "\n".join(map(safe_text, text.split("\n")))
