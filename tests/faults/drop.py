"""A commit whose reply is lost: the server has done it, and nobody is told."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field

from faults.wire import FAILED, READY, is_committed

# By what each kind of commit is known on the wire. A completion may stand alone, or be the last
# statement of a transactional run.
WANTED = {
    "schedule": r'INSERT INTO [^(]*"duetime_actions"',
    "claim": "picked AS MATERIALIZED",
    "completion": r'INSERT INTO [^(]*"duetime_history"',
    "again": r'INSERT INTO [^(]*"duetime_runs"',
}


@dataclass(slots=True)
class Drop:
    """Waits for a statement that has `text`, a pattern; holds the replies to each round back, and
    is done once its transaction is committed. A round that fails, or stays inside a transaction,
    passes."""

    text: str
    link: object = None
    done: bool = False
    held: list[bytes] = field(default_factory=list)
    struck: threading.Event = field(default_factory=threading.Event)

    def asked(self, link: object, statement: str) -> None:
        if self.link is None and re.search(self.text, statement):
            self.link = link

    def closed(self, link: object) -> None:
        """It broke before it was done: wait for another."""
        if link is self.link:
            self.link, self.held = None, []

    def answered(self, link: object, message: bytes) -> list[bytes]:
        """What to pass on now."""
        if link is not self.link:
            return [message]
        self.held.append(message)
        if message[:1] != READY:
            return []
        round_, self.held = self.held, []
        failed = any(one[:1] == FAILED for one in round_)
        if failed:
            self.link = None
        elif is_committed(message):
            self.done = True
            self.struck.set()
        return round_
