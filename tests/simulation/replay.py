"""Replay one seed and print its whole trace: tests/simulation/replay.py SEED [DRAW]"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simulation import scenario
from simulation.cluster import run


def main(seed: int, name: str = "draw") -> int:
    draw = getattr(scenario, name)
    print(draw(seed))
    history = run(seed, scenario=draw, keep=True)
    print(*history.lines, sep="\n")
    print(f"\n{history.steps} steps in {history.seconds:.1f} virtual seconds, {history.hash[:16]}")
    print(", ".join(f"{what} {count}" for what, count in sorted(history.tally.items())))
    print(*(history.violations or ["no violation"]), sep="\n")
    return 1 if history.violations else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:3]))
