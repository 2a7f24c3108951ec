"""Runs one fault campaign, or all of them in turn. In tests/:

    python -m faults [ROW [COUNT [STORE]]]

`make faults ROW=kill COUNT=30 STORE=sqlite` does the same.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from pathlib import Path

from faults.campaign_stores import open_setup
from faults.catalog import CAMPAIGNS, CampaignSpec
from faults.progress import Progress
from servers import NoServer


def main(name: str = "", count: str = "", store: str = "") -> int:
    # SIGTERM ends it like Ctrl-C, so that no process or server is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if name and name not in CAMPAIGNS:
        sys.exit(f"unknown row {name!r}; there are {', '.join(CAMPAIGNS)}")
    violations = 0
    for row in [name] if name else CAMPAIGNS:
        for store_name in [store] if store else CAMPAIGNS[row].stores:
            violations += run_campaign(
                row, CAMPAIGNS[row], int(count or CAMPAIGNS[row].count), store_name
            )
    return 1 if violations else 0


def run_campaign(name: str, row: CampaignSpec, count: int, store: str) -> int:
    """Run a campaign; return its number of violations. Logs are kept if there are any."""
    folder = Path(tempfile.mkdtemp(prefix=f"duetime-{name}-{store}-"))
    progress = Progress(f"{name} on {store}")
    try:
        with open_setup(store, folder, proxied=row.proxied) as setup:
            verdict = row.run(row.configure(setup), count, progress)
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
