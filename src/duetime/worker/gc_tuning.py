"""Garbage collector settings for a process that runs only a worker."""

from __future__ import annotations

import gc

# Allocations before a young collection. A worker with a thousand actions in flight always has
# several thousand live objects, none of which is garbage.
YOUNG_THRESHOLD_OBJECTS = 5_000


def tune_gc() -> None:
    """Keep the garbage collector away from objects that it cannot free. Everything loaded so far is
    frozen: scanning it again and again took a tenth of the time, in long pauses. Scanning the runs
    in flight took another tenth."""
    gc.collect()
    gc.freeze()
    first, *older = gc.get_threshold()
    if first:  # zero means that collection is switched off
        gc.set_threshold(max(first, YOUNG_THRESHOLD_OBJECTS), *older)
