"""The wire is cut, falls silent in one or both directions, or carries a byte in a second."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle

from faults.oracle import Law, Verdict
from faults.progress import Progress
from faults.proxy import ONE_BYTE, STALL, SWALLOW, Proxy, Way
from faults.recovery import FAR_APART, hears, returned
from faults.stage import LEASE, Place, conclude, pause, staged, wait_until

MODES: dict[str, Callable[[Proxy], None]] = {
    "cut": lambda wire: wire.cut(),
    "refuse": lambda wire: wire.refuse(),
    "half-open": lambda wire: wire.shape(up=SWALLOW, down=SWALLOW),
    "asymmetric up": lambda wire: wire.shape(up=SWALLOW),
    "asymmetric down": lambda wire: wire.shape(down=SWALLOW),
    "stalled": lambda wire: wire.shape(up=STALL, down=STALL),
    "1 B/s": lambda wire: wire.shape(up=ONE_BYTE, down=ONE_BYTE),
    "slow": lambda wire: wire.shape(up=Way(delay=0.2), down=Way(delay=0.2)),
}
# So long that handlers are at work while their wire is down.
LONG_WORK = 1.0
LOOK_EVERY = len(MODES)


def network(place: Place, count: int, progress: Progress, seed: int = 1) -> Verdict:
    """`count` faults of each mode. Two workers and the customers share a wire, a third worker
    has its own: while one wire is down, what it held is rescued over the other."""
    dice = random.Random(seed)
    place = replace(place, settings={**place.settings, **FAR_APART})
    seen = Verdict()
    assert place.proxy is not None
    with ExitStack() as stack:
        other = Proxy(place.direct)
        stack.callback(other.close)
        stage = stack.enter_context(staged(place, work=LONG_WORK))
        hands = [stage.crew.hire(), stage.crew.hire(), stage.crew.hire(url=other.url)]
        assert wait_until(lambda: all(stage.has_started(hand) for hand in hands), 30)
        wires = cycle([place.proxy, other])
        for done, mode in enumerate([*MODES] * count, start=1):
            wire = next(wires)
            wire.heal()
            MODES[mode](wire)
            seen.figures[f"faults: {mode}"] += 1
            progress.show(done, count * len(MODES))
            pause(dice.uniform(0.2, 2 * LEASE))
            if done % LOOK_EVERY == 0:
                place.proxy.heal()
                other.heal()
                next(wires)  # so that each mode strikes each wire
                returned(stage, hands, seen)
        stage.customer.stop()
        hears(stage, len(hands), seen)
        verdict = conclude(stage, Law())
    verdict.include(seen)
    verdict.figures["faults"] = count * len(MODES)
    return verdict
