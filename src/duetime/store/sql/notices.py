"""What processes tell each other through PostgreSQL's NOTIFY."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from duetime.store.flow import Wake

# PostgreSQL takes payloads of less than 8000 bytes.
LONGEST = 7999


@dataclass(frozen=True, slots=True)
class Notice:
    """From one store object to all: lanes that became due, or a ping to itself.

    `due` None means: more than a message can name, look at all lanes.
    """

    sender: str
    due: tuple[tuple[str, int], ...] | None = ()
    ping: int | None = None


def wake_message(sender: str, wakes: Iterable[Wake]) -> str:
    due = [[wake.lane, wake.due_at] for wake in wakes]
    text = json.dumps({"from": sender, "due": due}, separators=(",", ":"))
    return text if len(text) <= LONGEST else json.dumps({"from": sender, "due": None})


def ping_message(sender: str, ping: int) -> str:
    return json.dumps({"from": sender, "due": [], "ping": ping})


def parse(payload: str) -> Notice | None:
    """None for what is not of our making: any user of the database may notify."""
    try:
        told = json.loads(payload)
        due = None if told["due"] is None else tuple((str(x), int(y)) for x, y in told["due"])
        ping = told.get("ping")
        return Notice(str(told["from"]), due, None if ping is None else int(ping))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
