"""The alarm that starts what was claimed before its time."""

from __future__ import annotations

import asyncio
import os
import resource
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
import uvloop

from duetime.worker.claiming.precise_timer import Alarm, LoopAlarm, alarm

LINUX = sys.platform == "linux"
linux = pytest.mark.skipif(not LINUX, reason="only Linux lends such timers")
Kind = Callable[[Callable[[], None]], Alarm]
# What a loop's own timer does not count; who waits looks at the clock, and sets it anew.
UNCOUNTED: dict[Kind, float] = {alarm: 0.0 if LINUX else 0.001, LoopAlarm: 0.001}


class Rings:
    """When it rang."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self._rang = asyncio.Event()

    def __call__(self) -> None:
        self.at.append(time.monotonic())
        self._rang.set()

    async def next(self) -> float:
        await self._rang.wait()
        self._rang.clear()
        return self.at[-1]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


@pytest.fixture(params=[alarm, LoopAlarm])
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


def test_it_does_not_ring_before_its_time(runner: asyncio.Runner, kind: Kind) -> None:
    async def ring() -> float:
        rings = Rings()
        with closing(kind(rings)) as one:
            one.set(0.0203)
            return await rings.next()

    began = time.monotonic()
    assert runner.run(ring()) - began >= 0.0203 - UNCOUNTED[kind]


def test_it_rings_once_each_time_it_is_set(runner: asyncio.Runner, kind: Kind) -> None:
    async def ring() -> list[float]:
        rings = Rings()
        with closing(kind(rings)) as one:
            one.set(0.0)
            await rings.next()
            one.set(0.03)
            await rings.next()
        return rings.at

    first, second = runner.run(ring())
    assert second - first >= 0.03 - UNCOUNTED[kind]


def test_it_can_be_closed_twice(runner: asyncio.Runner, kind: Kind) -> None:
    async def close() -> None:
        one = kind(lambda: None)
        one.set(60.0)
        one.close()
        one.close()

    runner.run(close())


class Deaf(asyncio.SelectorEventLoop):
    """As on systems whose loops wait for nothing but what they opened themselves."""

    def add_reader(self, *_: object) -> None:
        raise NotImplementedError


@linux
def test_a_loop_that_waits_for_no_other_timer_has_its_own() -> None:
    async def ring() -> list[int]:
        rings = Rings()
        with closing(alarm(rings)) as one:
            one.set(0.001)
            await rings.next()
            return timers()

    before = timers()
    with asyncio.Runner(loop_factory=Deaf) as runner:
        assert runner.run(ring()) == before


def test_to_set_it_anew_takes_the_last_time_back(runner: asyncio.Runner, kind: Kind) -> None:
    async def ring() -> list[float]:
        rings = Rings()
        with closing(kind(rings)) as one:
            one.set(0.01)
            one.set(0.03)
            await rings.next()
        return rings.at

    began = time.monotonic()
    [rang] = runner.run(ring())
    assert rang - began >= 0.03 - UNCOUNTED[kind]


@linux
def test_one_that_ran_out_may_still_be_set_anew(runner: asyncio.Runner) -> None:
    """Before the loop comes to it."""

    async def ring() -> list[float]:
        rings = Rings()
        with closing(alarm(rings)) as one:
            one.set(0.0)
            assert select.select(timers(), [], [], 5) == (timers(), [], [])
            one.set(0.03)
            await rings.next()
        return rings.at

    began = time.monotonic()
    [rang] = runner.run(ring())
    assert rang - began >= 0.03


@linux
def test_set_anew_while_it_rings_it_does_not_keep_the_loop() -> None:
    """It rings in vain, instead of waiting for its new time."""

    async def ring() -> None:
        rings = Rings()
        with closing(alarm(rings)) as one:
            one.set(0.0)
            assert select.select(timers(), [], [], 5) == (timers(), [], [])
            await asyncio.sleep(0)  # the loop has seen it run out, and calls us first
            one.set(60.0)
            await asyncio.wait_for(rings.next(), 20)

    asyncio.run(ring())


@linux
def test_what_it_took_of_the_machine_is_given_back(runner: asyncio.Runner) -> None:
    async def taken() -> tuple[list[int], list[int]]:
        with closing(alarm(lambda: None)) as one:
            one.set(60.0)
            during = timers()
        return during, timers()

    before = timers()
    during, after = runner.run(taken())
    assert len(during) == len(before) + 1
    assert after == before


@linux
def test_where_none_is_left_it_is_the_loops_own(runner: asyncio.Runner) -> None:
    async def ring() -> list[int]:
        rings = Rings()
        with ExitStack() as stack:
            with no_more_descriptors():
                one = stack.enter_context(closing(alarm(rings)))
            one.set(0.001)
            await rings.next()
            return timers()

    before = timers()
    assert runner.run(ring()) == before


def timers() -> list[int]:
    """The descriptors of this process that are such timers."""
    links = Path("/proc/self/fd").iterdir()
    return sorted(int(link.name) for link in links if "timerfd" in target_of(link))


def target_of(link: Path) -> str:
    """That of the directory itself is gone when it is asked for."""
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
