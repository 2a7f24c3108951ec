"""The `duetime migrate` command that creates a store's tables, for messages."""

from __future__ import annotations

import re
import shlex

from duetime.store.sql.statements.table_names import DEFAULT_PREFIX

# The password of a URL: from `://user:` to the last `@`, even if an `@` in it was not escaped or a
# slash is missing; or the value of `password=`.
PASSWORD_PATTERN = re.compile(r"(:/{1,2}[^:/?#@]*:).*(?=@)|([?&]password=)[^&#]*")


def mask_password(url: str) -> str:
    """Return a URL with its password hidden, for messages and logs."""
    return PASSWORD_PATTERN.sub(r"\1\2***", url)


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
