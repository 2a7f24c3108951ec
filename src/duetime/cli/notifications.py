"""`duetime notifications`: the texts of messages in other languages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from duetime.cli.failures import CommandError
from duetime.cli.options import Json
from duetime.cli.output import print_json, print_lines

cli = typer.Typer(no_args_is_help=True, help="Translate the messages of notifications.")


@cli.command()
def translate(
    language: Annotated[str, typer.Argument(metavar="LANGUAGE", help="As de, or pt-BR.")],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="That of your templates; made if missing.")
    ],
    json: Json = False,
) -> None:
    """Write the texts of messages that a language lacks, to be translated, and name what is still
    missing or wrong. What is there stays as it is."""
    # Imported here, since it needs Jinja2, which other commands do without.
    from duetime.notifications.translate import translate as translate_into

    try:
        found = translate_into(language, folder)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the texts of {folder} cannot be written: {error}") from None
    if json:
        print_json(asdict(found) | {"complete": found.complete})
    else:
        place = folder / language
        print_lines(*(f"written: {place}/{name}" for name in found.written))
        print_lines(*(f"to be translated: {place}/{name}" for name in found.missing))
        print_lines(*(f"wrong: {problem}" for problem in found.wrong))
        print_lines(*([f"{language} is complete"] if found.complete else []))
    if not found.complete:
        raise typer.Exit(1)
