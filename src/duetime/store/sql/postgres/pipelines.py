"""psycopg's pipelines, sent whole, or each command at once.

psycopg sends the commands of a pipeline one by one, and before each it waits until its loop says
that the connection takes more. In a loop that is busy with handlers each of these waits takes as
long as all of them together, and the server has nothing to do meanwhile. Ours are two commands:
they are written at once, with what ends them. And of an answer it reads 16 kB each time that the
loop comes round: we read on for as long as there is anything.

It also ends a pipeline with Sync, and then with Flush. A pooler in transaction mode takes its
session back at the server's answer to Sync: a Flush that comes later takes another session,
and holds it until our idle connection speaks again.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.generators import send
from psycopg.waiting import Ready, Wait


class _Whole:
    def _communicate_gen(self: Any) -> PQGen[None]:
        """Whatever is to be sent waits for the rest."""
        return
        yield

    def _exit_gen(self: Any) -> PQGen[None]:
        """Sync makes the server answer, so Flush is needless."""
        yield from self._sync_gen()

    def _sync_gen(self: Any) -> PQGen[None]:
        try:
            self._enqueue_sync()
            while self.command_queue:
                self.command_queue.popleft()()
            yield from send(self.pgconn)
        finally:
            yield from _reading_on(self._fetch_gen(flush=False), self.pgconn.socket)


def _reading_on(fetching: PQGen[None], socket: int) -> PQGen[None]:
    """The same, but it waits only if there is nothing to read."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    try:
        wanted = next(fetching)
        while True:
            there = wanted == Wait.R and poll.poll(0)
            wanted = fetching.send(Ready.R if there else (yield wanted))
    except StopIteration:
        return


class _Eager(_Whole):
    def _communicate_gen(self: Any) -> PQGen[None]:
        """What there is to be sent is sent, and the server works on it while the next is made.
        Only if the server is so far behind that it takes no more, it is waited for."""
        while self.command_queue:
            self.command_queue.popleft()()
        if self.pgconn.flush():
            yield from send(self.pgconn)


class _WholePipeline(_Whole, psycopg.Pipeline):
    pass


class _WholeAsyncPipeline(_Whole, psycopg.AsyncPipeline):
    pass


class _EagerPipeline(_Eager, psycopg.Pipeline):
    pass


class _EagerAsyncPipeline(_Eager, psycopg.AsyncPipeline):
    pass


# Parts of psycopg that it may rename. Then pipelines are left as psycopg leaves them: slower, and
# harmful behind a pooler. Our tests of the wire tell.
_NEEDED = ("_enqueue_sync", "_communicate_gen", "_fetch_gen", "_exit_gen", "_sync_gen")
_KNOWN = all(hasattr(psycopg.Pipeline, name) for name in _NEEDED)


def sent_whole(pipeline: psycopg.Pipeline | psycopg.AsyncPipeline) -> None:
    """To be told to a pipeline that was just entered. Connections make their own pipelines, of
    a class that cannot be chosen; so it is changed."""
    if _KNOWN:
        blocking = isinstance(pipeline, psycopg.Pipeline)
        pipeline.__class__ = _WholePipeline if blocking else _WholeAsyncPipeline


def sent_eagerly(pipeline: psycopg.Pipeline | psycopg.AsyncPipeline) -> None:
    """The same, for one whose commands take long to make."""
    if _KNOWN:
        blocking = isinstance(pipeline, psycopg.Pipeline)
        pipeline.__class__ = _EagerPipeline if blocking else _EagerAsyncPipeline
