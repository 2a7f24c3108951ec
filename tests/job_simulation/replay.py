"""Replay one seed and print its trace: tests/job_simulation/replay.py SEED [DRAW [JOB]]"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from job_simulation import scenario
from job_simulation.cluster import run


def main(seed: int, name: str = "draw", job: str = "") -> int:
    draw = getattr(scenario, name)
    print(draw(seed))
    history = run(seed, scenario=draw, keep=True)
    shown = [line for line in history.lines if not job or job in line.split()]
    print(*shown, sep="\n")
    print(f"\n{history.ticks} ticks in {history.days:.1f} virtual days, {history.hash[:16]}")
    print(", ".join(f"{what} {count}" for what, count in sorted(history.tally.items())))
    print(*(history.violations or ["no violation"]), sep="\n")
    return 1 if history.violations else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:4]))
