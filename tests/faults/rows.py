"""The campaigns by name, and how many faults each deals in `make soak`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faults.crowd import crowd
from faults.halt import halt
from faults.kill import kill
from faults.lost_reply import lost_reply
from faults.network import network
from faults.oracle import Verdict
from faults.places import POSTGRES, SQLITE
from faults.progress import Progress
from faults.race import race
from faults.restart import restart
from faults.stage import Place

BOTH = (SQLITE, POSTGRES)


@dataclass(frozen=True)
class Row:
    """A campaign, its size, and where it is played."""

    campaign: Callable[[Place, int, Progress], Verdict]
    count: int
    stores: Sequence[str] = BOTH
    proxied: bool = False
    # The app of its workers, and whether each of its actions must have exactly one effect.
    module: str = "faults.plain"
    exactly_once: bool = False
    # Whether that app has jobs.
    ticking: bool = False

    def place(self, place: Place) -> Place:
        return replace(
            place, module=self.module, exactly_once=self.exactly_once, ticking=self.ticking
        )


EXACTLY_ONCE: Any = {"module": "faults.transactional", "exactly_once": True}
TICKING: Any = {"module": "faults.ticking", "ticking": True}

ROWS = {
    "kill": Row(kill, 1_000),
    "halt": Row(halt, 200),
    "lost-reply": Row(lost_reply, 500, (POSTGRES,), proxied=True),
    "restart": Row(restart, 50, (POSTGRES,)),
    "network": Row(network, 20, (POSTGRES,), proxied=True),
    "race": Row(race, 2_000),
    "crowd": Row(crowd, 100_000),
    "kill-transactional": Row(kill, 1_000, **EXACTLY_ONCE),
    # Not on SQLite: who stands still in a transaction there holds the only lock, and all wait.
    "halt-transactional": Row(halt, 200, (POSTGRES,), **EXACTLY_ONCE),
    "lost-reply-transactional": Row(lost_reply, 500, (POSTGRES,), proxied=True, **EXACTLY_ONCE),
    "restart-transactional": Row(restart, 50, (POSTGRES,), **EXACTLY_ONCE),
    "network-transactional": Row(network, 20, (POSTGRES,), proxied=True, **EXACTLY_ONCE),
    "kill-jobs": Row(kill, 300, **TICKING),
    "halt-jobs": Row(halt, 100, **TICKING),
    "restart-jobs": Row(restart, 30, (POSTGRES,), **TICKING),
    "network-jobs": Row(network, 10, (POSTGRES,), proxied=True, **TICKING),
}
