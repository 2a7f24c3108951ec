"""A process of `duetime worker --processes N`: one complete worker.

The supervisor starts it as `python -m duetime.cli.child SPEC yes|no LIFELINE [METRICS]`. The
lifeline is a socket between the two. The child reports on it that it is ready. When the supervisor
closes its end, or dies, the child drains and exits. On another socket, it is asked for its metrics.

A child may receive the same signal twice: Ctrl-C reaches every process of a terminal, and a
process manager may signal all processes of a service, the supervisor among them. So a child never
treats a signal as a second one. To stop a child at once, signal the supervisor twice or kill the
child.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import nullcontext

from duetime.app import Duetime
from duetime.cli.alive import beating
from duetime.cli.failures import advice, exit_on_error, say
from duetime.cli.loading import load_app
from duetime.cli.metrics_port import answer_scrapes
from duetime.cli.open_store import explain_missing_tables, migrate_command_for
from duetime.cli.worker import announce, log_to_stderr
from duetime.cli.worker_spec import WorkerSpec
from duetime.errors import StoreUnavailable
from duetime.worker.event_loop import run_loop
from duetime.worker.gc_tuning import tune_gc

READY = b"ready\n"
# Sent every few seconds if the worker has an alive file, which the supervisor renews.
ALIVE = b"alive\n"
# The store may come back: the supervisor starts the child again.
UNAVAILABLE_EXIT_CODE = os.EX_TEMPFAIL
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    text, first, lifeline, *metrics = sys.argv[1:]
    early: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda received, _: early.append(received))
    with exit_on_error(), socket.socket(fileno=int(lifeline)) as line:
        try:
            scrapes = [socket.socket(fileno=int(number)) for number in metrics]
            work(WorkerSpec.from_text(text), line, scrapes, early, first=first == "yes")
        except StoreUnavailable as error:
            say(advice(error))
            sys.exit(UNAVAILABLE_EXIT_CODE)


def work(
    spec: WorkerSpec,
    line: socket.socket,
    scrapes: list[socket.socket],
    early: list[int],
    *,
    first: bool,
) -> None:
    log_to_stderr(spec)
    app = load_app(spec.app)
    # The app may have set up an SDK of its own, of which the metrics are read then.
    for metrics in scrapes:
        answer_scrapes(metrics)
    if first:
        announce(app, spec)
    with explain_missing_tables(app, migrate_command_for(app, spec.app, None)):
        run_loop(_run(app, spec, line, early))


async def _run(app: Duetime, spec: WorkerSpec, line: socket.socket, early: list[int]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def request_stop() -> None:
        loop.remove_reader(line)
        stop.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, request_stop)
    # The supervisor sends nothing, so the socket becomes readable only when its end is closed.
    loop.add_reader(line, request_stop)
    if early:
        request_stop()
    async with app:
        worker = app.worker(concurrency=spec.concurrency, queues=spec.queues)
        # After the first worker has imported its modules, so that they are frozen too.
        tune_gc()
        async with worker:
            _report(line, READY)
            async with beating(lambda: _report(line, ALIVE)) if spec.alive_file else nullcontext():
                await stop.wait()


def _report(line: socket.socket, message: bytes) -> None:
    try:
        line.send(message, socket.MSG_DONTWAIT)
    except OSError:
        return  # the supervisor is gone, which the reader of the lifeline notices, or stuck


if __name__ == "__main__":
    main()
