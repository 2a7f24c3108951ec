"""The options by which commands select actions, written once: those of the verb `find`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from duetime.cli.action_ids import TypedId, parse_id
from duetime.cli.times import parse_coming, parse_past
from duetime.model.lane import Priority
from duetime.model.state import State


def _only(help_: str) -> Any:
    return typer.Option(help=f"Only {help_}.")


def _coming(help_: str) -> Any:
    return typer.Option(parser=parse_coming, metavar="TIME", help=help_)


def _past(help_: str) -> Any:
    return typer.Option(parser=parse_past, metavar="TIME", help=help_)


_PARENT = typer.Option(parser=parse_id, metavar="ID", help="Only children of this action.")
_SEARCH = typer.Option(
    "--search", "-q", help="An id or 8 or more of its first digits, a correlation id, key or job."
)
_STATE = _only("this state; may be given several times")
_KIND = _only("this kind; may be given several times")
_DUE_FROM = _coming("Due at or after this: an instant, 2h for in 2 hours, or 2h ago.")
_CREATED_FROM = _past("Created at or after this: an instant, or 2h for 2 hours ago.")


def _filters(
    state: Annotated[list[State] | None, _STATE] = None,
    kind: Annotated[list[str] | None, _KIND] = None,
    queue: Annotated[str | None, _only("this queue")] = None,
    correlation: Annotated[str | None, _only("this correlation id")] = None,
    key: Annotated[str | None, _only("this key")] = None,
    job: Annotated[str | None, _only("occurrences of this job")] = None,
    error_group: Annotated[str | None, _only("failures of this group")] = None,
    worker: Annotated[str | None, _only("runs of this worker")] = None,
    by: Annotated[str | None, _only("what this actor scheduled")] = None,
    scheduled_by: Annotated[str | None, _only("what this actor scheduled")] = None,
    priority: Annotated[Priority | None, _only("this priority")] = None,
    after: Annotated[TypedId | None, _PARENT] = None,
    parked: Annotated[bool | None, _only("parked ones, or none of them")] = None,
    waiting: Annotated[bool | None, _only("those that wait for a parent, or none")] = None,
    retrying: Annotated[bool | None, _only("those to be tried again, or none")] = None,
    overdue: Annotated[bool | None, _only("due ones that nothing holds, or none")] = None,
    due_from: Annotated[datetime | None, _DUE_FROM] = None,
    due_before: Annotated[datetime | None, _coming("Due before this.")] = None,
    created_from: Annotated[datetime | None, _CREATED_FROM] = None,
    created_before: Annotated[datetime | None, _past("Created before this.")] = None,
    finished_from: Annotated[datetime | None, _past("Finished at or after this.")] = None,
    finished_before: Annotated[datetime | None, _past("Finished before this.")] = None,
    q: Annotated[str | None, _SEARCH] = None,
) -> None:
    """Only its signature is used."""


_FILTERS = inspect.signature(_filters).parameters
_ARGUMENT_NAMES = {"correlation": "correlation_id", "scheduled_by": "by"}


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all these options, before its own. It gets those that are given as `filters`,
    by the names of the verb's arguments. An own option of the same name stands in place of one;
    the filter is `--scheduled-by` where a command's own `--by` names its actor.
    """

    @wraps(command)
    def wrapped(**options: Any) -> None:
        given = {name: options.pop(name) for name in filters_used}
        filters = {
            _ARGUMENT_NAMES.get(name, name): value
            for name, value in given.items()
            if value is not None and value != []
        }
        command(filters=filters, **options)

    hints = get_type_hints(_filters, include_extras=True)
    hints |= get_type_hints(command, include_extras=True)
    own = inspect.signature(command)
    replaced = {*own.parameters, *(() if "by" in own.parameters else ("scheduled_by",))}
    filters_used = [name for name in _FILTERS if name not in replaced]
    parameters = [*(_FILTERS[name] for name in filters_used), *own.parameters.values()]
    signature = own.replace(
        parameters=[
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
            for parameter in parameters
            if parameter.name != "filters"
        ]
    )
    wrapped.__annotations__ = {name: hint for name, hint in hints.items() if name != "filters"}
    vars(wrapped)["__signature__"] = signature
    return wrapped
