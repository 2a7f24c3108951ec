"""`duetime actions bulk`: change many actions, after a count and a question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from duetime.app import Duetime
from duetime.cli import tables
from duetime.cli.action_ids import find_id
from duetime.cli.documents import action_document
from duetime.cli.failures import CommandError
from duetime.cli.filter_options import with_filters
from duetime.cli.open_store import open_app
from duetime.cli.options import AnyTenant, App, At, By, Json, Note, Tenant, Url, actor, scope
from duetime.cli.output import make_console, print_json, print_lines
from duetime.cli.times import now, parse_shift
from duetime.errors import DuetimeError, InvalidArgument
from duetime.model.bulk import BulkResult, to_bulk_cursor
from duetime.model.tenant import Ambient, Scope


class BulkVerbChoice(StrEnum):
    """What a bulk can do."""

    cancel = "cancel"
    retry = "retry"
    reschedule = "reschedule"
    shift = "shift"


DONE = {
    BulkVerbChoice.cancel: "cancelled",
    BulkVerbChoice.retry: "scheduled again",
    BulkVerbChoice.reschedule: "rescheduled",
    BulkVerbChoice.shift: "shifted",
}


@with_filters
def bulk(
    *,
    filters: dict[str, Any],
    verb: Annotated[BulkVerbChoice, typer.Argument(help="What to do with each action.")],
    ids: Annotated[
        list[UUID] | None, typer.Option("--id", metavar="ID", help="This action; may repeat.")
    ] = None,
    at: At = None,
    shift: Annotated[
        float | None,
        typer.Option(parser=parse_shift, metavar="TIME", help="How far to shift: 2h, or -30m."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count, and show some of them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    cursor: Annotated[
        str | None, typer.Option(help="Go on with the bulk that was interrupted there.")
    ] = None,
    tenant: Tenant = None,
    any_tenant: AnyTenant = False,
    by: By = None,
    note: Note = None,
    app: App = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Cancel, retry, reschedule or shift all actions that match, a thousand at a time."""
    among = scope(tenant, any_tenant)
    with open_app(app, url) as target:
        command = BulkCommand(verb, among, actor(target, by), note)
        what = {**_selected(target, ids, filters, among), "at": at, "seconds": shift}
        if cursor is not None:
            _refuse_selection(what)
            _report(verb, command.walk(target, {}, cursor, None), json=json)
            return
        _require_time(verb, at, shift)
        counted = command.count(target, what)
        if dry_run:
            _show_count(target, verb, counted, json=json, tenants=any_tenant)
        elif _agreed(target, verb, counted, yes=yes, json=json, tenants=any_tenant):
            total = None if counted.capped else counted.count
            start = to_bulk_cursor(uuid4(), 0)
            _report(verb, command.walk(target, what, start, total), json=json)


class BulkCommand:
    """A bulk as the command line runs it: who does what, in which tenant."""

    def __init__(
        self, verb: BulkVerbChoice, among: Scope | Ambient, by: str | None, note: str | None
    ) -> None:
        self._verb = verb
        self._act: dict[str, Any] = {"tenant": among, "by": by, "note": note}

    def count(self, target: Duetime, what: Mapping[str, Any]) -> BulkResult:
        return target.sync.bulk(self._verb.value, dry_run=True, **what, **self._act)

    def walk(
        self, target: Duetime, what: Mapping[str, Any], cursor: str, total: int | None
    ) -> BulkResult:
        """Make every call of the bulk, and return their sum. Whatever interrupts it, the error says
        with which cursor to go on."""
        changed = skipped = 0
        with _progress(total) as taken:
            while cursor:
                with self._resumable(cursor):
                    step = target.sync.bulk(self._verb.value, cursor=cursor, **what, **self._act)
                changed, skipped = changed + step.changed, skipped + step.skipped
                taken(step.changed + step.skipped)
                what, cursor = {}, step.next_cursor or ""
        return BulkResult(changed, skipped)

    @contextmanager
    def _resumable(self, cursor: str) -> Iterator[None]:
        remedy = f"go on with `duetime actions bulk {self._verb.value} --cursor {cursor}`"
        try:
            yield
        except KeyboardInterrupt:
            raise CommandError(f"interrupted; {remedy}") from None
        except InvalidArgument:
            raise
        except DuetimeError as error:
            raise CommandError(f"{error}; {remedy}") from None


def _selected(
    target: Duetime, ids: list[UUID] | None, filters: dict[str, Any], among: Scope | Ambient
) -> dict[str, Any]:
    """Return which actions are meant, as arguments of `bulk`."""
    if ids and filters:
        raise typer.BadParameter("give --id or options that select actions, not both")
    if "after" in filters:
        filters["after"] = find_id(target, filters["after"], among)
    return {"ids": ids} if ids else {"filter": filters or None}


def _refuse_selection(what: Mapping[str, Any]) -> None:
    if any(value is not None for value in what.values()):
        raise typer.BadParameter(
            "--cursor goes on with what the first call selected: give nothing else of it"
        )


def _require_time(verb: BulkVerbChoice, at: datetime | None, shift: float | None) -> None:
    if verb is BulkVerbChoice.reschedule and at is None:
        raise typer.BadParameter("reschedule needs the new time: --at")
    if verb is BulkVerbChoice.shift and shift is None:
        raise typer.BadParameter("shift needs how far: --shift")


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal, and yield the function that moves it."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("actions"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.update(task, advance=count)


# -- what is printed -----------------------------------------------------------------


def _agreed(
    target: Duetime,
    verb: BulkVerbChoice,
    counted: BulkResult,
    *,
    yes: bool,
    json: bool,
    tenants: bool,
) -> bool:
    """Return whether to begin: without `--yes`, show what it is about and ask."""
    if not yes and (json or not sys.stdin.isatty()):
        raise typer.BadParameter("there is nobody to ask: give --yes, or --dry-run to count only")
    if yes:
        return True
    _show_count(target, verb, counted, json=False, tenants=tenants)
    return counted.count > 0 and typer.confirm("Go on?")


def _show_count(
    target: Duetime, verb: BulkVerbChoice, counted: BulkResult, *, json: bool, tenants: bool
) -> None:
    if json:
        sample = [action_document(target, action) for action in counted.sample]
        print_json({"count": counted.count, "capped": counted.capped, "sample": sample})
        return
    if not counted.count:
        print_lines(f"no actions match that can be {DONE[verb]}")
        return
    console = make_console()
    console.print(tables.action_table(counted.sample, now(), tenants=tenants, width=console.width))
    others = counted.count - len(counted.sample)
    if others:
        print_lines(f"… and {_number(others, capped=counted.capped)} more")
    print_lines(f"{_actions(counted.count, capped=counted.capped)} would be {DONE[verb]}")


def _report(verb: BulkVerbChoice, result: BulkResult, *, json: bool) -> None:
    if json:
        print_json({"changed": result.changed, "skipped": result.skipped, "next_cursor": None})
        return
    skipped = f", skipped {result.skipped:,}" if result.skipped else ""
    print_lines(f"{DONE[verb]}: {_actions(result.changed)}{skipped}")


def _actions(count: int, *, capped: bool = False) -> str:
    return f"{_number(count, capped=capped)} action{'' if count == 1 else 's'}"


def _number(count: int, *, capped: bool) -> str:
    return f"{count:,}{' or more' if capped else ''}"
