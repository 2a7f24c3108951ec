"""Which jobs a verb means."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.model.tenant import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which to show: by name, or the next `limit` of them after a name."""

    tenant: Scope
    name: str | None = None
    after: str = ""
    limit: int = 1
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """These, whether they are there or not."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """Those of an app whose tick has come."""

    app: str
    limit: int


@dataclass(frozen=True, slots=True)
class Orphaned:
    """Declared ones of an app that none of its workers, as far as they were seen within `alive`
    microseconds, runs any more."""

    app: str
    alive: int
    limit: int


Which = Named | Due | Orphaned
