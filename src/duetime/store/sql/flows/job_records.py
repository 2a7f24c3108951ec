"""Rows of jobs, ticks and occurrences, and the values of the model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from duetime.model.actions.completion import Finish
from duetime.model.actions.new_actions import NewActions
from duetime.model.jobs.change import JobEnd, NewOccurrence, Unfinished
from duetime.model.jobs.edit import retold
from duetime.model.jobs.job import JobRecord
from duetime.model.jobs.serialize import of_text, to_text
from duetime.store.flow import Row, Rows
from duetime.store.sql.flows import records as rows
from duetime.store.sql.statements.bulk_rows import Table, dump

log = logging.getLogger("duetime.store")


@dataclass(frozen=True, slots=True)
class HeldJobs:
    """Jobs that are ours until we commit, the store's clock, and those that others hold."""

    by_name: Mapping[str, JobRecord]
    now: int
    busy: frozenset[str]

    def retold(self, finishes: Iterable[Finish]) -> list[JobEnd]:
        jobs = ((self.by_name.get(one.job or ""), one) for one in finishes)
        told = (retold(job, one) for job, one in jobs if job is not None)
        return [one for one in told if one is not None]


def jobs(found: Rows) -> dict[str, JobRecord]:
    """By name, without those that this version cannot read: another may have written them."""
    read, unreadable = parted(found)
    for name, error in unreadable.items():
        log.error("job %s cannot be read by this version and is left alone: %s", name, error)
    return read


def parted(found: Rows) -> tuple[dict[str, JobRecord], dict[str, ValidationError]]:
    """Those that this version can read, and why it cannot read the others."""
    read: dict[str, JobRecord] = {}
    unreadable: dict[str, ValidationError] = {}
    for record, _, name in cast("Any", found):
        try:
            read[name] = of_text(record)
        except ValidationError as error:
            unreadable[name] = error
    return read, unreadable


def names(found: Rows) -> set[str]:
    """Those that are there, readable or not."""
    return {cast("str", row[2]) for row in found}


def job_rows(jobs: Iterable[JobRecord]) -> str:
    """The `:rows` of `_job_rows.sql`."""
    return dump(
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


def unfinished(row: Row) -> tuple[str, Unfinished]:
    job, action_id, running, after, *rest = cast("Any", row)
    waits_for = None if after is None else rows.uuid(after)
    return job, Unfinished(rows.uuid(action_id), bool(running), waits_for, *rest)


def tick_rows(occurrences: Iterable[NewOccurrence]) -> str:
    """The `:rows` of `_tick_rows.sql`."""
    return dump(
        {"job_name": one.job, "job_tick": one.tick} for one in occurrences if one.tick is not None
    )


def occurrence_rows(occurrences: Iterable[NewOccurrence]) -> Table:
    """The `:rows` of `_occurrence_rows.sql`."""
    made = list(occurrences)
    new = rows.new_columns(NewActions.of([one.action for one in made]))
    del new["correlation_id"], new["key"]
    return Table(
        **new,
        job_name=[one.job for one in made],
        job_tick=[one.tick for one in made],
        triggered_by=[one.triggered_by for one in made],
        skipped=[one.skipped for one in made],
    )
