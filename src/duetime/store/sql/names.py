"""What our tables are called in the user's database."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from duetime.errors import ConfigError

WRITTEN = "duetime_"
SCHEMA = "duetime_schema"
TABLES = frozenset(
    WRITTEN + table
    for table in ("actions", "history", "runs", "audit", "workers", "migrations", "store")
)


@dataclass(frozen=True, slots=True)
class Names:
    """The prefix of every table and index, and the schema they live in (PostgreSQL only)."""

    prefix: str = WRITTEN
    schema: str | None = None

    def __post_init__(self) -> None:
        _check("prefix", self.prefix, most=30)
        if self.schema is not None:
            _check("schema", self.schema, most=63)

    def of(self, written: str) -> str:
        """The quoted name of what `.sql` files call `duetime_…`.

        Only tables carry the schema: an index lives where its table does, and naming its
        schema is a syntax error.
        """
        if written == SCHEMA and self.schema is not None:
            return quoted(self.schema)
        name = quoted(self.prefix + written.removeprefix(WRITTEN))
        if self.schema is None or written not in TABLES:
            return name
        return f"{quoted(self.schema)}.{name}"

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


def _check(argument: str, value: str, most: int) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) or len(value) > most:
        raise ConfigError(
            f"{argument}={value!r} is not valid: give letters, digits and underscores, "
            f"no digit first, at most {most} characters"
        )
