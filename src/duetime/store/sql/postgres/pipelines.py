"""Faster pipelines for psycopg: sent as a whole, or each command as soon as it is built.

psycopg sends the commands of a pipeline one by one and waits for the event loop before each. In a
loop that is busy with handlers, each wait takes a full pass of the loop while the server is idle.
Our pipelines hold two commands, so both are written at once together with the final Sync. psycopg
also reads 16 kB of the answer per pass of the loop; we read for as long as data is available.

psycopg ends a pipeline with Sync and then with Flush. A pooler in transaction mode takes its
session back at the server's answer to Sync: a later Flush occupies another session until our idle
connection sends something again.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.generators import send
from psycopg.waiting import Ready, Wait


class _SendWhole:
    def _communicate_gen(self: Any) -> PQGen[None]:
        """Send nothing yet: commands wait for the Sync."""
        return
        yield

    def _exit_gen(self: Any) -> PQGen[None]:
        """Sync only: it makes the server answer, so Flush is not needed."""
        yield from self._sync_gen()

    def _sync_gen(self: Any) -> PQGen[None]:
        try:
            self._enqueue_sync()
            while self.command_queue:
                self.command_queue.popleft()()
            yield from send(self.pgconn)
        finally:
            yield from _read_eagerly(self._fetch_gen(flush=False), self.pgconn.socket)


def _read_eagerly(fetch_steps: PQGen[None], socket: int) -> PQGen[None]:
    """Run `fetch_steps`, and wait for the event loop only if there is nothing to read."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    try:
        wait_for = next(fetch_steps)
        while True:
            readable = wait_for == Wait.R and poll.poll(0)
            wait_for = fetch_steps.send(Ready.R if readable else (yield wait_for))
    except StopIteration:
        return


class _SendEagerly(_SendWhole):
    def _communicate_gen(self: Any) -> PQGen[None]:
        """Send queued commands now, so that the server works while the next one is built.

        Wait only if the server is so far behind that the socket accepts no more."""
        while self.command_queue:
            self.command_queue.popleft()()
        if self.pgconn.flush():
            yield from send(self.pgconn)


class _WholePipeline(_SendWhole, psycopg.Pipeline):
    pass


class _WholeAsyncPipeline(_SendWhole, psycopg.AsyncPipeline):
    pass


class _EagerPipeline(_SendEagerly, psycopg.Pipeline):
    pass


class _EagerAsyncPipeline(_SendEagerly, psycopg.AsyncPipeline):
    pass


# Private methods that psycopg may rename. Then its own pipelines are used: slower, and harmful
# behind a pooler. The tests of the wire protocol fail in that case.
_PATCHED_METHODS = ("_enqueue_sync", "_communicate_gen", "_fetch_gen", "_exit_gen", "_sync_gen")
_PATCHABLE = all(hasattr(psycopg.Pipeline, name) for name in _PATCHED_METHODS)


def send_whole(pipeline: psycopg.Pipeline | psycopg.AsyncPipeline) -> None:
    """Make a pipeline that was just entered send all its commands at once.

    A connection creates its pipelines itself and the class cannot be chosen, so it is changed."""
    if _PATCHABLE:
        blocking = isinstance(pipeline, psycopg.Pipeline)
        pipeline.__class__ = _WholePipeline if blocking else _WholeAsyncPipeline


def send_eagerly(pipeline: psycopg.Pipeline | psycopg.AsyncPipeline) -> None:
    """Make a pipeline that was just entered send each command as soon as it is built."""
    if _PATCHABLE:
        blocking = isinstance(pipeline, psycopg.Pipeline)
        pipeline.__class__ = _EagerPipeline if blocking else _EagerAsyncPipeline
