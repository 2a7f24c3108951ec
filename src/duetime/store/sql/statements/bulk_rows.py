"""Many rows as parameters of one statement: named columns, encoded for the dialect.

For a column whose value is the same in all rows, both dialects take that value. For any other
column PostgreSQL takes an array (`pg_columns.py`). SQLite has no arrays: it takes a blob of
fixed-width cells (`sqlite_columns.py`), and JSON for texts that vary. Sent as JSON, the rows would
take PostgreSQL a third of a completion's time to read, and SQLite more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from duetime.errors import InvalidArgument
from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import Fence
from duetime.model.actions.completion import Completion, Finish, Reschedule
from duetime.model.actions.new_actions import NewActions
from duetime.model.columns import is_empty, to_columns
from duetime.model.ids import numbers_of
from duetime.model.jobs.change import NewOccurrence
from duetime.model.jobs.job import JobRecord
from duetime.model.jobs.serialize import to_text
from duetime.model.state import State
from duetime.model.validation import UNSTORABLE, is_storable
from duetime.store.sql.statements import pg_columns, sqlite_columns
from duetime.store.sql.statements.pg_columns import BinaryArray

# The type of each column; columns not named here are text.
COLUMN_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("id", "token", "after"), "uuid"),
    **dict.fromkeys(
        ("due_at", "delay", "expires_at", "started_at", "after_at", "after_delay", "job_tick"),
        "bigint",
    ),
    **dict.fromkeys(("version", "refund"), "integer"),
    **dict.fromkeys(("priority", "lost"), "smallint"),
    # Stored as text, and sent joined by a separator: see `pg_columns.py`.
    "payload": "json",
}


# Always sent as arrays: ids give the number of rows, payloads are mostly long or different, and
# comparing either costs more than it could save.
ALWAYS_ARRAYS = ("uuid", "json")


def column_type(column: str) -> str:
    return COLUMN_TYPES.get(column, "text")


class BulkRows:
    """Columns of equal length. Empty columns are left out: they are NULL in all rows."""

    def __init__(self, **columns: Sequence[Any]) -> None:
        self._count = max(map(len, columns.values()), default=0)
        self._columns = {n: values for n, values in columns.items() if not is_empty(values)}

    @cached_property
    def varying(self) -> frozenset[str]:
        """Names of the columns whose values vary; ids and payloads always count as varying."""
        return frozenset(
            name
            for name, values in self._columns.items()
            if column_type(name) in ALWAYS_ARRAYS or values.count(values[0]) < len(values)
        )

    def postgres_params(self, parameter: str, *, foreign: bool) -> dict[str, object]:
        """Return an array for each varying column, such as `rows_kind`, and the single value of
        each other column, such as `all_kind`."""
        params: dict[str, object] = {}
        for name, values in self._columns.items():
            if name in self.varying:
                params[f"{parameter}_{name}"] = self._postgres_array(name, values, foreign)
            else:
                refuse_unstorable([{name: values[0]}])
                params[f"all_{name}"] = values[0]
        return params

    def sqlite_params(self, parameter: str) -> dict[str, object]:
        """Return a parameter for each column, and one for the rows."""
        rows, columns = self._encoded_for_sqlite
        return {parameter: rows} | {f"{parameter}_{name}": cells for name, cells in columns.items()}

    @cached_property
    def _encoded_for_sqlite(self) -> tuple[str, dict[str, object]]:
        """The JSON of the rows and the encoded columns; cached, since several statements of a
        completion take them."""
        columns = {
            name: self._sqlite_column(name, values) for name, values in self._columns.items()
        }
        texts = {name: self._columns[name] for name, cells in columns.items() if cells == b""}
        varying_texts = zip(*texts.values(), strict=True)
        rows: list[object] = [dict(zip(texts, row, strict=True)) for row in varying_texts]
        return json_param(rows or [0] * self._count), columns

    def _sqlite_column(self, name: str, values: Sequence[Any]) -> object:
        column = sqlite_columns.encode_column(values, column_type(name))
        if isinstance(column, str) and not is_storable(column):
            refuse_unstorable([{name: column}])
        return column

    def _postgres_array(self, name: str, values: Sequence[Any], foreign: bool) -> str | BinaryArray:
        column = pg_columns.encode_column(values, column_type(name), foreign=foreign)
        if isinstance(column, str) and not is_storable(column):
            refuse_unstorable([{name: value} for value in values])
        return column


def json_param(values: Iterable[object]) -> str:
    """Return `values` as JSON text for one parameter. Raises InvalidArgument for texts that no
    store can keep."""
    listed = list(values)
    try:
        text = to_json(listed).decode()
    except PydanticSerializationError:
        refuse_unstorable(listed)
        raise
    if "\\u0000" in text:
        refuse_unstorable(listed)
    return text


def refuse_unstorable(values: Iterable[object]) -> None:
    """Raise InvalidArgument for texts that no store can keep.

    PostgreSQL would raise errors of its own for them, and SQLite truncates a text at a NUL.
    """
    for value in values:
        for name, field in value.items() if isinstance(value, Mapping) else (("value", value),):
            if isinstance(field, str) and not is_storable(field):
                raise InvalidArgument(str(name), field, UNSTORABLE)


def new_rows(new: NewActions) -> BulkRows:
    """Return the `:rows` of `_new_rows.sql` and `add_fresh.sql`."""
    return BulkRows(**new_columns(new))


def insert_params(new: NewActions) -> dict[str, object]:
    """Return the parameters of a statement that inserts actions. Their traces stand in it only if
    there are any."""
    rows: dict[str, object] = {"rows": new_rows(new)}
    return rows | {"traced": True} if new.has("trace") else rows


def new_columns(new: NewActions) -> dict[str, Sequence[Any]]:
    columns = dict(new.columns)
    columns["created_by"], columns["after_on"] = columns.pop("by"), columns.pop("on")
    if new.has("after"):
        columns |= to_columns(Timing._fields, [timing(action) for action in new])
    return columns


def id_bounds(new: NewActions) -> dict[str, str]:
    """Return the lowest and the highest of the ids."""
    numbers: Any = numbers_of(new.columns["id"])
    ends = numbers if not isinstance(numbers, range) else (numbers[0], numbers[-1])
    return {"lowest": str(UUID(int=min(ends))), "highest": str(UUID(int=max(ends)))}


class Timing(NamedTuple):
    """An action's lane and due time; or its parent, whose end the delay of a child counts from."""

    lane: str | None = None
    due_at: int | None = None
    delay: int | None = None
    after: UUID | None = None
    after_on: str | None = None
    after_at: int | None = None
    after_delay: int | None = None


def timing(new: NewAction) -> Timing:
    if new.after is None:
        return Timing(new.lane, new.due_at, new.delay or 0)
    return Timing(after=new.after, after_on=new.on, after_at=new.due_at, after_delay=new.delay)


def completion_params(completions: Sequence[Finish] | Sequence[Reschedule]) -> dict[str, object]:
    """Return the `:rows` of `_completion_rows.sql`, and the lowest and highest of their ids.

    Rows are sorted by id, the order in which all flows lock rows.
    """
    ordered: list[Any] = sorted(completions, key=lambda completion: completion.id.int)
    columns = to_columns(type(ordered[0])._fields, ordered)
    for name in ("job", "triggered_by", "retried", "traceback"):
        columns.pop(name, None)  # stored in the action's row, or in a table of their own
    for name in ("lost", "refund"):
        if not any(columns[name]):
            del columns[name]
    if "refund" in columns:
        columns["refund"] = [int(refund) for refund in columns["refund"]]
    if State.failed in columns.get("state", ()):
        columns["error_group"] = [completion.error_group for completion in ordered]
    lowest, highest = str(ordered[0].id), str(ordered[-1].id)
    return {"rows": BulkRows(**columns), "lowest": lowest, "highest": highest}


def traceback_rows(failures: Iterable[Completion]) -> str:
    """Return the `:rows` of `_traceback_rows.sql`."""
    ordered = sorted(failures, key=lambda failure: failure.id.int)
    return json_param(
        {"action_id": failure.id, "run_id": failure.token, "traceback": failure.traceback}
        for failure in ordered
    )


def applied_params(completions: Sequence[Completion]) -> dict[str, object]:
    """Return the `:rows` of `applied_completions.sql`, which takes finishes and reschedules."""
    return {
        "rows": BulkRows(
            id=[completion.id for completion in completions],
            token=[completion.token for completion in completions],
            outcome=[completion.outcome for completion in completions],
        )
    }


def fence_rows(fences: Iterable[Fence]) -> str:
    ordered = sorted(fences, key=lambda fence: fence.id.int)
    return json_param({"held_id": fence.id, "held_token": fence.token} for fence in ordered)


def job_rows(jobs: Iterable[JobRecord]) -> str:
    """Return the `:rows` of `_job_rows.sql`."""
    return json_param(
        {
            "job_name": job.name,
            "app": job.app,
            "tenant": job.tenant,
            "declared": int(job.declared),
            "next_due_at": job.next_due_at,
            "retired_at": job.retired_at,
            "removed_at": job.removed_at,
            "record": to_text(job),
        }
        for job in jobs
    )


def tick_rows(occurrences: Iterable[NewOccurrence]) -> str:
    """Return the `:rows` of `_tick_rows.sql`."""
    return json_param(
        {"job_name": occurrence.job, "job_tick": occurrence.tick}
        for occurrence in occurrences
        if occurrence.tick is not None
    )


def occurrence_params(occurrences: Sequence[NewOccurrence]) -> dict[str, object]:
    """Return the parameters of `occurrences_add.sql`."""
    rows: dict[str, object] = {"rows": occurrence_rows(occurrences)}
    traced = any(occurrence.action.trace is not None for occurrence in occurrences)
    return rows | {"traced": True} if traced else rows


def occurrence_rows(occurrences: Iterable[NewOccurrence]) -> BulkRows:
    """Return the `:rows` of `_occurrence_rows.sql`."""
    listed = list(occurrences)
    new = new_columns(NewActions.of([occurrence.action for occurrence in listed]))
    del new["correlation_id"], new["key"]
    return BulkRows(
        **new,
        job_name=[occurrence.job for occurrence in listed],
        job_tick=[occurrence.tick for occurrence in listed],
        triggered_by=[occurrence.triggered_by for occurrence in listed],
        skipped=[occurrence.skipped for occurrence in listed],
    )
