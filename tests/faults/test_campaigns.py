"""Each campaign with few faults; `make soak` runs the longest of these, then all in full."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from faults.campaign import StoreSetup
from faults.campaign_stores import POSTGRES, SQLITE, postgres_setup, sqlite_setup
from faults.catalog import CAMPAIGNS
from faults.progress import Progress, table
from servers import NoServer, OwnServer, open_own_server

SMALL = {"kill": 10, "halt": 10, "lost-reply": 20, "restart": 3, "network": 1}
SMALL |= {"crash-after-claim": 1, "forged-wakes": 300}
SMALL |= {"race": 60, "crowd": 10_000, "damaged-rows": 60}
SMALL |= {"kill-transactional": 8, "halt-transactional": 4, "lost-reply-transactional": 8}
SMALL |= {"restart-transactional": 2, "network-transactional": 1}
SMALL |= {"kill-jobs": 6}
CASES = [(row, store) for row in SMALL for store in CAMPAIGNS[row].stores]
# These last longest: most of their time, workers wait for leases and broken networks.
LONG = {"halt", "network", "network-transactional", "halt-transactional"}
LONG_ON_POSTGRES = {"kill-transactional", "kill-jobs"}


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A private server, because campaigns restart it."""
    try:
        own_server = open_own_server()
    except NoServer as reason:
        pytest.skip(f"no PostgreSQL of our own: {reason}")
    yield own_server
    own_server.close()


@pytest.fixture
def store_setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreSetup]:
    row, store = request.param
    if store == SQLITE:
        yield sqlite_setup(tmp_path)
        return
    with ExitStack() as stack:
        server = request.getfixturevalue("server")
        yield postgres_setup(server, tmp_path, stack, proxied=CAMPAIGNS[row].proxied)


def case(row: str, store: str) -> ParameterSet:
    long = row in LONG or (store == POSTGRES and row in LONG_ON_POSTGRES)
    marks = [pytest.mark.soak] if long else []
    return pytest.param(row, (row, store), marks=marks, id=f"{row}-{store}")


@pytest.mark.parametrize(
    ("row", "store_setup"), [case(*each) for each in CASES], indirect=["store_setup"]
)
def test_a_small_campaign_keeps_every_guarantee(row: str, store_setup: StoreSetup) -> None:
    spec = CAMPAIGNS[row]
    verdict = spec.run(spec.configure(store_setup), SMALL[row], Progress(row, silent=True))
    assert verdict.wrong == [], table(verdict)
