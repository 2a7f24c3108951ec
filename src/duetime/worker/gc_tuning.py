"""The memory of a process that is there for its worker."""

from __future__ import annotations

import gc

# So many objects more than before, and Python looks for garbage among them: a worker that holds a
# thousand actions has several thousand at any time, none of which is garbage.
YOUNG = 5_000


def quieten() -> None:
    """Keep the collector from what it cannot collect. What was loaded by now stays loaded: to read
    it through for garbage again and again took a tenth of the time, in long pauses; and to look
    through what is at work took another tenth."""
    gc.collect()
    gc.freeze()
    first, *older = gc.get_threshold()
    if first:  # else somebody has switched it off
        gc.set_threshold(max(first, YOUNG), *older)
