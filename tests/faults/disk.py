"""A small tmpfs that tests can fill; only root may mount it."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import unprivileged

CHUNK = bytes(65536)


class NoDisk(Exception):
    """No disk can be mounted; the message says why."""


class SmallDisk:
    """A mounted folder that the server's user owns."""

    def __init__(self, mount: Path) -> None:
        self._ballast = mount / "ballast"
        self.tablespace = mount / "tablespace"
        self.tablespace.mkdir()
        user = unprivileged()
        if user is not None:
            os.chown(self.tablespace, user.pw_uid, user.pw_gid)

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(CHUNK) == len(CHUNK):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def make_room(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "none", str(folder)]
    if os.geteuid() != 0:
        raise NoDisk("only root may mount one")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NoDisk(f"mount failed: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily, since a stopping server may still use it.
        subprocess.run(["umount", "-l", str(folder)], check=True)
