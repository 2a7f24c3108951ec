"""`duetime notifications`: those in the app, and the texts of messages in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from duetime.app import Duetime
from duetime.cli.documents import notification_page_document
from duetime.cli.failures import CommandError
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, Json, Tenant, Url, os_user, scope
from duetime.cli.output import print_json, print_lines, safe_cell
from duetime.cli.server import has_store
from duetime.cli.tables import print_page
from duetime.cli.times import now, shown
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.notifications.notification import Notification

cli = typer.Typer(
    no_args_is_help=True,
    help="Say who hears of what; read notifications, translate their messages.",
)

Reader = Annotated[
    str | None, typer.Option(help="Whose marks of what is read; default: the OS user's.")
]


def reader_of(app: Duetime, reader: str | None) -> str | None:
    """Return whose marks are meant. Over HTTP they are those of the credential."""
    if has_store(app):
        return reader or os_user()
    if reader is not None:
        raise typer.BadParameter("--reader: over HTTP it is that of the key: leave it out")
    return None


@cli.command("list")
def list_(
    unread: Annotated[
        bool, typer.Option("--unread", help="Only those that are not marked as read.")
    ] = False,
    reader: Reader = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_PAGE_SIZE, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List notifications in the app, newest first: those of subscriptions with --in-app."""
    with open_app(app, url) as target:
        page = target.sync.notifications.list(
            unread=unread,
            reader=reader_of(target, reader),
            limit=limit,
            cursor=cursor,
            tenant=scope(tenant, any_tenant),
        )
    if json:
        print_json(notification_page_document(page))
        return
    print_page(page, lambda items, _: _table(items, now()), "no notifications")


@cli.command("read")
def read(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Which; default: all.")
    ] = None,
    reader: Reader = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Mark notifications in the app as read: these, or all."""
    with open_app(app, url) as target:
        count = target.sync.notifications.read(
            ids or None, reader=reader_of(target, reader), tenant=scope(tenant, any_tenant)
        )
    if json:
        print_json({"read": count})
        return
    print_lines(f"{count} marked as read" if count else "nothing was unread")


def _table(notifications: Sequence[Notification], at: datetime) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("id", "last", "severity", "topic", "events", "about", "tenant", ""):
        counted = name == "events"
        table.add_column(
            name, justify="right" if counted else "left", no_wrap=name == "id", overflow="fold"
        )
    for each in notifications:
        what = (each.severity, each.topic, f"{each.count:,}", _subjects(each))
        seen = (each.tenant or "-", "read" if each.read else "unread")
        cells = (str(each.id), shown(each.last_at, at), *what, *seen)
        table.add_row(*map(safe_cell, cells))
    return table


def _subjects(notification: Notification) -> str:
    """Return what the first events are about, each named once."""
    return ", ".join(dict.fromkeys(event.subject for event in notification.events[:3]))


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
