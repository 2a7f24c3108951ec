"""The campaigns, each a command of its own, or all in turn. In tests/:

    python -m faults [ROW [COUNT [STORE]]]

`make faults ROW=kill COUNT=30 STORE=sqlite` does the same.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from pathlib import Path

from faults.places import opened
from faults.progress import Progress
from faults.rows import ROWS, Row
from servers import NoServer


def main(name: str = "", count: str = "", store: str = "") -> int:
    # Told to end, it ends as by Ctrl-C: no process or server is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if name and name not in ROWS:
        sys.exit(f"unknown row {name!r}; there are {', '.join(ROWS)}")
    wrong = 0
    for row in [name] if name else ROWS:
        for one in [store] if store else ROWS[row].stores:
            wrong += play(row, ROWS[row], int(count or ROWS[row].count), one)
    return 1 if wrong else 0


def play(name: str, row: Row, count: int, store: str) -> int:
    """How much was wrong. What it left behind is kept if anything was."""
    folder = Path(tempfile.mkdtemp(prefix=f"duetime-{name}-{store}-"))
    progress = Progress(f"{name} on {store}")
    try:
        with opened(store, folder, proxied=row.proxied) as place:
            verdict = row.campaign(row.place(place), count, progress)
    except NoServer as reason:
        print(f"WARNING: NOT RUN on {store}: {reason}")
        return 0
    progress.end(verdict)
    if verdict.wrong:
        print(f"ledger and logs: {folder}")
    else:
        shutil.rmtree(folder)
    return len(verdict.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
