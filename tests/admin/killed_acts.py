"""A process that sends acts over HTTP again and again, killed at every statement and before every
reply.

`python killed_acts.py URL NUMBER...`: for each of these acts of `admin.test_acts`, in each round a
child makes what the act is about, and is killed at the next point of the act. The child after it
prints what became of it, as JSON. The process itself opens no store: its children are forked from
it.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from admin.cases import Case, Subjects, declare_broken
from admin.client import admin_of, client_of, make_app, sent_by
from admin.test_acts import ACTS, noted, prepared, sender, stored
from duetime import ANY, Duetime
from duetime.store.flow import Flow
from duetime.testing import FakeClock
from store.killed_bulk import PASSED, KillPoint, in_child, watched


class Round:
    """What a child leaves behind for the one after it."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / "round.json"

    def keep(self, subjects: Subjects, note: str, before: str) -> None:
        names = {name: getattr(subjects, name) for name in Subjects.__slots__}
        self._file.write_text(json.dumps({"names": names, "note": note, "before": before}))

    async def outcome(self, app: Duetime) -> dict[str, Any]:
        """Return whether the act of the round changed anything, and the verbs of its entries."""
        kept = json.loads(self._file.read_text())
        after = repr(await stored(app, Subjects(**kept["names"])))
        entries = await app.audit.find(tenant=ANY, limit=200)
        verbs = sorted(entry.verb for entry in entries if entry.note == kept["note"])
        return {"changed": after != kept["before"], "verbs": verbs}


def opened(url: str) -> Duetime:
    app = make_app(url, clock=FakeClock())
    declare_broken(app)
    return app


async def act(url: str, left: Round, case: Case, verb: str, number: int) -> None:
    async with opened(url) as app:
        subjects = await prepared(app, case, verb)
        left.keep(subjects, "why", repr(await stored(app, subjects)))
        arm(app, KillPoint(number))
        async with client_of(admin_of(app), sender=None) as client:
            response = await noted(case).send(client, subjects, sent_by(sender(case)))
    assert response.status_code == case.status, response.text


def arm(app: Duetime, point: KillPoint) -> None:
    perform: Any = app.store.perform

    async def performed(flow: Flow[Any]) -> Any:
        done = await perform(watched(flow, point))
        point()  # after the commit: its reply is lost
        return done

    app.store.perform = performed  # type: ignore[method-assign]


async def print_outcome(url: str, left: Round, what: dict[str, Any]) -> None:
    async with opened(url) as app:
        print(json.dumps(what | await left.outcome(app)), flush=True)
        await app.store.perform(app.store.clear())


def run(url: str, left: Round, case: Case, verb: str) -> None:
    number, ended = 0, -signal.SIGKILL
    while ended != PASSED:
        ended = in_child(lambda: asyncio.run(act(url, left, case, verb, number)))  # noqa: B023
        assert ended in (-signal.SIGKILL, PASSED), (str(case), number, ended)
        what = {"act": str(case), "verb": verb, "number": number, "passed": ended == PASSED}
        printed = in_child(lambda: asyncio.run(print_outcome(url, left, what)))  # noqa: B023
        assert printed == PASSED, what
        number += 1


def main(url: str, numbers: list[int]) -> None:
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    with TemporaryDirectory() as folder:
        for number in numbers:
            run(url, Round(folder), *ACTS[number])


if __name__ == "__main__":
    main(sys.argv[1], [int(number) for number in sys.argv[2:]])
