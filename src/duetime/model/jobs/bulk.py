"""An edit of many jobs at once, and what it did with each name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from duetime.errors import JobNotFound
from duetime.model.jobs.change import FoundJob, JobChange, JobEdit

BulkVerb = Literal["pause", "resume"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBulk:
    """What a bulk did with each name, in the order given. A job of another tenant is `not_found`,
    as one is that never was."""

    changed: tuple[str, ...] = ()
    # They were so already.
    unchanged: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()
    # This version cannot read what is stored of them.
    unreadable: tuple[str, ...] = ()


class BulkEdit:
    """Edits each job that can be edited, and remembers the names of jobs that are not there."""

    def __init__(self, edit: JobEdit) -> None:
        self._edit = edit
        self._missing: set[str] = set()

    def decide(self, found: FoundJob) -> JobChange | None:
        try:
            return self._edit(found)
        except JobNotFound:
            self._missing.add(found.name)
            return None

    def result(
        self, names: Sequence[str], changed: Iterable[str], unreadable: Iterable[str]
    ) -> JobBulk:
        done, damaged = {*changed}, {*unreadable}
        same = {*names} - done - damaged - self._missing
        return JobBulk(
            changed=tuple(name for name in names if name in done),
            unchanged=tuple(name for name in names if name in same),
            not_found=tuple(name for name in names if name in self._missing),
            unreadable=tuple(name for name in names if name in damaged),
        )
