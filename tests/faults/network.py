"""Campaign: connections are cut, go silent in one or both directions, or get very slow."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle

from faults.campaign import (
    LEASE_SECONDS,
    StoreSetup,
    finish_campaign,
    pause,
    running_campaign,
    wait_until,
)
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.proxy import ONE_BYTE, STALL, SWALLOW, Direction, Proxy
from faults.recovery import RARE_SWEEPS, check_listening, check_recovered

MODES: dict[str, Callable[[Proxy], None]] = {
    "cut": lambda wire: wire.cut(),
    "refuse": lambda wire: wire.refuse(),
    "half-open": lambda wire: wire.shape(up=SWALLOW, down=SWALLOW),
    "asymmetric up": lambda wire: wire.shape(up=SWALLOW),
    "asymmetric down": lambda wire: wire.shape(down=SWALLOW),
    "stalled": lambda wire: wire.shape(up=STALL, down=STALL),
    "1 B/s": lambda wire: wire.shape(up=ONE_BYTE, down=ONE_BYTE),
    "slow": lambda wire: wire.shape(up=Direction(delay=0.2), down=Direction(delay=0.2)),
}
# Long enough that handlers are running while their connection is down.
LONG_WORK_SECONDS = 1.0
CHECK_INTERVAL = len(MODES)


def network(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    """Inject `count` faults of each mode.

    Two workers and the clients share a proxy, a third worker has its own. While one proxy is
    broken, its actions are rescued through the other.
    """
    rng = random.Random(seed)
    setup = replace(setup, settings={**setup.settings, **RARE_SWEEPS})
    seen = Verdict()
    assert setup.proxy is not None
    with ExitStack() as stack:
        other = Proxy(setup.direct)
        stack.callback(other.close)
        campaign = stack.enter_context(running_campaign(setup, work=LONG_WORK_SECONDS))
        procs = [
            campaign.processes.start(),
            campaign.processes.start(),
            campaign.processes.start(url=other.url),
        ]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in procs), 30)
        wires = cycle([setup.proxy, other])
        for done, mode in enumerate([*MODES] * count, start=1):
            wire = next(wires)
            wire.heal()
            MODES[mode](wire)
            seen.figures[f"faults: {mode}"] += 1
            progress.show(done, count * len(MODES))
            pause(rng.uniform(0.2, 2 * LEASE_SECONDS))
            if done % CHECK_INTERVAL == 0:
                setup.proxy.heal()
                other.heal()
                next(wires)  # so that each mode is applied to each proxy
                check_recovered(campaign, procs, seen)
        campaign.client.stop()
        check_listening(campaign, len(procs), seen)
        verdict = finish_campaign(campaign, Expectations())
    verdict.include(seen)
    verdict.figures["faults"] = count * len(MODES)
    return verdict
