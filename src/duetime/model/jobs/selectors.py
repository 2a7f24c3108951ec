"""Selectors: which jobs an edit is about."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.model.tenant import ANY, Scope


@dataclass(frozen=True, slots=True)
class ByName:
    """Jobs by name, whether they exist or not; outside the tenant's scope they do not."""

    names: tuple[str, ...]
    tenant: Scope = ANY


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
    declares, except some names."""

    app: str
    alive: int
    limit: int
    excluded_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reappeared:
    """Retired jobs of an app that `worker` declares, except some names."""

    app: str
    worker: str
    alive: int
    limit: int
    excluded_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ArmedTooFarAhead:
    """Jobs of an app whose next tick is more than `ahead` microseconds away: the first `limit`
    after a name, by name, except some names."""

    app: str
    ahead: int
    after: str
    limit: int
    excluded_names: frozenset[str] = frozenset()


# Selectors that search for jobs, rather than naming them.
JobSearch = DueJobs | OrphanedJobs | Reappeared | ArmedTooFarAhead
JobSelector = ByName | ToSeed | DueJobs | OrphanedJobs | Reappeared | ArmedTooFarAhead
