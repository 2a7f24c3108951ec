"""Runs PgBouncer in transaction mode, if it is installed or may be installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from servers import Server, free_port, unprivileged

# With the value `install`, root installs PgBouncer with apt-get.
INSTALL_VARIABLE = "DUETIME_TEST_PGBOUNCER"

CONFIG = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = plain
auth_file = {home}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
query_wait_timeout = 20
server_connect_timeout = 5
server_login_retry = 1
logfile = {home}/log
"""


class NoPooler(Exception):
    """PgBouncer is not available; the message says why."""


class Pooler:
    """A PgBouncer on a free port, with `size` connections to each database of the server."""

    def __init__(self, server: Server, size: int) -> None:
        program = _program()
        self._server = server
        self._port = free_port()
        self._user = unprivileged()
        # Not $TMPDIR for root: the other user may have no access to it.
        temporary = "/tmp" if self._user else None
        self._home = Path(tempfile.mkdtemp(prefix="duetime-pooler-", dir=temporary))
        self._configure(size)
        self._process = subprocess.Popen(
            [program, str(self._home / "ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self._user and self._user.pw_uid,
            group=self._user and self._user.pw_gid,
            extra_groups=self._user and [],
        )
        self._wait()

    def through(self, url: str) -> str:
        """Return the URL of the same database through the pooler."""
        parts = urlsplit(url)
        login = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{self._port}"))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def _configure(self, size: int) -> None:
        there = urlsplit(self._server.url)
        user = there.username or "postgres"
        text = CONFIG.format(
            host=there.hostname,
            port=there.port or 5432,
            user=user,
            own_port=self._port,
            home=self._home,
            size=size,
        )
        (self._home / "ini").write_text(text)
        (self._home / "users").write_text(f'"{user}" "{there.password or ""}"\n')
        if self._user:
            for path in (self._home, self._home / "ini", self._home / "users"):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def _wait(self) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                return
        log = self._home / "log"
        log_text = log.read_text()[-1000:] if log.exists() else ""
        self.close()
        raise NoPooler(f"pgbouncer did not start: {log_text}")


def _program() -> str:
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    program = shutil.which("pgbouncer", path=path)
    if program is None and os.environ.get(INSTALL_VARIABLE) == "install":
        _install()
        program = shutil.which("pgbouncer", path=path)
    if program is None:
        raise NoPooler(
            f"pgbouncer is not installed (as root, {INSTALL_VARIABLE}=install fetches it)"
        )
    return program


def _install() -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise NoPooler(f"{INSTALL_VARIABLE}=install needs root and apt-get")
    command = ["apt-get", "install", "-y", "--no-install-recommends", "pgbouncer"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise NoPooler(f"apt-get could not install pgbouncer: {done.stderr[-500:]}")
