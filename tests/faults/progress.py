"""Shows the progress and the result of a campaign."""

from __future__ import annotations

import sys
import time

from faults.oracle import Verdict


class Progress:
    """Prints progress on one line of a terminal; prints nothing if `silent`."""

    def __init__(self, title: str, *, silent: bool = False) -> None:
        self._title = title
        self._silent = silent
        self._began = time.monotonic()
        self._shown = -1

    def show(self, done: int, wanted: int) -> None:
        # On a terminal after each fault; in a file, a line for each tenth.
        step = done if sys.stdout.isatty() else done * 10 // wanted
        if self._silent or step == self._shown:
            return
        self._shown = step
        elapsed = time.monotonic() - self._began
        left = elapsed / done * (wanted - done) / 60 if done else 0.0
        line = f"{self._title}: {done:,} of {wanted:,} faults, {left:.1f} min left"
        print(f"\r{line}   ", end="" if sys.stdout.isatty() else "\n", flush=True)

    def end(self, verdict: Verdict) -> None:
        minutes = (time.monotonic() - self._began) / 60
        print(f"\n{self._title}, {minutes:.1f} minutes")
        print(table(verdict))
        sys.stdout.flush()


def table(verdict: Verdict) -> str:
    rows = [f"  {what:34}{count:10,}" for what, count in sorted(verdict.figures.items())]
    seconds = {
        "slowest rescue, seconds": verdict.slowest_recovery,
        "slowest return, seconds": verdict.slowest_return,
        "slowest call, seconds": verdict.slowest_call,
        "median wake at the end, seconds": verdict.wake,
    }
    rows += [f"  {what:34}{took:10.2f}" for what, took in seconds.items() if took]
    rows.append(f"  {'violations':34}{len(verdict.wrong):10,}")
    return "\n".join(rows + [f"WRONG: {violation}" for violation in verdict.wrong[:20]])
