"""A worker in a process of its own: python -m faults.worker_main ORDER"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import resource
import sys

from duetime import Duetime
from faults.task_stacks import log_stacks_on_signal
from faults.work_order import WorkOrder


def main(text: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    order = WorkOrder(**json.loads(text))
    # Some handlers crash the process; no core dumps are needed.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    app: Duetime = importlib.import_module(order.module).make(order)
    asyncio.run(_run(app))


async def _run(app: Duetime) -> None:
    log_stacks_on_signal()
    await app.run()


if __name__ == "__main__":
    main(sys.argv[1])
