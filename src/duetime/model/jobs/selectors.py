"""Selectors: which jobs a read shows, and which jobs an edit is about."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.model.tenant import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Jobs to show: one by its name, or the next `limit` jobs after a name."""

    tenant: Scope
    name: str | None = None
    after: str = ""
    limit: int = 1
    removed: bool = False


@dataclass(frozen=True, slots=True)
class ByName:
    """Jobs by name, whether they exist or not."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToSeed:
    """Jobs that `worker` of `app` seeds, whether they exist or not, except locked ones. Workers
    count as alive for `alive` microseconds after they were last seen."""

    names: tuple[str, ...]
    app: str
    worker: str
    alive: int


@dataclass(frozen=True, slots=True)
class DueJobs:
    """Jobs of an app whose tick has come, except some names."""

    app: str
    limit: int
    excluded_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OrphanedJobs:
    """Declared jobs of an app that none of its workers seen within `alive` microseconds
    declares."""

    app: str
    alive: int
    limit: int


@dataclass(frozen=True, slots=True)
class Reappeared:
    """Retired jobs of an app that `worker` declares."""

    app: str
    worker: str
    alive: int
    limit: int


@dataclass(frozen=True, slots=True)
class ArmedTooFarAhead:
    """Jobs of an app whose next tick is more than `ahead` microseconds away: the first `limit`
    after a name, by name."""

    app: str
    ahead: int
    after: str
    limit: int


JobSelector = ByName | ToSeed | DueJobs | OrphanedJobs | Reappeared | ArmedTooFarAhead
