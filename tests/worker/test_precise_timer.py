"""The timer that starts pre-claimed actions when they are due."""

from __future__ import annotations

import asyncio
import resource
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
import uvloop

from duetime.worker.claiming.precise_timer import LoopTimer, PreciseTimer, precise_timer

LINUX = sys.platform == "linux"
linux = pytest.mark.skipif(not LINUX, reason="only Linux lends such timers")
Kind = Callable[[Callable[[], None]], PreciseTimer]
# The precision of a loop's own timer; callers check the clock and set the timer again.
UNCOUNTED: dict[Kind, float] = {precise_timer: 0.0 if LINUX else 0.001, LoopTimer: 0.001}


class Calls:
    """Times at which the callback was called."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self._called = asyncio.Event()

    def __call__(self) -> None:
        self.at.append(time.monotonic())
        self._called.set()

    async def next(self) -> float:
        await self._called.wait()
        self._called.clear()
        return self.at[-1]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


@pytest.fixture(params=[precise_timer, LoopTimer])
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


def test_it_does_not_fire_before_its_time(runner: asyncio.Runner, kind: Kind) -> None:
    async def fire() -> float:
        calls = Calls()
        with closing(kind(calls)) as timer:
            timer.set(0.0203)
            return await calls.next()

    began = time.monotonic()
    assert runner.run(fire()) - began >= 0.0203 - UNCOUNTED[kind]


def test_it_fires_once_each_time_it_is_set(runner: asyncio.Runner, kind: Kind) -> None:
    async def fire() -> list[float]:
        calls = Calls()
        with closing(kind(calls)) as timer:
            timer.set(0.0)
            await calls.next()
            timer.set(0.03)
            await calls.next()
        return calls.at

    first, second = runner.run(fire())
    assert second - first >= 0.03 - UNCOUNTED[kind]


def test_it_can_be_closed_twice(runner: asyncio.Runner, kind: Kind) -> None:
    async def close() -> None:
        timer = kind(lambda: None)
        timer.set(60.0)
        timer.close()
        timer.close()

    runner.run(close())


class DeafLoop(asyncio.SelectorEventLoop):
    """A loop that cannot watch file descriptors that it did not open itself."""

    def add_reader(self, *_: object) -> None:
        raise NotImplementedError


@linux
def test_a_loop_that_cannot_watch_descriptors_uses_its_own_timer() -> None:
    async def fire() -> list[int]:
        calls = Calls()
        with closing(precise_timer(calls)) as timer:
            timer.set(0.001)
            await calls.next()
            return timers()

    before = timers()
    with asyncio.Runner(loop_factory=DeafLoop) as runner:
        assert runner.run(fire()) == before


def test_setting_it_again_replaces_the_last_time(runner: asyncio.Runner, kind: Kind) -> None:
    async def fire() -> list[float]:
        calls = Calls()
        with closing(kind(calls)) as timer:
            timer.set(0.01)
            timer.set(0.03)
            await calls.next()
        return calls.at

    began = time.monotonic()
    [rang] = runner.run(fire())
    assert rang - began >= 0.03 - UNCOUNTED[kind]


@linux
def test_an_expired_timer_may_still_be_set_again(runner: asyncio.Runner) -> None:
    """Before the loop has handled its expiry."""

    async def fire() -> list[float]:
        calls = Calls()
        with closing(precise_timer(calls)) as timer:
            timer.set(0.0)
            assert select.select(timers(), [], [], 5) == (timers(), [], [])
            timer.set(0.03)
            await calls.next()
        return calls.at

    began = time.monotonic()
    [rang] = runner.run(fire())
    assert rang - began >= 0.03


@linux
def test_setting_it_while_it_fires_does_not_block_the_loop() -> None:
    """The callback is called once for nothing, instead of at the new time."""

    async def fire() -> None:
        calls = Calls()
        with closing(precise_timer(calls)) as timer:
            timer.set(0.0)
            assert select.select(timers(), [], [], 5) == (timers(), [], [])
            await asyncio.sleep(0)  # the loop has seen it run out, and calls us first
            timer.set(60.0)
            await asyncio.wait_for(calls.next(), 20)

    asyncio.run(fire())


@linux
def test_closing_it_closes_its_descriptor(runner: asyncio.Runner) -> None:
    async def taken() -> tuple[list[int], list[int]]:
        with closing(precise_timer(lambda: None)) as timer:
            timer.set(60.0)
            during = timers()
        return during, timers()

    before = timers()
    during, after = runner.run(taken())
    assert len(during) == len(before) + 1
    assert after == before


@linux
def test_without_free_descriptors_the_loops_own_timer_is_used(runner: asyncio.Runner) -> None:
    async def fire() -> list[int]:
        calls = Calls()
        with ExitStack() as stack:
            with no_more_descriptors():
                timer = stack.enter_context(closing(precise_timer(calls)))
            timer.set(0.001)
            await calls.next()
            return timers()

    before = timers()
    assert runner.run(fire()) == before


def timers() -> list[int]:
    """Return the descriptors of this process that are timerfds."""
    links = Path("/proc/self/fd").iterdir()
    return sorted(int(link.name) for link in links if "timerfd" in target_of(link))


def target_of(link: Path) -> str:
    """Return the target of a link; the link of the directory itself is gone when it is read."""
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # With any other limit, a descriptor that is closed meanwhile could be had again.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
