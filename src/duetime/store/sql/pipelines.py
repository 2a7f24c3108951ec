"""Leaves psycopg's pipeline mode without a word too many.

psycopg ends a pipeline with Sync, and then with Flush. A pooler in transaction mode takes its
session back at the server's answer to Sync: a Flush that comes later takes another session,
and holds it until our idle connection speaks again.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.generators import send


class _Unflushed:
    """The way out of a pipeline: Sync makes the server answer, so Flush is needless."""

    def _exit_gen(self: Any) -> PQGen[None]:
        try:
            self._enqueue_sync()
            yield from self._communicate_gen()
            yield from send(self.pgconn)
        finally:
            yield from self._fetch_gen(flush=False)


class _UnflushedPipeline(_Unflushed, psycopg.Pipeline):
    pass


class _UnflushedAsyncPipeline(_Unflushed, psycopg.AsyncPipeline):
    pass


# Parts of psycopg that it may rename. Then pipelines are left as psycopg leaves them, which does
# harm behind a pooler only; our tests of the wire tell.
_NEEDED = ("_enqueue_sync", "_communicate_gen", "_fetch_gen", "_exit_gen")
_KNOWN = all(hasattr(psycopg.Pipeline, name) for name in _NEEDED)


def unflushed(pipeline: psycopg.Pipeline | psycopg.AsyncPipeline) -> None:
    """To be told to a pipeline that was just entered. Connections make their own pipelines, of
    a class that cannot be chosen; so it is changed."""
    if not _KNOWN:
        return
    blocking = isinstance(pipeline, psycopg.Pipeline)
    pipeline.__class__ = _UnflushedPipeline if blocking else _UnflushedAsyncPipeline
