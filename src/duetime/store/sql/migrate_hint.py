"""The command that makes the tables of a store, as it can be typed."""

from __future__ import annotations

import re
import shlex

from duetime.store.sql.statements.table_names import WRITTEN

# From `://user:` to the last `@`, also where it should have been escaped or a slash was lost;
# or by name.
PASSWORD = re.compile(r"(:/{1,2}[^:/?#@]*:).*(?=@)|([?&]password=)[^&#]*")


def masked(url: str) -> str:
    """A URL as it may stand in a message or a log: without its password."""
    return PASSWORD.sub(r"\1\2***", url)


def migrate_command(url: str | None, prefix: str, schema: str | None) -> str:
    """`duetime migrate` with what this store needs; without a URL where the settings give it."""
    given = {
        "--url": None if url is None else masked(url),
        "--prefix": None if prefix == WRITTEN else prefix,
        "--schema": schema,
    }
    words = [f"{option} {shlex.quote(value)}" for option, value in given.items() if value]
    return " ".join(["duetime migrate", *words])
