"""The creation of a database file that only its owner may read."""

from __future__ import annotations

import os
from contextlib import suppress

from duetime.store.sql.sqlite.errors import is_missing

PRIVATE_MODE = 0o600
# To SQLite this path means a database without a file.
IN_MEMORY = ":memory:"


def create_private_file(path: str) -> None:
    """Create an empty file if there is none. SQLite would create it with the rights that the umask
    leaves; it gives the files beside a database the rights of the database."""
    if path == IN_MEMORY or not is_missing(path):
        # Not even opened: closing a file drops all locks that this process holds on it.
        return
    # If it cannot be created, SQLite says why; if another process was faster, all is well.
    with suppress(OSError):
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE_MODE))
