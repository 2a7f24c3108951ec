"""The arguments by which verbs select parked rows: a model, a column, primary keys, a cursor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from sqlalchemy import Column

from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.page_cursor import seal, unseal
from duetime.transitions.sweeper import TransitionSweeper
from duetime.transitions.target import Target

MAX_IDS = 500

PlacedTarget = tuple[TransitionSweeper, Target]
# The number of a target among those wanted, and the key of the last row that was shown.
ParkedPosition = tuple[int, str]


def select_targets(
    every: Sequence[PlacedTarget], model: object, column: str | None
) -> list[PlacedTarget]:
    """Return the registered targets of a model, given by itself or its name, and of a column."""
    if model is None:
        if column is not None:
            raise InvalidArgument("column", column, "name its model, too: give model=")
        return [*every]
    name = model.__name__ if isinstance(model, type) else model
    of_model = [(s, t) for s, t in every if name == t.model and model in (name, t.mapper.class_)]
    if not of_model:
        known = sorted({target.model for _, target in every})
        remedy = f"no registered transition is of it{_hint(name, known)}"
        raise InvalidArgument("model", model, remedy)
    if column is None:
        return of_model
    found = [(s, target) for s, target in of_model if target.attribute(target.column) == column]
    if not found:
        known = sorted(target.attribute(target.column) for _, target in of_model)
        remedy = f"{name} has no transition of that name{_hint(column, known)}"
        raise InvalidArgument("column", column, remedy)
    return found


def _hint(given: object, known: Sequence[str]) -> str:
    hint = did_you_mean(str(given), known)
    return hint or f"; there are {', '.join(known)}" if known else ""


def to_row_ids(ids: Iterable[Any], wanted: Sequence[PlacedTarget]) -> list[Any]:
    """Return primary keys as statement parameters: tuples if they have several columns."""
    if len({target.mapper for _, target in wanted}) != 1:
        raise InvalidArgument("ids", ids, "name the one model whose rows they are: give model=")
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InvalidArgument("ids", ids, "give a list of primary keys")
    listed, columns = [*ids], wanted[0][1].keys
    if not 0 < len(listed) <= MAX_IDS:
        raise InvalidArgument("ids", ids, f"give 1 to {MAX_IDS} primary keys")
    return [_to_row_id(key, columns) for key in listed]


def _to_row_id(key: Any, columns: Sequence[Column[Any]]) -> Any:
    # JSON has no tuples.
    parts = tuple(key) if isinstance(key, tuple | list) else (key,)
    if len(parts) != len(columns) or any(part is None for part in parts):
        names = ", ".join(column.name for column in columns)
        raise InvalidArgument("ids", key, f"the primary key has these columns: {names}")
    typed = tuple(_typed(part, column) for part, column in zip(parts, columns, strict=True))
    return typed if len(columns) > 1 else typed[0]


def _typed(part: Any, column: Column[Any]) -> Any:
    """Return a part of a key as its column has it: JSON has texts for UUIDs, dates and others."""
    try:
        type_ = column.type.python_type
    except NotImplementedError:
        return part
    if not isinstance(part, str) or issubclass(type_, str):
        return part
    try:
        return TypeAdapter(type_).validate_python(part)
    except PydanticSchemaGenerationError:
        return part
    except ValidationError:
        remedy = f"the column {column.name} of the primary key has values of {type_.__name__}"
        raise InvalidArgument("ids", part, remedy) from None


def to_parked_cursor(position: ParkedPosition, wanted: Sequence[PlacedTarget]) -> str:
    return seal(json.dumps(position).encode(), _criteria(wanted))


def from_parked_cursor(cursor: str | None, wanted: Sequence[PlacedTarget]) -> ParkedPosition:
    if cursor is None:
        return 0, ""
    number, row_key = json.loads(unseal(cursor, _criteria(wanted)))
    return number, row_key


def _criteria(wanted: Sequence[PlacedTarget]) -> list[str]:
    return [target.name for _, target in wanted]
