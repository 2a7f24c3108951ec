"""Hints for names that match nothing: what the app and the living workers know instead.

Over HTTP there are none: a key may not be allowed to ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from duetime.app import Duetime
from duetime.cli.failures import CommandError, advice
from duetime.cli.server import has_store
from duetime.errors import ActionNotFound, did_you_mean
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.tenant import ANY


def kind_hint(app: Duetime, kind: str | None) -> str:
    """Return a hint with the nearest known kind; empty if the kind is known, or none is near."""
    if kind is None or not has_store(app):
        return ""
    stats = app.sync.stats(tenant=ANY)
    known = {*app.runtime.payloads.kinds(), *(group.kind for group in stats.parked_kinds)}
    known |= {kind for worker in stats.workers for kind in worker.kinds}
    return _hint("kind", kind, known)


@contextmanager
def kind_hinted(app: Duetime, kind: str | None) -> Iterator[None]:
    """Add the hint to the error of an action that was not found by its kind and key."""
    try:
        yield
    except ActionNotFound as error:
        hint = kind_hint(app, kind)
        raise (CommandError(f"{advice(error)}{hint}") if hint else error) from None


def queue_hint(app: Duetime, queue: str | None) -> str:
    """Return a hint with the nearest known queue; empty if the queue is known, or none is near."""
    if queue is None or not has_store(app):
        return ""
    stats = app.sync.stats(tenant=ANY)
    known = {queue for worker in stats.workers for queue in worker.queues}
    return _hint("queue", queue, known | app.runtime.handlers.queues())


def tenant_hint(app: Duetime, filters: Mapping[str, Any]) -> str:
    """Return a hint if the filters of `find` match actions of tenants only."""
    if not has_store(app):
        return ""
    if not app.sync.find(**{**filters, "tenant": ANY, "limit": 1, "cursor": None}).items:
        return ""
    return "; actions of tenants match: give --tenant or --any-tenant"


def job_names(app: Duetime) -> list[str]:
    """Return the names of the first jobs, as many as a page holds."""
    return [job.name for job in app.sync.jobs.list(limit=MAX_PAGE_SIZE, tenant=ANY)]


def _hint(noun: str, given: str, known: set[str]) -> str:
    guess = "" if given in known else did_you_mean(given, known)
    return f"; no {noun} {given!r} is known{guess}" if guess else ""
