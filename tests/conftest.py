"""Fixtures that every test may use.

Folders, each with a map in its `__init__`:
    model, store, worker, api, cli   tests of the package, from the inside out
    admin                            the HTTP API
    pages, browser                   the pages, without scripts; in a real browser, `make browser`
    identity                         who sends a request over HTTP
    joining, transitions             callers' transactions; row transitions
    notifications                    messages, and what carries them
    telemetry                        metrics, spans and log records, read through the SDK
    simulation, job_simulation       simulated clusters in virtual time
    faults                           faults in real processes
    docs                             documentation against the code
    examples                         the example applications
    type_checkers                    what mypy and basedpyright say of users' code

Helpers in this folder:
    servers, databases   PostgreSQL servers and databases for the tests
    environments         environments of their own, with other packages
    certificates         certificates that servers of tests sign themselves
    polling, patching    wait for a condition; replace code by a mutant
    hostile_wakes        messages that a stranger may send to workers
    run_page             runs the examples of a documentation page
    soak                 the soak test, `make soak`
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from databases import Databases
from servers import GIVEN, NoServer, OwnServer, Server, open_own_server, open_server

# Runs pytest itself, for the tests of the plugin.
pytest_plugins = ["pytester"]

# Test processes take whole files in this order. What takes longest begins first; otherwise the last
# process would still be busy with a long file when the others have finished.
LONGEST_FIRST = (
    *("faults", "test_docs.py", "simulation", "job_simulation", "store", "transitions"),
    *("worker", "joining", "cli", "test_bench.py", "test_bench_pairs.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    room = item.path.relative_to(Path(__file__).parent).parts[0]
    return LONGEST_FIRST.index(room) if room in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """A path at which there is no database yet."""
    return tmp_path / "duetime.db"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The server of this test run; tests use `postgres_url`, a database of their own in it."""
    try:
        server = open_server()
    except NoServer as reason:
        pytest.skip(f"no PostgreSQL ({GIVEN} can name one): {reason}")
    yield server
    server.close()


@pytest.fixture(scope="session")
def databases(postgres_server: Server) -> Iterator[Databases]:
    databases = Databases(postgres_server)
    yield databases
    databases.close()


@pytest.fixture
def empty_postgres_url(postgres_server: Server, databases: Databases) -> Iterator[str]:
    """The URL of an empty database."""
    name = databases.take_empty()
    yield postgres_server.database_url(name)
    databases.give_back(name)


# Folders whose tests need a database with our tables.
FOLDERS_WITH_TABLES = {"admin", "api", "faults", "identity", "joining", "transitions", "worker"}


@pytest.fixture
def postgres_url(
    request: pytest.FixtureRequest, postgres_server: Server, databases: Databases
) -> Iterator[str]:
    """The URL of an empty database; in some folders, of one with our empty tables."""
    if request.path.parent.name not in FOLDERS_WITH_TABLES:
        yield request.getfixturevalue("empty_postgres_url")
        return
    name = databases.take_ready()
    yield postgres_server.database_url(name)
    databases.give_back(name)


@pytest.fixture
def private_postgres() -> Iterator[Callable[..., OwnServer]]:
    """Start servers that a test may stop, restart and kill: `private_postgres(work_mem="8MB")`.

    Starting a server takes about a second, so use this for faults and settings only.
    """
    servers: list[OwnServer] = []

    def start(**parameters: str) -> OwnServer:
        try:
            servers.append(open_own_server(**parameters))
        except NoServer as reason:
            pytest.skip(f"no PostgreSQL of our own: {reason}")
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List skipped tests by name: an unnoticed skip looks like a pass."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"WARNING: {count} test(s) NOT RUN: {reason}", yellow=True)
        for report in skipped:
            if report.longrepr[2].endswith(reason):
                terminalreporter.write_line(f"  {report.nodeid}", yellow=True)
