"""Drops the reply to a commit that the server has performed."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field

from faults.pg_protocol import FAILED, READY, is_committed

# Patterns of the statement that identifies each kind of commit. A completion may be a transaction
# of its own, or the last statement of a transactional run.
COMMIT_PATTERNS = {
    "schedule": r'INSERT INTO [^(]*"duetime_actions"',
    "claim": "picked AS MATERIALIZED",
    "completion": r'INSERT INTO [^(]*"duetime_history"',
    "again": r'INSERT INTO [^(]*"duetime_runs"',
}


@dataclass(slots=True)
class ReplyDropper:
    """Waits for a statement that matches the pattern `text`, and withholds the replies to it.

    It is done once the transaction is committed. Replies to a failed round trip, or to one that
    stays inside a transaction, are passed on.
    """

    text: str
    link: object = None
    done: bool = False
    kept_replies: list[bytes] = field(default_factory=list)
    struck: threading.Event = field(default_factory=threading.Event)

    def note_statement(self, link: object, statement: str) -> None:
        if self.link is None and re.search(self.text, statement):
            self.link = link

    def closed(self, link: object) -> None:
        """Forget a connection that broke before its commit."""
        if link is self.link:
            self.link, self.kept_replies = None, []

    def filter_reply(self, link: object, message: bytes) -> list[bytes]:
        """Return the messages to pass on now."""
        if link is not self.link:
            return [message]
        self.kept_replies.append(message)
        if message[:1] != READY:
            return []
        round_, self.kept_replies = self.kept_replies, []
        failed = any(reply[:1] == FAILED for reply in round_)
        if failed:
            self.link = None
        elif is_committed(message):
            self.done = True
            self.struck.set()
        return round_
