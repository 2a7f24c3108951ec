"""Names of duetime's tables and indexes in the user's database."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from duetime.errors import ConfigError

DEFAULT_PREFIX = "duetime_"
SCHEMA_PLACEHOLDER = "duetime_schema"
# PostgreSQL truncates names to 63 bytes, and index names begin with the prefix.
MAX_NAME_LENGTHS = {"prefix": 30, "schema": 63}
TABLE_PLACEHOLDERS = frozenset(
    DEFAULT_PREFIX + table
    for table in (
        *("actions", "history", "runs", "audit", "workers", "migrations", "store"),
        *("jobs", "ticks", "tracebacks", "queues", "reports", "bulks", "figures"),
        *("grants", "api_keys", "links", "sessions", "answers"),
        *("subscriptions", "events", "notifications", "reads", "episodes", "notifier"),
    )
)


@dataclass(frozen=True, slots=True)
class TableNames:
    """The prefix of every table and index, and the schema they live in (PostgreSQL only).

    `found_schema` is the schema in which the tables were found when none is configured. A caller's
    connection may have another search path, so statements sent on it name this schema.
    """

    prefix: str = DEFAULT_PREFIX
    schema: str | None = None
    found_schema: str | None = None

    def __post_init__(self) -> None:
        _check_name("prefix", self.prefix)
        if self.schema is not None:
            _check_name("schema", self.schema)

    def quoted(self, placeholder: str) -> str:
        """Return the quoted name for a `duetime_…` placeholder of a `.sql` file.

        Only tables are qualified with the schema: an index lives in its table's schema, and
        naming that schema is a syntax error.
        """
        if placeholder == SCHEMA_PLACEHOLDER and self.schema is not None:
            return quote_identifier(self.schema)
        name = quote_identifier(self.prefix + placeholder.removeprefix(DEFAULT_PREFIX))
        schema = self.schema or self.found_schema
        if schema is None or placeholder not in TABLE_PLACEHOLDERS:
            return name
        return f"{quote_identifier(schema)}.{name}"

    def quoted_index(self, name: str) -> str:
        """Return the quoted name of an index, where it is not named together with its table."""
        quoted = quote_identifier(self.prefix + name)
        return quoted if self.schema is None else f"{quote_identifier(self.schema)}.{quoted}"

    @property
    def channel(self) -> str:
        """The NOTIFY channel of this store: a name that needs no quoting."""
        full = f"{self.schema or ''}.{self.prefix}"
        return "duetime_" + hashlib.sha256(full.encode()).hexdigest()[:16]

    @property
    def migration_lock(self) -> int:
        """The key of the advisory lock that serialises migrations of this store."""
        return int.from_bytes(hashlib.sha256(self.channel.encode()).digest()[:8], signed=True)

    @property
    def index_lock(self) -> int:
        """The key of the advisory lock of the process that builds indexes of this store."""
        return int.from_bytes(hashlib.sha256(self.channel.encode()).digest()[8:16], signed=True)


def quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def name_requirement(argument: str, value: str) -> str | None:
    """Return what a prefix or schema must look like if `value` is invalid, else None."""
    max_length = MAX_NAME_LENGTHS[argument]
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) and len(value) <= max_length:
        return None
    return f"letters, digits and underscores, no digit first, at most {max_length} characters"


def _check_name(argument: str, value: str) -> None:
    requirement = name_requirement(argument, value)
    if requirement is not None:
        raise ConfigError(f"{argument}={value!r} is not valid: give {requirement}")
