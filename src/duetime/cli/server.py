"""`--server`: commands that ask the HTTP API of an app instead of its store."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from duetime.app import Duetime
from duetime.cli.failures import CommandError

TOKEN_VARIABLE = "DUETIME_TOKEN"  # noqa: S105 - its name
PANEL = "Over HTTP"

# Commands that need more than the API, by their words, and what to do instead.
REFUSED_COMMANDS: Mapping[str, str] = {
    "alive": "it looks at a file of a worker on this machine",
    "bench": "it measures a database, which it must reach",
    "cron": "it asks nobody",
    "demo": "it has a store of its own",
    "doctor": "it looks into the database: run it where the store is",
    "erase": "run it where the store is",
    "migrate": "it changes the database: run it where the store is",
    "notifications translate": "it writes files on this machine",
    "serve": "it is the server",
    "transitions report": "run it where the store is",
    "worker": "a worker claims from the store: run it where the store is",
}


def _option(*names: str, help: str, metavar: str, hidden: bool) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, hidden=hidden, rich_help_panel=PANEL)


def _hints(hidden: bool) -> dict[str, Any]:
    """The options of each command; hidden where they are refused."""
    server = "Ask the API mounted at this address, instead of a store."
    token = f"Its key. Other users see arguments: prefer --token-file, or {TOKEN_VARIABLE}."
    return {
        "server": Annotated[
            str | None, _option("--server", help=server, metavar="URL", hidden=hidden)
        ],
        "token": Annotated[
            str | None, _option("--token", help=token, metavar="KEY", hidden=hidden)
        ],
        "token_file": Annotated[
            Path | None,
            _option("--token-file", help="A file with its key.", metavar="FILE", hidden=hidden),
        ],
    }


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The server that a command is to ask, and where its key is."""

    url: str
    token: str | None
    token_file: Path | None

    def connect(self) -> Duetime:
        return Duetime.connect(self.url, token=self._read_token())

    def _read_token(self) -> str | None:
        if self.token is not None and self.token_file is not None:
            raise typer.BadParameter("give --token or --token-file, not both")
        if self.token_file is None:
            return self.token or os.environ.get(TOKEN_VARIABLE) or None
        try:
            return self.token_file.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise CommandError(f"--token-file {self.token_file} cannot be read: {error}") from None


_choice: ContextVar[ServerChoice | None] = ContextVar("duetime_server", default=None)


def chosen_server() -> ServerChoice | None:
    """Return the server that the running command is to ask; None if it is to open a store."""
    return _choice.get()


def has_store(app: Duetime) -> bool:
    """Return whether the app has a store, and is not connected to a server."""
    return not app.settings.url.startswith(("http://", "https://"))


def offer_server(program: typer.Typer, words: tuple[str, ...] = ()) -> None:
    """Give every command of a program the options of a server."""
    for command in program.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        command.callback = with_server(command.callback, " ".join((*words, name)))
    for group in program.registered_groups:
        inner, group_words = group.typer_instance, (*words, str(group.name))
        assert inner is not None
        offer_server(inner, group_words)
        itself = inner.registered_callback
        if itself is not None and itself.callback is not None:
            itself.callback = with_server(itself.callback, " ".join(group_words))


def with_server(command: Callable[..., None], words: str) -> Callable[..., None]:
    """Give a command the options, which it finds chosen while it runs."""
    added = _hints(hidden=words in REFUSED_COMMANDS)

    @wraps(command)
    def wrapped(**options: Any) -> None:
        with _choosing(words, **{name: options.pop(name) for name in added}):
            command(**options)

    own = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True) | added
    parameters = [
        *own.parameters.values(),
        *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in added),
    ]
    wrapped.__annotations__ = hints
    vars(wrapped)["__signature__"] = own.replace(
        parameters=[
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name])
            for each in parameters
        ]
    )
    return wrapped


@contextmanager
def _choosing(
    words: str, server: str | None, token: str | None, token_file: Path | None
) -> Iterator[None]:
    if server is None:
        if token is not None or token_file is not None:
            raise typer.BadParameter("--token and --token-file are for --server: give that, too")
        yield
        return
    if words in REFUSED_COMMANDS:
        raise CommandError(f"`duetime {words}` does not take --server: {REFUSED_COMMANDS[words]}")
    reset = _choice.set(ServerChoice(server, token, token_file))
    try:
        yield
    finally:
        _choice.reset(reset)
