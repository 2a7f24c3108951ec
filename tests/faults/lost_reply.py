"""Campaign: replies to commits are lost, of schedule, claim, completion and retry."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

from faults.campaign import (
    LEASE_SECONDS,
    MARGIN_SECONDS,
    SWEEP_SECONDS,
    StoreSetup,
    finish_campaign,
    running_campaign,
)
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.reply_dropper import COMMIT_PATTERNS, ReplyDropper

WORKERS = 2
# A kind of commit that does not occur in this time is skipped.
MAX_WAIT_SECONDS = 8.0
# Of this many claims with a lost reply, at least one had claimed something.
MIN_CLAIMS = 5


def lost_reply(setup: StoreSetup, count: int, progress: Progress) -> Verdict:
    """Drop `count` replies.

    No process dies, and only claims whose reply was lost lose their lease. So even handlers
    without a transaction have exactly one effect.
    """
    assert setup.proxy is not None
    struck: Counter[str] = Counter()
    kinds = cycle(COMMIT_PATTERNS)
    with running_campaign(setup) as campaign:
        for _ in range(WORKERS):
            campaign.processes.start()
        while sum(struck.values()) < count:
            kind = next(kinds)
            dropper = ReplyDropper(COMMIT_PATTERNS[kind])
            setup.proxy.drop_reply(dropper)
            struck[kind] += dropper.struck.wait(MAX_WAIT_SECONDS)
            progress.show(sum(struck.values()), count)
        setup.proxy.drop_reply(None)
        expectations = Expectations(
            exactly_once=True,
            unreported_claims=True,
            recovery=LEASE_SECONDS + SWEEP_SECONDS + MARGIN_SECONDS,
        )
        verdict = finish_campaign(campaign, expectations)
    verdict.wrong += [
        f"no reply to {kind} was lost" for kind in COMMIT_PATTERNS if not struck[kind]
    ]
    if struck["claim"] >= MIN_CLAIMS and not verdict.slowest_recovery:
        verdict.wrong.append("no claim with a lost reply was rescued")
    verdict.figures["faults"] = sum(struck.values())
    verdict.figures |= Counter({f"replies lost: {kind}": n for kind, n in struck.items()})
    return verdict
