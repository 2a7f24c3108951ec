"""The long test with faults: python tests/soak.py [seeds [first]]

Lives through many histories on all cores, shows how far it is, and ends with a tally of what
went wrong and what came of it. Then gives the state machine of the stores more time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from simulation.campaign import Verdict, campaign

TESTS = Path(__file__).resolve().parent
SEEDS = 100_000
FIRST = 1_000_000
MACHINE = TESTS / "store" / "test_machine.py"


def histories(seeds: range) -> Verdict:
    verdict, began = Verdict(), time.monotonic()
    for part in campaign(seeds):
        verdict.add(part)
        _show(verdict, len(seeds), time.monotonic() - began)
    print()
    return verdict


def _show(verdict: Verdict, wanted: int, elapsed: float) -> None:
    rate = verdict.done / elapsed
    left = (wanted - verdict.done) / rate
    print(
        f"\r{verdict.done:,} of {wanted:,} histories, {rate:.1f}/s, {left / 60:.1f} min left, "
        f"{len(verdict.failures)} with violations ",
        end="",
        flush=True,
    )


def report(verdict: Verdict) -> None:
    print(f"{verdict.seconds / 86_400:.1f} days of virtual time")
    for what, count in sorted(verdict.tally.items()):
        print(f"  {what:28}{count:12,}")
    print(verdict.told() if verdict.failures else "every guarantee held")


def machine() -> bool:
    """The stores against the specification, with the Hypothesis profile `soak`."""
    if not MACHINE.exists():
        return True
    command = [sys.executable, "-m", "pytest", str(MACHINE), "--hypothesis-profile=soak"]
    return subprocess.run(command, cwd=TESTS.parent, check=False).returncode == 0


def main(seeds: int = SEEDS, first: int = FIRST) -> int:
    verdict = histories(range(first, first + seeds))
    report(verdict)
    return 0 if machine() and not verdict.failures else 1


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:3])))
