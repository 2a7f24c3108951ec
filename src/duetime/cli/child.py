"""One of the processes of `duetime worker --processes N`: a whole worker of its own.

`python -m duetime.cli.child ORDER LIFELINE yes|no`, started by the supervisor. The lifeline is
a socket between the two. The child says on it that it is ready; when nothing more can come from
the other end, because the supervisor wants it to stop or is no more, the child drains and exits.

Signals come from anywhere: Ctrl-C reaches every process of a terminal, and a process manager
may signal all of a service, the supervisor among them. So none of them counts as a second one:
who wants a child gone at once tells the supervisor, or kills it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

from duetime.app import Duetime
from duetime.cli.failures import advice, plainly, say
from duetime.cli.loading import load_app
from duetime.cli.open_store import migrating, tables_needed
from duetime.cli.worker import announce, log_to_stderr
from duetime.cli.worker_spec import Order
from duetime.errors import StoreUnavailable
from duetime.worker.event_loop import run_loop
from duetime.worker.gc_tuning import quieten

READY = b"ready\n"
# It may work later: the supervisor tries again.
UNAVAILABLE = os.EX_TEMPFAIL
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    text, lifeline, first = sys.argv[1:]
    early: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda given, _: early.append(given))
    with plainly(), socket.socket(fileno=int(lifeline)) as line:
        try:
            work(Order.from_text(text), line, early, first=first == "yes")
        except StoreUnavailable as error:
            say(advice(error))
            sys.exit(UNAVAILABLE)


def work(order: Order, line: socket.socket, early: list[int], *, first: bool) -> None:
    log_to_stderr(order.log_level)
    app = load_app(order.app)
    if first:
        announce(app, order)
    with tables_needed(app, migrating(app, order.app, None)):
        run_loop(_run(app, order, line, early))


async def _run(app: Duetime, order: Order, line: socket.socket, early: list[int]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask() -> None:
        loop.remove_reader(line)
        stop.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, ask)
    # Nothing is ever sent this way: it can be read only once it has ended.
    loop.add_reader(line, ask)
    if early:
        ask()
    async with app:
        worker = app.worker(concurrency=order.concurrency, queues=order.queues)
        # Not sooner: the first worker brings modules, which are to be set aside, too.
        quieten()
        async with worker:
            _tell_ready(line)
            await stop.wait()


def _tell_ready(line: socket.socket) -> None:
    try:
        line.sendall(READY)
    except OSError:
        return  # there is no supervisor any more, and the line's end says so


if __name__ == "__main__":
    main()
