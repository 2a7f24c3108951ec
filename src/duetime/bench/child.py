"""A worker process under measure: `python -m duetime.bench.child`, started by a Crew.

Standard input brings the settings (on no command line, where everybody reads passwords) and then
the word to begin; its end is the order to stop. What runs is what `duetime worker` runs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from duetime.bench.work import make
from duetime.worker.event_loop import run_loop

READY = "ready"


def main() -> None:
    app = make(**json.loads(sys.stdin.readline()))
    # The worker and drivers are imported and tables are made before the clock runs.
    app.worker()
    app.sync.find(limit=1)
    app.sync.close()
    print(READY, flush=True)
    if sys.stdin.readline():
        threading.Thread(target=stop_at_the_end, daemon=True).start()
        run_loop(app.run())


def stop_at_the_end() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
