"""Count the modules on two walks through duetime: `python bench/walks.py [--src PATH]`.

- schedule: `await app.schedule(payload, delay=3600)`, a single action;
- run: from the moment when another process schedules a due action, for a worker that is running
  and idle, until the completion of the action is stored and reported, and the worker is idle again.
  What a worker does regularly is no part of the walk: sweeps and renewals are so rare that none
  falls into it, and the watch of the event loop, once a second, is not counted.

The profiler records calls of Python functions in modules of duetime, over all threads, in the order
in which they happen. Resuming a coroutine or generator is a call; returns and C functions do not
count. A switch is a call in another module than the call before; the first call is a switch, too.
The first of several walks also loads what a process or a worker loads once: it is reported apart.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from servers import open_own_server

SRC = Path(__file__).resolve().parent.parent / "src"
URL = "BENCH_URL"
WALKS = 5
IDLE_SECONDS = 1.0  # until a worker that has run something is idle again
RARELY = 600.0  # seconds between two sweeps of the worker
WATCH = {"duetime.worker.leases.heartbeat", "duetime.worker.leases.loop_monitor"}


@dataclass(frozen=True)
class Noop:
    n: int


class Walk:
    """The modules of the calls that were seen while `recording`."""

    recording = False
    modules: list[str]

    def observe(self, frame: FrameType, event: str, _: Any) -> None:
        if self.recording and event == "call":
            module = str(frame.f_globals.get("__name__"))
            if module.partition(".")[0] == "duetime" and module not in WATCH:
                self.modules.append(module)

    def begin(self) -> None:
        self.modules, self.recording = [], True

    def end(self) -> list[str]:
        self.recording = False
        return self.modules


def switches(modules: Sequence[str]) -> int:
    return sum(before != after for before, after in zip(["", *modules], modules, strict=False))


async def noop(payload: Noop) -> None: ...


def make(url: str, **settings: Any) -> Any:
    """An app of the package in `--src`, which is on the path only now."""
    from duetime import Duetime

    app = Duetime(url, **settings)
    app.handler(kind="noop")(noop)
    return app


async def schedule(url: str, walk: Walk) -> list[list[str]]:
    walks = []
    async with make(url) as app:
        for number in range(1 + WALKS):
            walk.begin()
            await app.schedule(Noop(number), delay=3600)
            walks.append(walk.end())
    return walks


async def run(url: str, walk: Walk) -> list[list[str]]:
    walks = []
    async with make(url, lease=3 * RARELY, sweep=RARELY, poll=RARELY) as app, app.worker():
        with client(url) as process:
            assert process.stdout is not None
            await asyncio.sleep(IDLE_SECONDS)
            for _ in range(1 + WALKS):
                walk.begin()
                print("schedule", file=process.stdin, flush=True)
                assert await asyncio.to_thread(process.stdout.readline), "the client failed"
                await asyncio.sleep(IDLE_SECONDS)
                walks.append(walk.end())
    return walks


def client(url: str) -> Popen[str]:
    """A process that, for each line, schedules an action and answers when it is completed."""
    command = [sys.executable, __file__, "--client", "--src", sys.path[0]]
    return Popen(command, stdin=PIPE, stdout=PIPE, text=True, env={**os.environ, URL: url})  # noqa: S603


def serve() -> None:
    app = make(os.environ[URL])
    app.sync.find(limit=1)
    for line in sys.stdin:
        action = app.sync.schedule(Noop(0))
        while not app.sync.get(action.id).state.finished:
            pass
        print(line, end="", flush=True)


def lines(name: str, walks: Sequence[Sequence[str]]) -> Iterator[str]:
    """The modules of the first walk, then of the later walk with the median number of switches."""
    first, later = walks[0], sorted(walks[1:], key=switches)
    middle, spread = later[WALKS // 2], f"{switches(later[0])} to {switches(later[-1])}"
    counts = [len(set(walk)) for walk in later]
    yield f"{name}, first walk: {len(set(first))} modules"
    yield f"{name}, later walks: {min(counts)} to {max(counts)} modules"
    yield f"{name}, middle walk: {len(set(middle))} modules, {switches(middle)} switches ({spread})"
    yield from (f"  {calls:>5} {module}" for module, calls in sorted(Counter(middle).items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--src", type=Path, default=SRC, help="the folder that holds the package")
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.src / "duetime").is_dir():
        parser.error(f"there is no package duetime in {options.src}")
    sys.path.insert(0, str(options.src.resolve()))
    if options.client:
        serve()
        return
    walk = Walk()
    threading.setprofile(walk.observe)
    sys.setprofile(walk.observe)
    with closing(open_own_server()) as server:
        for work in (schedule, run):
            url = server.database_url(server.create_database())
            print("\n".join(lines(work.__name__, asyncio.run(work(url, walk)))))


if __name__ == "__main__":
    main()
