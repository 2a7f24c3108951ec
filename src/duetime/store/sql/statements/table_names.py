"""What our tables are called in the user's database."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from duetime.errors import ConfigError

WRITTEN = "duetime_"
SCHEMA = "duetime_schema"
# PostgreSQL cuts names after 63 bytes, and those of our indexes begin with the prefix.
LONGEST = {"prefix": 30, "schema": 63}
TABLES = frozenset(
    WRITTEN + table
    for table in (
        *("actions", "history", "runs", "audit", "workers", "migrations", "store"),
        *("jobs", "ticks"),
    )
)


@dataclass(frozen=True, slots=True)
class Names:
    """The prefix of every table and index, and the schema they live in (PostgreSQL only).

    `located` is where they were found without a schema given: on a connection of the caller's,
    whose search path may be another, they are named in full.
    """

    prefix: str = WRITTEN
    schema: str | None = None
    located: str | None = None

    def __post_init__(self) -> None:
        _check("prefix", self.prefix)
        if self.schema is not None:
            _check("schema", self.schema)

    def of(self, written: str) -> str:
        """The quoted name of what `.sql` files call `duetime_…`.

        Only tables carry the schema: an index lives where its table does, and naming its
        schema is a syntax error.
        """
        if written == SCHEMA and self.schema is not None:
            return quoted(self.schema)
        name = quoted(self.prefix + written.removeprefix(WRITTEN))
        home = self.schema or self.located
        if home is None or written not in TABLES:
            return name
        return f"{quoted(home)}.{name}"

    @property
    def channel(self) -> str:
        """Where PostgreSQL tells listeners of this store: a name that needs no quoting."""
        full = f"{self.schema or ''}.{self.prefix}"
        return "duetime_" + hashlib.sha256(full.encode()).hexdigest()[:16]

    @property
    def lock(self) -> int:
        """The advisory lock under which this store is migrated."""
        return int.from_bytes(hashlib.sha256(self.channel.encode()).digest()[:8], signed=True)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def wanted_instead(argument: str, value: str) -> str | None:
    """What a prefix or a schema must be, if this is none."""
    most = LONGEST[argument]
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) and len(value) <= most:
        return None
    return f"letters, digits and underscores, no digit first, at most {most} characters"


def _check(argument: str, value: str) -> None:
    wanted = wanted_instead(argument, value)
    if wanted is not None:
        raise ConfigError(f"{argument}={value!r} is not valid: give {wanted}")
