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
class Seeding:
    """These, whether they are there or not, except what others hold in this moment; as they are
    seeded by `worker` of `app`; workers count as alive for `alive` microseconds."""

    names: tuple[str, ...]
    app: str
    worker: str
    alive: int


@dataclass(frozen=True, slots=True)
class Due:
    """Those of an app whose tick has come, but for some."""

    app: str
    limit: int
    but: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Orphaned:
    """Declared ones of an app that none of its workers, as far as they were seen within `alive`
    microseconds, runs any more."""

    app: str
    alive: int
    limit: int


@dataclass(frozen=True, slots=True)
class Returned:
    """Retired ones of an app that `worker` declares."""

    app: str
    worker: str
    alive: int
    limit: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Those of an app whose tick comes more than `ahead` microseconds from now, by name: the first
    `limit` after a name."""

    app: str
    ahead: int
    after: str
    limit: int


Which = Named | Seeding | Due | Orphaned | Returned | Ahead
