"""A worker process under measurement: `python -m duetime.bench.child`, started by
WorkerProcesses.

Standard input carries the settings (a command line would show passwords to every user) and then a
line that starts the worker; end of input stops it. The worker is the one of `duetime worker`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from duetime.bench.work import make_app
from duetime.worker.event_loop import run_loop

READY = "ready"


def main() -> None:
    app = make_app(**json.loads(sys.stdin.readline()))
    # Import the worker and drivers, and create tables, before the measurement starts.
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
