"""Celery on Redis: two processes, results ignored, four messages fetched ahead for each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from celery import Celery
from celery.signals import worker_ready
from driving import POLL_SECONDS, arguments, print_rates, url
from redis import Redis

QUEUE = "noop"
# All keys begin with it, so that nothing else on that Redis is touched.
PREFIX = os.environ.setdefault("BENCH_PREFIX", f"duetime-bench-{os.getpid()}:")

app = Celery("drive_celery", broker=url())
app.conf.update(
    task_default_queue=QUEUE,
    task_ignore_result=True,
    worker_prefetch_multiplier=4,
    worker_hijack_root_logger=False,
    broker_transport_options={"global_keyprefix": PREFIX},
)


@app.task(name="noop")
def noop(n: int) -> None: ...


@worker_ready.connect
def print_ready(**_: object) -> None:
    Redis.from_url(url()).set(f"{PREFIX}ready", "1")


def main() -> None:
    _, count, _ = arguments()
    # An exception clears up behind itself, a signal does not.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    redis = Redis.from_url(url())
    try:
        drain(redis, count)
    finally:
        for key in redis.scan_iter(f"{PREFIX}*"):
            redis.delete(key)


def drain(redis: Redis, count: int) -> None:
    began = time.perf_counter()
    with app.producer_pool.acquire(block=True) as producer:
        for n in range(count):
            noop.apply_async((n,), producer=producer)
    scheduled = time.perf_counter() - began
    command = ["-m", "celery", "-A", "drive_celery", "--quiet", "worker", "--concurrency", "2"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
    folder = os.path.dirname(os.path.abspath(__file__))
    worker = subprocess.Popen(  # noqa: S603
        [sys.executable, *command, *quiet], cwd=folder, stdout=sys.stderr
    )
    try:
        while not redis.exists(f"{PREFIX}ready"):
            if worker.poll() is not None:
                sys.exit("the worker ended by itself")
            time.sleep(POLL_SECONDS)
        began = time.perf_counter()
        while redis.llen(f"{PREFIX}{QUEUE}") or redis.hlen(f"{PREFIX}unacked"):
            time.sleep(POLL_SECONDS)
        print_rates(count, scheduled, time.perf_counter() - began)
    finally:
        worker.terminate()
        worker.wait(60)


if __name__ == "__main__":
    main()
