"""All campaigns by name, with the number of faults that `make soak` injects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faults.burst import burst
from faults.campaign import StoreSetup
from faults.campaign_stores import POSTGRES, SQLITE
from faults.crash_after_claim import crash_after_claim
from faults.damage import damage_rows
from faults.forged_wakes import forged_wakes
from faults.halt import halt
from faults.kill import kill
from faults.lost_reply import lost_reply
from faults.network import network
from faults.oracle import Verdict
from faults.progress import Progress
from faults.race import race
from faults.restart import restart

BOTH = (SQLITE, POSTGRES)


@dataclass(frozen=True)
class CampaignSpec:
    """A campaign, its number of faults, its stores and its app."""

    run: Callable[[StoreSetup, int, Progress], Verdict]
    count: int
    stores: Sequence[str] = BOTH
    proxied: bool = False
    # The app of the workers, and whether each action must have exactly one effect.
    module: str = "faults.plain_app"
    exactly_once: bool = False
    # Whether the app has jobs.
    ticking: bool = False

    def configure(self, setup: StoreSetup) -> StoreSetup:
        return replace(
            setup, module=self.module, exactly_once=self.exactly_once, ticking=self.ticking
        )


EXACTLY_ONCE: Any = {"module": "faults.transactional_app", "exactly_once": True}
TICKING: Any = {"module": "faults.ticking_app", "ticking": True}

CAMPAIGNS = {
    "kill": CampaignSpec(kill, 1_000),
    "halt": CampaignSpec(halt, 200),
    "lost-reply": CampaignSpec(lost_reply, 500, (POSTGRES,), proxied=True),
    "restart": CampaignSpec(restart, 50, (POSTGRES,)),
    "network": CampaignSpec(network, 20, (POSTGRES,), proxied=True),
    "crash-after-claim": CampaignSpec(crash_after_claim, 30, (POSTGRES,)),
    "forged-wakes": CampaignSpec(forged_wakes, 20_000, (POSTGRES,)),
    "race": CampaignSpec(race, 2_000),
    "crowd": CampaignSpec(burst, 100_000),
    "damaged-rows": CampaignSpec(damage_rows, 500),
    "kill-transactional": CampaignSpec(kill, 1_000, **EXACTLY_ONCE),
    # Not on SQLite: a process frozen inside a transaction holds the only write lock.
    "halt-transactional": CampaignSpec(halt, 200, (POSTGRES,), **EXACTLY_ONCE),
    "lost-reply-transactional": CampaignSpec(
        lost_reply, 500, (POSTGRES,), proxied=True, **EXACTLY_ONCE
    ),
    "restart-transactional": CampaignSpec(restart, 50, (POSTGRES,), **EXACTLY_ONCE),
    "network-transactional": CampaignSpec(network, 20, (POSTGRES,), proxied=True, **EXACTLY_ONCE),
    "kill-jobs": CampaignSpec(kill, 300, **TICKING),
    "halt-jobs": CampaignSpec(halt, 100, **TICKING),
    "restart-jobs": CampaignSpec(restart, 30, (POSTGRES,), **TICKING),
    "network-jobs": CampaignSpec(network, 10, (POSTGRES,), proxied=True, **TICKING),
}
