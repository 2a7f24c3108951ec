"""The `duetime migrate` command that creates a store's tables, for messages."""

from __future__ import annotations

import shlex

from duetime.model.store_url import mask_password
from duetime.store.sql.statements.table_names import DEFAULT_PREFIX


def migrate_command(url: str | None, prefix: str, schema: str | None) -> str:
    """Return the `duetime migrate` command for a store. Pass None as `url` if the settings give
    it."""
    options = {
        "--url": None if url is None else mask_password(url),
        "--prefix": None if prefix == DEFAULT_PREFIX else prefix,
        "--schema": schema,
    }
    words = [f"{option} {shlex.quote(value)}" for option, value in options.items() if value]
    return " ".join(["duetime migrate", *words])
