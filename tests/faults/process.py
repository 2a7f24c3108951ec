"""A worker in a process of its own: python -m faults.process ORDER"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import resource
import sys

from duetime import Duetime
from faults.stacks import tell_when_asked
from faults.work import Order


def main(text: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    order = Order(**json.loads(text))
    # Some of what it runs takes it down; nobody looks at what is left.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    app: Duetime = importlib.import_module(order.module).make(order)
    asyncio.run(_run(app))


async def _run(app: Duetime) -> None:
    tell_when_asked()
    await app.run()


if __name__ == "__main__":
    main(sys.argv[1])
