"""Each campaign in small; `make faults ROW=...` plays each in full."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.places import SQLITE, place_on, sqlite_place
from faults.progress import Progress, table
from faults.rows import ROWS
from faults.stage import Place
from servers import NoServer, OwnServer, open_own_server

SMALL = {"kill": 30, "halt": 10, "lost-reply": 20, "restart": 3, "network": 1}
SMALL |= {"race": 60, "crowd": 10_000}
SMALL |= {"kill-transactional": 8, "halt-transactional": 4, "lost-reply-transactional": 8}
SMALL |= {"restart-transactional": 2, "network-transactional": 1}
SMALL |= {"kill-jobs": 6}
CASES = [(row, store) for row in SMALL for store in ROWS[row].stores]


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """Not the one of other tests: it is restarted."""
    try:
        made = open_own_server()
    except NoServer as reason:
        pytest.skip(f"no PostgreSQL of our own: {reason}")
    yield made
    made.close()


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    row, store = request.param
    if store == SQLITE:
        yield sqlite_place(tmp_path)
        return
    with ExitStack() as stack:
        server = request.getfixturevalue("server")
        yield place_on(server, tmp_path, stack, proxied=ROWS[row].proxied)


@pytest.mark.parametrize(
    ("row", "place"),
    [(row, (row, store)) for row, store in CASES],
    indirect=["place"],
    ids=[f"{row}-{store}" for row, store in CASES],
)
def test_a_small_campaign_breaks_no_promise(row: str, place: Place) -> None:
    played = ROWS[row]
    verdict = played.campaign(played.place(place), SMALL[row], Progress(row, silent=True))
    assert verdict.wrong == [], table(verdict)
