"""Reads around rows of which the database has lost long values, as a damaged disk loses them.

PostgreSQL keeps long values apart from their row, and refuses a statement that reads one it has
lost. Only a flow of mode `read` may go on after that: there each statement is a transaction by
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from duetime.errors import UnreadableRow
from duetime.model.actions.action import Record
from duetime.store.flow import Row, Rows, Statement, Steps
from duetime.store.sql.flows import records


def read_records(statement: Statement) -> Steps[list[Record]]:
    """Return the records that the statement reads. One that cannot be read is returned without its
    data, and with an error that says so; the others are then read one by one."""
    try:
        return [records.record(row) for row in (yield statement)]
    except UnreadableRow:
        without_data = {**statement.params, "without_data": True}
        found = yield Statement(statement.name, without_data)
    read: list[Record] = []
    for record in map(records.record, found):
        read.append((yield from _with_data(record)))
    return read


def _with_data(record: Record) -> Steps[Record]:
    """Return the record with its data, as far as that can be read; it may have changed since."""
    try:
        found = yield Statement("get", {"id": str(record.id)})
    except UnreadableRow as error:
        return replace(record, error=f"unreadable: {error}")
    return records.record(found[0]) if found else record


def read_jobs(params: Mapping[str, object]) -> Steps[Rows]:
    """Return rows of `jobs_page.sql`, with an empty record for a job that cannot be read."""
    try:
        return (yield Statement("jobs_page", params))
    except UnreadableRow:
        found = yield Statement("jobs_page", {**params, "without_data": True})
    rows: list[Row] = []
    for row in found:
        rows += yield from _job_with_data(params, row)
    return rows


def _job_with_data(params: Mapping[str, object], row: Row) -> Steps[Rows]:
    only = {**params, "beyond_name": None, "job_name": row[2], "limit": 1}
    try:
        return (yield Statement("jobs_page", only))
    except UnreadableRow:
        return [row]
