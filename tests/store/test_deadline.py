"""A deadline severs a connection when it passes, not while it is extended or after it is left."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from duetime.model.clock import monotonic
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline
from polling import until

SECONDS = 0.1


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    with ExitStack() as stack:
        near, far = (stack.enter_context(end) for end in socket.socketpair())
        far.setblocking(False)
        yield near, far


def is_severed(far: socket.socket) -> bool:
    try:
        return far.recv(1) == b""
    except BlockingIOError:
        return False


@pytest.mark.parametrize("kind", [LoopDeadline, ThreadDeadline])
async def test_it_counts_from_its_last_extension(
    kind: type[LoopDeadline | ThreadDeadline], ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    timeouts: list[float] = []
    deadline = kind(near, SECONDS, lambda: timeouts.append(monotonic()))
    with deadline:
        began = monotonic()
        stalled = False
        while monotonic() < began + 3 * SECONDS and not stalled:
            last = monotonic()
            deadline.extend()
            await asyncio.sleep(0)
            # On a busy machine this process may get no time until the deadline has passed.
            stalled = monotonic() > last + SECONDS / 2
            assert stalled or not is_severed(far)
        await until(lambda: is_severed(far))
    assert timeouts[0] > last


@pytest.mark.parametrize("kind", [LoopDeadline, ThreadDeadline])
async def test_a_deadline_that_was_left_severs_nothing(
    kind: type[LoopDeadline | ThreadDeadline], ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    deadline = kind(near, SECONDS)
    with deadline:
        deadline.extend()
    began = monotonic()
    while monotonic() < began + 3 * SECONDS:
        await asyncio.sleep(0)
        assert not is_severed(far)
