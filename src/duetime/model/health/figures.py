"""Figures: how many runs ended in each minute, as workers count them and stores keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from duetime.model.clock import SECOND
from duetime.model.tenant import ANY, Scope

MINUTE = 60 * SECOND
# Under this kind and queue, which no action has, runs are counted beyond what a worker may keep.
REST = ""

# What the lines of a series, or the buckets of its points, are made by.
FigureGroup = Literal["queue", "kind", "outcome"]
BucketColumn = Literal["lateness", "duration"]


class FigureKey(NamedTuple):
    """What runs are counted by: the minute in which they ended, by its first microsecond, and the
    buckets of their lateness and duration."""

    minute: int
    queue: str
    kind: str
    tenant: str | None
    outcome: str
    lateness: int
    duration: int


@dataclass(frozen=True, slots=True)
class FigureBatch:
    """What a worker adds to the store's figures. Its `number` is higher than that of the batch
    before it, so that a store recognises a batch that was sent again."""

    worker: str
    number: int
    runs: Sequence[tuple[FigureKey, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFilter:
    """Figures of the minutes from `since` to before `until`, in steps of `step` microseconds.

    With `by`, they are summed for each of the `most` values that have most runs, and for all
    others together; with `buckets`, for each bucket of that column.
    """

    since: int
    until: int
    step: int
    by: FigureGroup | None = None
    buckets: BucketColumn | None = None
    outcome: str | None = None
    tenant: Scope = ANY
    most: int = 20


class FigureSum(NamedTuple):
    """The runs of one step, counted from 0. `value` is that of `by`: REST for all others, and where
    there is no `by`; `bucket` is UNMEASURED where no buckets are asked for."""

    step: int
    value: str
    bucket: int
    runs: int


@dataclass(frozen=True, slots=True)
class FigureSums:
    """Sums in any order. `capped` if some runs are in REST, so that a tenant's may be missing."""

    sums: Sequence[FigureSum]
    capped: bool
