"""A deadline that is put off cuts nobody; one that has passed does, and one that was left never."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from awaiting import until
from duetime.model.clock import monotonic
from duetime.store.sql.postgres.deadline import LoopDeadline, ThreadDeadline

SECONDS = 0.1


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    with ExitStack() as stack:
        near, far = (stack.enter_context(end) for end in socket.socketpair())
        far.setblocking(False)
        yield near, far


def is_cut(far: socket.socket) -> bool:
    try:
        return far.recv(1) == b""
    except BlockingIOError:
        return False


@pytest.mark.parametrize("kind", [LoopDeadline, ThreadDeadline])
async def test_it_counts_from_when_it_was_put_off(
    kind: type[LoopDeadline | ThreadDeadline], ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    passed: list[float] = []
    deadline = kind(near, SECONDS, lambda: passed.append(monotonic()))
    with deadline:
        began = monotonic()
        while monotonic() < began + 3 * SECONDS:
            deadline.put_off()
            await asyncio.sleep(0)
            assert not is_cut(far)
        last = monotonic()
        await until(lambda: is_cut(far))
    assert passed[0] > last


@pytest.mark.parametrize("kind", [LoopDeadline, ThreadDeadline])
async def test_what_was_left_is_not_cut(
    kind: type[LoopDeadline | ThreadDeadline], ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    deadline = kind(near, SECONDS)
    with deadline:
        deadline.put_off()
    began = monotonic()
    while monotonic() < began + 3 * SECONDS:
        await asyncio.sleep(0)
        assert not is_cut(far)
